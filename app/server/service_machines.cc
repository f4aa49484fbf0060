#include "app/server/service_machines.h"

namespace muster {

void ServiceMachines::check(const Run& run) {
  log_.debug("check requested", {{"trigger", run.trigger}, {"pool", run.pool.str()}});
  checker_.request(run.pool, run.trigger, run.max_workers);
}

void ServiceMachines::reap(const Run& run) {
  constexpr int kAtOnce = 1000;
  log_.debug("reap requested", {{"trigger", run.trigger}, {"pool", run.pool.str()}});
  storage_.write(
      [run](Store& store) {
        store.workers().stale(run.pool.str(), run.stale_threshold, true, kAtOnce);
      },
      [this, trigger = run.trigger](const Status& status) {
        if (status) return;
        log_.error("reap failed", {{"trigger", trigger}, {"detail", status.error().detail}});
      });
}

}  // namespace muster
