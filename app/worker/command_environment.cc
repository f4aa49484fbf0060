#include "app/worker/command_environment.h"

#include "models/trace_context.h"

namespace muster {

std::vector<std::string> commandEnvironment(std::map<std::string, std::string> inherited,
                                            const ClaimedJob& job, const CommandService& service,
                                            const CommandFiles& files) {
  const std::map<std::string, std::string> put = {
      {"MUSTER_JOB_ID", job.id},
      {"MUSTER_ATTEMPT", job.attempt},
      {"MUSTER_LEASE_TOKEN", job.lease_token},
      {"MUSTER_EFFECT_KEY", job.effect_key},
      {"MUSTER_FLOW_ID", job.flow_id},
      {"MUSTER_JOB_NAME", job.name},
      {"MUSTER_UPSTREAM", files.upstream},
      {"MUSTER_INPUTS", files.inputs},
      {"MUSTER_RESOURCES", files.resources},
      {"MUSTER_OUTPUT_DIR", files.outputs},
      {"MUSTER_SCOPE", files.scope},
      {"MUSTER_DATA_DIR", files.data_dir},
      {"MUSTER_HOST_NAME", files.host},
      {"MUSTER_URL", service.url},
      {"MUSTER_POOL_ID", service.pool},
      {"MUSTER_WORKER_ID", service.worker_id},
      {"MUSTER_WORKER_TOKEN", service.worker_token},
      {"MUSTER_LAUNCH_TOKEN", ""},
      {"TRACEPARENT", readTraceparent(job.traceparent)},
  };
  for (const auto& [name, value] : put) inherited[name] = value;
  std::vector<std::string> env;
  for (const auto& [name, value] : inherited) {
    if (value.empty() && put.contains(name)) continue;
    env.push_back(name + "=" + value);
  }
  return env;
}

}  // namespace muster
