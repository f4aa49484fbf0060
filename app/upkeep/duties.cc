#include "app/upkeep/duties.h"

#include "models/operations/affinities.h"
#include "models/operations/audit.h"
#include "models/operations/flows.h"
#include "models/operations/hosts.h"
#include "models/operations/resources.h"

namespace muster {

DutyReport runDuties(Store& store, const Retention& retention) {
  constexpr int kAtOnce = 500;
  constexpr int kEventsAtOnce = 2000;
  constexpr int kLoadAtOnce = 2000;
  constexpr int kFlowsAtOnce = 100;  // what follows for their jobs is settled piece by piece
  DutyReport report;
  report.jobs_promoted = store.jobs().promoteDue(kAtOnce);
  report.jobs_expired = store.jobs().expirePending(kAtOnce);
  report.leases_expired = store.jobs().expireLeases(kAtOnce);
  report.workers_reaped = static_cast<std::int64_t>(
      store.workers().stale("", std::nullopt, true, kAtOnce).workers.size());
  const std::int64_t pins = *run(TendPins{kAtOnce}, store);
  const std::int64_t overdue = *run(EndOverdueFlows{kFlowsAtOnce}, store);
  const std::int64_t over = *run(ExpireResources{kAtOnce}, store);
  const auto holders = *run(TendHolders{}, store);
  store.launches().giveUpStarting(kAtOnce);
  store.launches().judgeSurvivors(kAtOnce);

  const Time before = store.now() - retention.records;
  const std::int64_t jobs = store.jobs().removeFinished(before, kAtOnce);
  const std::int64_t workers = store.workers().removeEnded(before, kAtOnce);
  const std::int64_t events = store.events().removeOld(before, kEventsAtOnce);
  const std::int64_t decisions = store.decisions().removeOld(before, kAtOnce);
  const std::int64_t load = store.load().removeOld(before, kLoadAtOnce);
  const std::int64_t answers = store.idempotency().removeExpired(kAtOnce);
  const std::int64_t deliveries = store.triggers().removeOldDeliveries(kAtOnce);
  const std::int64_t sent = store.webhooks().removeOldDeliveries(before, kAtOnce);
  const std::int64_t nodes = store.cluster().removeDead(before, kAtOnce);
  const std::int64_t flows = *run(RemoveOldFlows{before, kFlowsAtOnce}, store);
  const std::int64_t resources = *run(RemoveGoneResources{before, kAtOnce}, store);
  const std::int64_t hosts = *run(RemoveOldHosts{before, kAtOnce}, store);
  const std::int64_t changes = *run(RemoveOldAudit{store.now() - retention.audit, kAtOnce}, store);
  store.session.flushCounts();
  const std::int64_t lanes = jobs > 0 ? store.pools().removeEmptyLanes(kAtOnce) : 0;
  report.records_removed = jobs + workers + events + decisions + load + answers + deliveries +
                           sent + lanes + nodes + flows + resources + hosts + changes;
  report.more = report.jobs_promoted == kAtOnce || report.jobs_expired == kAtOnce ||
                report.leases_expired == kAtOnce || report.workers_reaped == kAtOnce ||
                jobs == kAtOnce || workers == kAtOnce || events == kEventsAtOnce ||
                load >= kLoadAtOnce || answers == kAtOnce || decisions == kAtOnce ||
                deliveries == kAtOnce || sent == kAtOnce || changes == kAtOnce ||
                overdue == kFlowsAtOnce || pins >= kAtOnce || flows == kFlowsAtOnce ||
                over >= kAtOnce || resources == kAtOnce || holders.more || hosts == kAtOnce;
  return report;
}

DutyReport runDutiesAs(const LeaderLease& leader, Store& store, const Retention& retention) {
  return store.cluster().holds(leader) ? runDuties(store, retention) : DutyReport();
}

}  // namespace muster
