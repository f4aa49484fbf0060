#include "models/store/sql/decisions.h"

namespace muster {
namespace {

#define MUSTER_SELECT_DECISION                                                                \
  "SELECT decision_id, pool_id, at, trigger_name, inputs, limits, binding_limit, direction, " \
  "current_workers, desired_workers, to_launch, launched, reason, leader_epoch FROM decisions "

constexpr Sql kNewest{MUSTER_SELECT_DECISION
                      "WHERE pool_id = $1 ORDER BY decision_id DESC LIMIT $2"};
constexpr Sql kDecisionsBefore{
    MUSTER_SELECT_DECISION
    "WHERE pool_id = $1 AND decision_id < $3 ORDER BY decision_id DESC LIMIT $2"};
constexpr Sql kInsertDecision{
    "INSERT INTO decisions (decision_id, pool_id, at, trigger_name, inputs, limits, binding_limit, "
    "direction, "
    "current_workers, desired_workers, to_launch, launched, reason, leader_epoch) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"};
constexpr Sql kRemoveOldDecisions{
    "DELETE FROM decisions WHERE decision_id IN "
    "(SELECT decision_id FROM decisions ORDER BY decision_id LIMIT $2) AND at < $1"};
constexpr Sql kRemoveDecisionsOf{"DELETE FROM decisions WHERE pool_id = $1"};

}  // namespace

Decision Decisions::readRow(const SqlRows& row) {
  Decision decision;
  decision.id = row.integer(0);
  decision.pool = PoolId(row.string(1));
  decision.at = row.time(2);
  decision.trigger = row.string(3);
  decision.inputs = row.string(4);
  decision.limits = row.string(5);
  decision.binding_limit = row.string(6);
  decision.direction = row.string(7);
  decision.current_workers = row.integer(8);
  decision.desired_workers = row.integer(9);
  decision.to_launch = row.integer(10);
  decision.launched = row.integer(11);
  decision.reason = row.string(12);
  decision.leader_epoch = row.maybeInteger(13);
  return decision;
}

void Decisions::add(Decision& decision) {
  if (decision.direction == "hold") {
    auto last = s_.db.query(kNewest, decision.pool, 1);
    if (last.next()) {
      const Decision before = readRow(*last);
      if (before.direction == "hold" && before.binding_limit == decision.binding_limit &&
          before.inputs == decision.inputs) {
        return;
      }
    }
  }
  decision.id =
      s_.db.insert(kInsertDecision, decision.pool, decision.at, decision.trigger, decision.inputs,
                   decision.limits, decision.binding_limit, decision.direction,
                   decision.current_workers, decision.desired_workers, decision.to_launch,
                   decision.launched, decision.reason, decision.leader_epoch);
}

Decisions::Page Decisions::list(const PoolId& pool, std::int64_t before, int limit) {
  Page page;
  auto rows = before > 0 ? s_.db.query(kDecisionsBefore, pool, limit + 1, before)
                         : s_.db.query(kNewest, pool, limit + 1);
  while (rows.next()) {
    page.more = page.decisions.size() == static_cast<std::size_t>(limit);
    if (!page.more) page.decisions.push_back(readRow(*rows));
  }
  return page;
}

std::int64_t Decisions::removeOld(Time before, int limit) {
  return s_.db.execute(kRemoveOldDecisions, before, limit);
}

void Decisions::removeOf(const PoolId& pool) { s_.db.post(kRemoveDecisionsOf, pool); }

}  // namespace muster
