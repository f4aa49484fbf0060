#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app/client/api_client.h"
#include "app/client/json_fields.h"
#include "app/client/refusal.h"
#include "app/worker/job_report.h"
#include "models/time.h"

namespace muster {

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
  std::optional<std::uint64_t> most_disk_bytes = {};  // of the host folder
  std::string data_dir = {};                          // the host folder; empty: not said
  std::string folder_id = {};                         // what its file `id` says; empty: not said
};

// What the jobs before a job left, as far as the claim carried it.
struct Upstream {
  std::vector<std::string> items;  // JSON
  bool truncated = false;          // there are more: ServiceClient::upstream() has all
};

// A resource that a job refers to. What is empty was not said.
struct ClaimedInput {
  std::string resource_id, uid;
  std::string type;
  std::string holder;
  std::string as;  // its name for the job
  std::optional<std::uint64_t> size_bytes;
  std::string sha256;
  std::string content_path;  // of the service, which has its bytes
  std::string path;          // in the host folder of its host
  std::string uri;
  std::string expires_at;
  std::string metadata;  // JSON
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
  std::vector<ClaimedInput> inputs = {};
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
  // Any other request; the answer is one of success.
  Answer<HttpAnswer> exchange(const HttpRequest& request);

 private:
  Answer<JsonAnswer> call(const HttpRequest& request);

  ApiClient api_;
};

}  // namespace muster
