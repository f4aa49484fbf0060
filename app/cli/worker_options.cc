#include "app/cli/worker_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "models/ids.h"

namespace muster {
namespace {

constexpr double kLongestTimeoutSeconds = 365.0 * 24 * 3600;

void addSeconds(CLI::App& app, const char* name, double& seconds, const char* help) {
  app.add_option(name, seconds, help)
      ->type_name("S")
      ->check(CLI::Range(0.0, kLongestTimeoutSeconds));
}

}  // namespace

WorkerVariable workerVariable(const Environment& env, const std::string& name) {
  for (const char* prefix : {"MUSTER_", "ASTRA_WORKER_"}) {
    const auto found = env.find(prefix + name);
    if (found != env.end() && !found->second.empty()) return {found->first, found->second};
  }
  return {};
}

std::optional<std::uint64_t> numberIn(const WorkerVariable& variable, std::string& fault) {
  if (variable.value.empty()) return std::nullopt;
  const std::string& text = variable.value;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number > 0) return number;
  fault = variable.name + ": expected a whole number from 1 on";
  return std::nullopt;
}

std::string readWorkerEnvironment(const Environment& env, WorkerCommand& options) {
  std::string fault;
  if (options.data_dir.empty()) options.data_dir = workerVariable(env, "DATA_DIR").value;
  if (options.host.empty()) {
    const auto found = env.find("MUSTER_HOST_NAME");
    if (found != env.end()) options.host = found->second;
  }
  options.max_disk_bytes = numberIn(workerVariable(env, "RESOURCE_MAX_DISK_BYTES"), fault);
  const auto most = numberIn(workerVariable(env, "INLINE_RESULT_LIMIT_BYTES"), fault);
  if (most) {
    options.max_result_bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(options.max_result_bytes, *most));
  }
  const auto ttl = numberIn(workerVariable(env, "RESOURCE_DEFAULT_TTL_SECONDS"), fault);
  if (ttl) options.artifact_ttl_seconds = static_cast<double>(*ttl);
  const auto interval = numberIn(workerVariable(env, "RESOURCE_GC_INTERVAL_SECONDS"), fault);
  if (interval) {
    options.gc_interval_seconds = std::min(static_cast<double>(*interval), kLongestTimeoutSeconds);
  }
  return fault;
}

void addWorkerOptions(CLI::App& app, WorkerCommand& options) {
  app.add_option("--pool", options.pool, "pool to work for; also MUSTER_POOL_ID")
      ->type_name("POOL");
  app.add_flag("--loop", options.loop, "go on with the next job, and wait for one (one job)");
  app.add_option("--max-jobs", options.max_jobs, "with --loop: end after so many (0: no limit)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000));
  addSeconds(app, "--idle-timeout-seconds", options.idle_timeout_seconds,
             "with --loop: end after so long without a job (30); 0 waits for ever");
  app.add_option(
         "--builtin", options.builtin,
         "in place of CMD: echo answers with the data, after its delay_seconds, or with its "
         "fail as the error")
      ->type_name("NAME")
      ->check(CLI::IsMember({"echo"}));
  app.add_option("--capability", options.capabilities,
                 "what this worker can do, for jobs that ask for it; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  addSeconds(app, "--connect-timeout", options.connect_timeout_seconds,
             "how long to try to reach the service (30)");
  addSeconds(app, "--shutdown-timeout-seconds", options.shutdown_timeout_seconds,
             "how long a job may go on after SIGTERM (30)");
  app.add_option("--max-result-bytes", options.max_result_bytes,
                 "most that a result may have (2 MiB); the job fails when it has more")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  app.add_flag("--spill-result", options.spill_result,
               "what is larger becomes the artifact stdout, in place of a failure");
  app.add_flag("--keep-failed-outputs", options.keep_failed_outputs,
               "the files of a command that failed become artifacts too");
  app.add_option("--host", options.host, "name of this host (the machine's); also MUSTER_HOST_NAME")
      ->type_name("NAME");
  app.add_option("--data-dir", options.data_dir,
                 "where this host keeps files of jobs; also MUSTER_DATA_DIR")
      ->type_name("FOLDER");
}

std::vector<std::string> takeWorkerCommand(std::vector<std::string>& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  const bool is_worker = std::find(args.begin(), dashes, "worker") != dashes;
  if (dashes == args.end() || !is_worker) return {};
  std::vector<std::string> command(dashes + 1, args.end());
  args.erase(dashes, args.end());
  return command;
}

std::string workerFault(const WorkerCommand& options) {
  if (options.pool.empty()) return "--pool is required (or MUSTER_POOL_ID)";
  if (!isValidId(options.pool)) return "--pool: expected 1 to 128 letters, digits or . _ ~ : -";
  if (options.command.empty() == options.builtin.empty()) {
    return "give either a command after -- or --builtin echo";
  }
  if (!options.command.empty() && options.command.front().empty()) return "the command is empty";
  return "";
}

}  // namespace muster
