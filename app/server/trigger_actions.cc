#include "app/server/trigger_actions.h"

#include <fmt/format.h>

#include <cstdlib>

#include "app/config/environment.h"
#include "app/launch/http_post.h"
#include "app/launch/program_beside.h"
#include "app/launch/program_run.h"
#include "models/trigger_spec.h"

namespace muster {
namespace {

constexpr Millis kLongestRun = std::chrono::minutes(1);

}  // namespace

void MusterProcess::setAddress(ServiceAddress address) {
  const std::lock_guard lock(mutex_);
  address_ = std::move(address);
}

std::optional<std::string> MusterProcess::run(const std::string& machine, const Machines::Run& run,
                                              const std::stop_token& stop) {
  ProcessSpec spec;
  spec.command = {programBeside("muster"), machine == machine::kReaper ? "reap" : "check"};
  std::vector<std::string>& argv = spec.command;
  if (!run.pool.empty()) argv.insert(argv.end(), {"--pool", run.pool.str()});
  if (run.max_workers) argv.insert(argv.end(), {"--max-workers", std::to_string(*run.max_workers)});
  if (run.stale_threshold) {
    const double seconds = std::chrono::duration<double>(*run.stale_threshold).count();
    argv.insert(argv.end(), {"--stale-threshold-seconds", fmt::format("{}", seconds)});
  }
  spec.env = passedVariables(ownEnvironment(), passed_);
  {
    const std::lock_guard lock(mutex_);
    if (address_.url.empty()) return "the service does not listen yet";
    argv.insert(argv.end(), {"--url", address_.url});
    addTrust(address_, spec.env);
  }
  // With tokens configured, it needs one of them.
  if (const char* const token = std::getenv("MUSTER_TOKEN")) spec.env["MUSTER_TOKEN"] = token;
  return runProgram(spec, kLongestRun, stop);
}

std::optional<FunctionCall::Failure> NetworkCall::post(const Target& target,
                                                       const std::string& json,
                                                       const std::stop_token& stop) {
  const auto failure = postJson(target.url, json, guard_, target.allow_private, stop);
  if (!failure) return std::nullopt;
  return Failure{failure->what, failure->retryable};
}

}  // namespace muster
