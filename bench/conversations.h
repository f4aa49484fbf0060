#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
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
struct HeldJob {
  std::string id, token;
};
struct Held {
  std::mutex mutex;
  std::vector<HeldJob> jobs;
};
// The request that reports these as done.
std::string doneReports(const std::string& pool, std::span<const HeldJob> jobs);
// Claims jobs one by one and keeps them. The pool must not run dry.
MakeConversation claimAndKeep(const std::string& pool, Held& held);
// Completes jobs that are held, one by one. Must not be asked for more than there are.
MakeConversation completeHeld(std::span<const HeldJob> jobs, std::atomic<std::size_t>& next);
// The same in reports of 100.
MakeConversation reportHeld(const std::string& pool, std::span<const HeldJob> jobs,
                            std::atomic<std::size_t>& next);

// Claims and completes, one job after the other, until so many jobs are done; then `over` is true.
// A pool without work is asked again.
struct WorkedOff {
  std::int64_t jobs = 0;
  bool in_one_trip = false;  // a job is reported and the next claimed by one request
  std::atomic<std::int64_t> done = 0;
  std::chrono::steady_clock::time_point finished;  // read it when `over` is true
  std::atomic<bool> over = false;
};
MakeConversation workOff(const std::string& pool, WorkedOff& work);

// The text between `key` and the next quote, from `at` on, which moves behind it. Good for what the
// service writes, where ids and tokens hold no escapes.
std::string_view quoted(std::string_view body, std::string_view key, std::size_t& at);

// A loop worker that also produces: pushes 1000 jobs in one request, then ten times reports the
// 100 it holds as done and claims the next 100 in one request. Adds the finished jobs to `done`.
MakeConversation bulkLoop(const std::string& pool, std::atomic<std::int64_t>& done);

}  // namespace muster::bench
