#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app/client/api_client.h"
#include "app/client/json_fields.h"
#include "app/worker/job_report.h"
#include "models/time.h"

namespace muster {

// Why a call did not get what it asked for.
struct Refusal {
  int status = 0;  // 0: no answer
  std::string code = {};
  std::string detail = {};
  std::optional<Seconds> retry_after = {};

  // The same call may get another answer later.
  bool mayPass() const { return status == 0 || status == 429 || status >= 500; }
  // The service does not know this worker any more.
  bool isGone() const { return status == 410; }
};

struct WorkerIdentity {
  std::string worker_id;  // empty: the service makes one
  std::string pool;
  std::string host;
  int pid = 0;
  bool loop = false;
  std::string launch_token;
  std::vector<std::string> capabilities;
};

struct Registration {
  std::string worker_id;
  std::string worker_token;
  Millis heartbeat_interval;
  Millis lease;
  std::size_t most_result_bytes;
};

// What the jobs before a job left, as far as the claim carried it.
struct Upstream {
  std::vector<std::string> items;  // JSON
  bool truncated = false;          // there are more: ServiceClient::upstream() has all
};

struct ClaimedJob {
  std::string id;
  std::string data;  // JSON, as it was pushed
  std::string attempt;
  std::string lease_token;
  std::string effect_key;
  std::string traceparent;   // empty: none
  Millis lease;              // how long it was given for
  std::string flow_id = {};  // empty: it has nothing to do with a flow
  std::string name = {};     // in its flow; empty: it is in none
  Upstream upstream = {};
};

struct UpstreamPage {
  std::vector<std::string> items;  // JSON
  std::string next_cursor;         // empty: that was the last page
};

struct ClaimAnswer {
  std::optional<ClaimedJob> job;
  bool terminating = false;
};

struct HeartbeatAnswer {
  bool drain = false;
  std::vector<std::string> cancelled;  // jobs
  std::vector<std::string> held;       // jobs whose leases were renewed
};

// What a worker says to the service, one call each and no second try. Blocks. Not thread-safe: one
// per thread.
class ServiceClient {
 public:
  template <class T>
  using Answer = tl::expected<T, Refusal>;
  using GivenUp = std::function<bool()>;

  ServiceClient(std::string url, std::string token, ServiceTrust trust)
      : api_(std::move(url), std::move(token), std::move(trust)) {}

  void setToken(std::string token) { api_.setToken(std::move(token)); }

  // `key` makes a repeated call the same registration; a launch token does so without one.
  Answer<Registration> registerWorker(const WorkerIdentity& identity, const std::string& key);
  Answer<ClaimAnswer> claim(const std::string& pool, const std::string& worker, Millis wait,
                            const GivenUp& given_up);
  Answer<HeartbeatAnswer> heartbeat(const std::string& worker, Millis timeout,
                                    const GivenUp& given_up = {});
  // A page of what the jobs before a job left; an empty cursor asks for the first.
  Answer<UpstreamPage> upstream(const std::string& job, const std::string& cursor,
                                const GivenUp& given_up);
  Answer<void> report(const std::string& job, const JobReport& report);
  // Gives back a job whose lease token is not known.
  Answer<void> releaseAs(const std::string& worker, const std::string& job);
  Answer<void> end(const std::string& worker);

 private:
  Answer<JsonAnswer> call(const HttpRequest& request);

  ApiClient api_;
};

}  // namespace muster
