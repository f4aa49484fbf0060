#include <fmt/format.h>

#include <ostream>
#include <random>

#include "app/cli/demo_steps.h"

namespace muster {
namespace {

// Nobody loses a lease, or is reaped but by the demo, because the machine is busy.
constexpr const char* kPoolSettings =
    R"({"template":"echo","worker_mode":"once","scaling":{"mode":"queue","max_workers":3},)"
    R"("lease_seconds":60,"heartbeat_interval_seconds":1,"stale_threshold_seconds":60,)"
    R"("retry":{"base_ms":100,"max_retries":3}})";

std::string newPoolName() { return fmt::format("demo-{:08x}", std::random_device()()); }

}  // namespace

int run(const DemoCommand& command, ApiClient& api, Terminal& terminal) {
  DemoStage stage(api, terminal, newPoolName());
  if (!stage.ask({.method = "PUT", .path = stage.poolPath(), .body = kPoolSettings})) {
    return stage.finish();
  }
  stage.story() << fmt::format("Muster at {}, in a pool of its own: {}\n", api.url(), stage.pool())
                << std::flush;
  for (const auto step : {showTenJobs, showKilledWorker, showSilentWorker, showPoisonedJob,
                          showDecisions, showDiamond}) {
    if (!stage.isOver()) step(stage);
  }
  if (command.keep) {
    stage.story() << fmt::format("\nThe pool is kept: `muster pools rm {} --force` removes it.\n",
                                 stage.pool());
  } else {
    stage.removeAll();
  }
  return stage.finish();
}

}  // namespace muster
