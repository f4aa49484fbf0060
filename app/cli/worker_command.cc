#include "app/cli/commands.h"
#include "app/worker/worker_loop.h"

namespace muster {
namespace {

Millis millisOf(double seconds) { return Millis(static_cast<std::int64_t>(seconds * 1000)); }

std::string valueOf(const Environment& env, const char* name) {
  const auto found = env.find(name);
  return found == env.end() ? "" : found->second;
}

}  // namespace

int run(const WorkerCommand& command, const ServiceAccess& service, const Environment& env,
        Terminal& terminal) {
  const WorkerExit exit = runWorker({.url = service.url,
                                     .token = service.token,
                                     .trust = service.trust,
                                     .pool = command.pool,
                                     .host = command.host,
                                     .worker_id = valueOf(env, "MUSTER_WORKER_ID"),
                                     .launch_token = valueOf(env, "MUSTER_LAUNCH_TOKEN"),
                                     .capabilities = command.capabilities,
                                     .command = command.command,
                                     .environment = {env.begin(), env.end()},
                                     .loop = command.loop,
                                     .max_jobs = command.max_jobs,
                                     .idle_timeout = millisOf(command.idle_timeout_seconds),
                                     .connect_timeout = millisOf(command.connect_timeout_seconds),
                                     .shutdown_timeout = millisOf(command.shutdown_timeout_seconds),
                                     .max_result_bytes = command.max_result_bytes,
                                     .spill_result = command.spill_result,
                                     .keep_failed_outputs = command.keep_failed_outputs,
                                     .data_dir = command.data_dir,
                                     .max_disk_bytes = command.max_disk_bytes,
                                     .artifact_ttl_seconds = command.artifact_ttl_seconds,
                                     .gc_interval = millisOf(command.gc_interval_seconds)},
                                    terminal.out);
  switch (exit) {
    case WorkerExit::kOk:
      return kExitOk;
    case WorkerExit::kFailed:
      return kExitFailed;
    case WorkerExit::kUnreachable:
      return kExitUnreachable;
  }
  return kExitFailed;
}

}  // namespace muster
