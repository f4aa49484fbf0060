#include "models/store/sql/holders.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "models/json/job_json.h"
#include "models/json/worker_json.h"
#include "models/policy/staleness.h"
#include "models/store/sql/affinities.h"
#include "models/store/sql/hosts.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/worker.h"

namespace muster {
namespace {

constexpr Sql kWorkerFacts{
    "SELECT status, pool_id, host, region, capabilities, executor_types, mode, last_heartbeat, "
    "ended_at FROM workers WHERE worker_id = $1"};
constexpr Sql kIsOnHost{"SELECT 1 FROM workers WHERE worker_id = $1 AND host = $2"};
constexpr Sql kGivenUpAt{"SELECT due_at FROM lost_holders WHERE holder = $1"};
constexpr Sql kHasKeysOrJobs{
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM affinities WHERE holder = $1 AND holder <> '') "
    "OR EXISTS (SELECT 1 FROM lanes WHERE pin = $1 AND pin >= 'a')"};
constexpr Sql kLoseHolder{
    "INSERT INTO lost_holders (holder, due_at) VALUES ($1, $2) "
    "ON CONFLICT (holder) DO UPDATE SET due_at = excluded.due_at"};
constexpr Sql kForgetLost{"DELETE FROM lost_holders WHERE holder = $1"};
constexpr Sql kLostAndDue{
    "SELECT holder FROM lost_holders WHERE due_at <= $1 ORDER BY due_at, holder LIMIT $2"};

constexpr int kLostAtOnce = 100;

}  // namespace

HolderFacts Holders::facts(const Holder& holder) {
  return holder.kind == Holder::Kind::kWorker ? factsOfWorker(holder.name)
                                              : factsOfHost(holder.name);
}

HolderFacts Holders::factsOfWorker(const std::string& worker) {
  const Millis grace = s_.rules.affinities.grace;
  HolderFacts facts;
  std::optional<Time> ended_at;
  Time last_heartbeat;
  std::string status, mode;
  {
    auto rows = s_.db.query(kWorkerFacts, worker);
    if (!rows.next()) return facts;
    status = rows->string(0);
    facts.pool = rows->string(1);
    facts.traits = {rows->string(2), rows->string(3), parseTexts(rows->text(4)),
                    parseTexts(rows->text(5))};
    mode = rows->string(6);
    last_heartbeat = rows->time(7);
    ended_at = rows->maybeTime(8);
  }
  if (ended_at) {
    auto given_up = s_.db.query(kGivenUpAt, Holder{Holder::Kind::kWorker, worker}.text());
    if (!given_up.next() || given_up->time(0) <= s_.now) return facts;
    facts.presence = Presence::kSilent;
    facts.grace_left = given_up->time(0) - s_.now;
    return facts;
  }
  facts.grace_left = grace;
  if (mode != "loop") return facts;  // it has gone before another job comes
  const auto pool = facts.pool.empty() ? nullptr : Pools(s_).find(PoolId(facts.pool));
  const PoolSettings& settings = pool ? pool->settings : s_.rules.pool_defaults;
  facts.presence = status == worker_status::kTerminating                    ? Presence::kLeaving
                   : isStale(last_heartbeat, settings.staleAfter(), s_.now) ? Presence::kSilent
                                                                            : Presence::kThere;
  return facts;
}

HolderFacts Holders::factsOfHost(const std::string& host) {
  HolderFacts facts;
  facts.traits.node = host;
  facts.presence = Presence::kThere;
  if (host == s_.rules.host || Hosts(s_).stateOf(host) == HostState::kUp) return facts;
  facts.presence = Presence::kSilent;
  facts.grace_left = s_.rules.resources.hosts.grace;
  auto given_up = s_.db.query(kGivenUpAt, Holder{Holder::Kind::kHost, host}.text());
  if (given_up.next()) facts.grace_left = std::max(given_up->time(0) - s_.now, Millis(0));
  return facts;
}

bool Holders::is(const Holder& holder, const std::string& worker) {
  if (holder.kind == Holder::Kind::kWorker) return holder.name == worker;
  return s_.db.query(kIsOnHost, worker, holder.name).next();
}

void Holders::workerLeaves(const std::string& worker) {
  const Holder holder{Holder::Kind::kWorker, worker};
  if (!s_.db.query(kHasKeysOrJobs, holder.text()).next()) return;
  Affinities(s_).setState(holder.text(), AffinityState::kActive, AffinityState::kDraining);
  Pins(s_).unpinPreferred(holder);
}

void Holders::workerEnded(const std::string& worker, bool is_dead) {
  const Holder holder{Holder::Kind::kWorker, worker};
  if (!s_.db.query(kHasKeysOrJobs, holder.text()).next()) return;
  lost(holder, is_dead ? s_.now : s_.now + s_.rules.affinities.grace);
  if (is_dead) endLost(kMostMovedPins);
}

void Holders::workerBack(const std::string& worker, bool can_hold) {
  const Holder holder{Holder::Kind::kWorker, worker};
  if (can_hold) return back(holder);
  workerEnded(worker, true);
}

void Holders::lost(const Holder& holder, Time due) {
  const std::string text = holder.text();
  s_.db.post(kLoseHolder, text, due);
  Affinities(s_).setState(text, AffinityState::kActive, AffinityState::kStale);
  Affinities(s_).setState(text, AffinityState::kDraining, AffinityState::kStale);
  Pins(s_).unpinPreferred(holder);
}

void Holders::back(const Holder& holder) {
  const std::string text = holder.text();
  s_.db.post(kForgetLost, text);
  Affinities(s_).setState(text, AffinityState::kStale, AffinityState::kActive);
}

int Holders::endLost(int limit) {
  std::vector<std::string> due;
  {
    auto rows = s_.db.query(kLostAndDue, s_.now, kLostAtOnce);
    while (rows.next()) due.push_back(rows->string(0));
  }
  int left = limit;
  for (const std::string& text : due) {
    const auto holder = parseHolder(text);
    // Those that must run there end before the key is free, so that nobody takes one of them.
    if (holder) left -= Pins(s_).endRequired(*holder, left);
    if (left > 0) left -= Affinities(s_).releaseOf(text, "lost", left);
    if (holder && left > 0) left -= Pins(s_).unpinPreferred(*holder);
    if (left <= 0) break;
    s_.db.post(kForgetLost, text);
  }
  return limit - std::max(left, 0);
}

}  // namespace muster
