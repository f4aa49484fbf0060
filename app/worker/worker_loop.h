#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/client/api_client.h"
#include "models/time.h"

namespace muster {

// What a worker is told by its command line and environment.
struct WorkerOptions {
  std::string url;
  std::string token;
  ServiceTrust trust;
  std::string pool;
  std::string host;          // empty: this machine's name
  std::string worker_id;     // empty: the service makes one
  std::string launch_token;  // empty: started by hand
  std::vector<std::string> capabilities;
  std::vector<std::string> command;  // empty: the built-in echo
  std::map<std::string, std::string> environment;

  bool loop = false;
  int max_jobs = 0;        // 0: no limit
  Millis idle_timeout{0};  // 0: for ever
  Millis connect_timeout{0};
  Millis shutdown_timeout{0};
  std::size_t max_result_bytes = 0;
  bool spill_result = false;         // what is over that becomes an artifact
  bool keep_failed_outputs = false;  // files of a command that failed become artifacts too
  std::string data_dir;              // the host folder; empty: what the service says, or a default
  std::optional<std::uint64_t> max_disk_bytes;  // of the host folder
  std::optional<double> artifact_ttl_seconds;
  Millis gc_interval{60'000};  // how long the host folder may go without being tended
};

enum class WorkerExit {
  kOk,           // also when the service had no work, or told it to stop
  kFailed,       // the service said no, or the program cannot be run
  kUnreachable,  // no answer within the connect timeout
};

// A whole life of a worker: registers, works, reports, ends. Says `no_work_available` on `out` when
// it got no job; what happens goes to standard error. Handles the signals of this process
// meanwhile.
WorkerExit runWorker(const WorkerOptions& options, std::ostream& out);

}  // namespace muster
