#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "bench/load.h"

namespace muster::bench {

// A job's data in every measurement: a JSON string of 256 bytes.
std::string payload();

// {"data":…} as it is pushed; `extra` are further members, each with its comma in front.
std::string jobBody(const std::string& extra = {});
std::string batchBody(int jobs, const std::string& extra = {});

std::string postRequest(const std::string& path, const std::string& body);

// The same request again and again. With `must_contain` an answer without that text is a failure.
MakeConversation repeat(std::string request, int status, std::string must_contain = {});

// Claims a job and completes it, one request after the other. The pool must not run dry.
MakeConversation claimAndComplete(const std::string& pool);

// What claims brought, until it is reported.
struct Held {
  std::mutex mutex;
  std::vector<std::string> reports;  // "done" of each job, as JSON
};
// Claims jobs one by one and keeps them. The pool must not run dry.
MakeConversation claimAndKeep(const std::string& pool, Held& held);

// A loop worker that also produces: pushes 1000 jobs in one request, then ten times reports the
// 100 it holds as done and claims the next 100 in one request. Adds the finished jobs to `done`.
MakeConversation bulkLoop(const std::string& pool, std::atomic<std::int64_t>& done);

}  // namespace muster::bench
