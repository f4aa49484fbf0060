#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/event.h"
#include "models/job.h"
#include "models/operations/blob_files.h"
#include "models/policy/circuit.h"
#include "models/policy/host_state.h"
#include "models/policy/inline_rules.h"
#include "models/policy/resource_pressure.h"
#include "models/pool.h"
#include "models/store/launch_templates.h"
#include "models/store/random.h"
#include "models/store/sql/foresight.h"
#include "models/store/sql/sql_connection.h"
#include "models/store/sql/turns.h"
#include "models/time_zone.h"

namespace muster {

// The jobs of a pool that are alike to the claim.
struct Lane {
  std::int64_t id;
  std::string tenant;     // empty: none
  std::string placement;  // JSON, empty: anywhere
  Placement rules;        // the same, decoded
  std::string pin = {};   // lane_pin, or the holder that alone may serve it

  // Its head is for anybody.
  bool isPlain() const { return tenant.empty() && placement.empty() && pin.empty(); }
};

namespace lane_pin {
constexpr std::string_view kNone = "";
constexpr std::string_view kOpenKey = "*";  // jobs whose key nobody has: anybody may take them
inline bool isOpen(std::string_view pin) { return pin == kNone || pin == kOpenKey; }
}  // namespace lane_pin

// The lanes of a pool, as far as they are known.
struct PoolLanes {
  std::vector<Lane> open;                                     // all that anybody may serve
  bool has_pinned = false;                                    // there may be others
  std::unordered_map<std::string, std::vector<Lane>> pinned;  // those of some holders
};

// How long keys stay with their holders.
struct AffinityRules {
  Millis ttl = Seconds(3600);
  Millis grace = Seconds(60);  // of a holder that was lost
  Millis wait = Seconds(5);    // of a job for a preferred holder
  int max_failures = 3;
};

// How long resources stay, and how much of them.
struct ResourceRules {
  BlobFiles* blobs = nullptr;  // of this node's place; null: it takes no bytes
  std::int64_t max_disk_bytes = 21'474'836'480;
  int high_watermark_pct = 90;
  int low_watermark_pct = 80;
  Millis default_ttl = Seconds(3600);
  Millis upload_ttl = Seconds(3600);
  Millis blob_grace = Seconds(600);
  std::int64_t tenant_max_disk_bytes = 0;      // 0: no limit
  std::int64_t part_bytes = 4 << 20;           // that a part should have
  std::int64_t max_mem_bytes = 8'589'934'592;  // of the resources of one worker
  HostPatience hosts;

  ResourceLimits workerLimits() const { return {max_disk_bytes, max_mem_bytes}; }
  Watermarks watermarks() const { return {high_watermark_pct, low_watermark_pct}; }
};

// What the service decides about its store as a whole.
struct StoreRules {
  PoolSettings pool_defaults = PoolSettings::builtIn();
  bool auto_create_pools = true;
  std::int64_t max_pools = 10'000;
  std::size_t max_answer_bytes = 8U << 20;  // payload of the jobs in one answer
  std::int64_t flow_max_jobs = 1'000'000;
  std::int64_t flow_max_depth = 16;
  std::size_t upstream_inline_limit_bytes = 262'144;
  InlineRules inline_rules;
  ResourceRules resources;
  AffinityRules affinities;
  // Called after the commit of a transaction that leaves something to settle (SettleFlows), by the
  // thread that commits: must not block. Empty: it waits for the next tick.
  std::function<void()> on_unsettled = {};
  bool strict_workers = false;
  std::string region = "default";  // of workers that name none
  std::string host;                // where this node launches workers
  std::string node;                // its id; empty: the only node of this store
  LaunchTemplates templates;
  ZoneLookup zones;  // of schedules; empty: only UTC is known
};

// What the parts of a Store share while a unit of work runs: the connection, the time, the events
// and the counters that are written with it.
class Session {
 public:
  Session(SqlConnection& connection, const StoreRules& store_rules)
      : db(connection),
        rules(store_rules),
        ids([this](std::uint8_t* out, std::size_t size) { random.bytes(out, size); }),
        turns(connection.hasPeers()) {}

  SqlConnection& db;
  const StoreRules& rules;
  Random random;
  IdMaker ids;
  Time now;
  std::uint64_t transaction = 0;  // its number in this session, from 1
  Time due_until;                 // jobs due or expired by then are already promoted or ended
  // Whose share of the counters this session writes; sessions that write at the same time have
  // different ones, or else wait for each other.
  std::int64_t writer = 0;
  std::int64_t origin = 0;  // who wrote an event, where that may have been another service
  Foresight ahead;
  std::string caller;  // on whose behalf the present unit runs; events carry it

  // The versions of what a session keeps from one transaction to the next, where others may have
  // changed it since: of all pools and lanes together, and of all circuits.
  struct Versions {
    std::int64_t catalog = 0;
    std::int64_t circuits = 0;
  };
  // A transaction begins: what was kept of an older version is dropped.
  void begin(Time time, std::optional<Versions> versions);

  // Written with what else is left to write; reaches subscribers after the commit.
  void emit(Event event);

  // A job came into being, moved between states, or was removed; those who claim hear of it. Every
  // end of a job goes through the last two.
  void countNew(const JobRow& row, JobStatus status) {
    delta(row.lane)[index(status)] += 1;
    if (status == JobStatus::kPending) offer(row);
  }
  void countMove(const JobRow& row, JobStatus from, JobStatus to) {
    delta(row.lane)[index(from)] -= 1;
    delta(row.lane)[index(to)] += 1;
    if (from == JobStatus::kPending) turns.jobGone(row);
    if (to == JobStatus::kPending) offer(row);
    if ((row.links & job_link::kInFlow) != 0 && isFinished(to)) {
      ended.push_back({row.seq, row.links, from, to});
    }
    if ((row.links & job_link::kHasRefs) != 0 && isFinished(from) != isFinished(to)) {
      refs_moved.push_back({row.seq, isFinished(to) ? -1 : 1});
    }
    if (from == JobStatus::kClaimed) endLeases(row);
    if ((row.links & job_link::kHasPin) != 0) pins_moved.push_back({row.seq, from, to});
  }
  // It stands in another lane from now on, whose pin is known: `row` has the lane before.
  void countLane(const JobRow& row, std::int64_t lane, const std::string& pin) {
    const JobStatus status = row.job.status;
    delta(row.lane)[index(status)] -= 1;
    delta(lane)[index(status)] += 1;
    if (status != JobStatus::kPending) return;
    turns.jobGone(row);
    turns.jobReady(row.job.pool, lane, {row.job.priority, row.seq}, pin);
  }
  void countGone(const JobRow& row, JobStatus status) {
    delta(row.lane)[index(status)] -= 1;
    if (status == JobStatus::kPending) turns.jobGone(row);
    if ((row.links & job_link::kInFlow) != 0) {
      ended.push_back(
          {row.seq, row.links, status, isFinished(status) ? status : JobStatus::kCancelled, true});
    }
    if ((row.links & (job_link::kHasRefs | job_link::kHasArtifacts)) != 0) {
      refs_moved.push_back({row.seq, isFinished(status) ? 0 : -1, true});
    }
    if (status == JobStatus::kClaimed) endLeases(row);
  }
  // A claimed job of the tenant has ended.
  void tenantLeaves(const PoolId& pool, const std::string& tenant) {
    tenants_left_[{pool.str(), tenant}] += 1;
    turns.placeFree(pool, tenant);
  }
  // A worker ended a try, well or badly.
  void countTry(const std::string& worker, bool done) {
    auto& [well, badly] = tries_[worker];
    (done ? well : badly) += 1;
  }
  // Jobs of flows that have ended in this transaction and are not settled (FlowSettling).
  struct EndedJob {
    std::int64_t seq;
    std::int64_t links;
    JobStatus from, to;
    bool gone = false;  // its row was removed; an unfinished job counts as cancelled then
  };
  std::vector<EndedJob> ended;
  // Jobs with refs that have ended in this transaction, or live again; what they refer to is told
  // of it once, at the end (ResourceRefs).
  struct MovedRefs {
    std::int64_t job;
    int by;             // added to the ref_count of each resource
    bool gone = false;  // its refs and artifacts are removed with it
  };
  std::vector<MovedRefs> refs_moved;
  // Jobs with pins that went from one status to another in this transaction; what follows from it
  // is done at the end (Pins::settle).
  struct MovedPin {
    std::int64_t job;
    JobStatus from, to;
  };
  std::vector<MovedPin> pins_moved;
  // In the same way resources to which a living job came to refer.
  std::vector<std::int64_t> refs_added;
  // Resources that the job which made them has let go of: nobody's artifacts any more.
  std::vector<std::int64_t> artifacts_dropped;
  // Jobs whose try is over, and with it the leases of resources that it took.
  std::vector<std::int64_t> leases_over;
  bool unsettled = false;  // this transaction leaves something to settle, and that is told
  // Pools or lanes were changed.
  void catalogChanged() { catalog_changed_ = true; }
  // So that others have to look at it again.
  void circuitsChanged() { circuits_changed_ = true; }

  // Claims that depend on what others have claimed (a tenant's places, those of a node) are made
  // one after the other: until the end of the transaction no other session makes any.
  void lockLimits();

  // Each writes what was gathered, before it is read; flush() writes all, before the commit. Rows
  // that others may want too are written in one order, so that nobody waits in a circle.
  void flushCounts();
  void flushTenants();
  void flushTries();
  void flushEvents();
  void flush();

  // To be done when the transaction is committed, by the thread that commits, which it must not
  // hold up; the disk may not have it yet: for what a power cut would end as well.
  void afterCommit(std::function<void()> act) { after_commit_.push_back(std::move(act)); }
  // To be done when it is rolled back instead: takes back what was handed over to it.
  void afterRollback(std::function<void()> act) { after_rollback_.push_back(std::move(act)); }
  void committed();

  // After a rollback: what was emitted and counted did not happen.
  void forget();
  std::vector<Event> takeEvents();

  // Pools as they were last decoded, with the text they were decoded from; good while text and
  // version in the store are the same, or while the catalog is.
  struct CachedPool {
    std::string settings;
    std::shared_ptr<const Pool> pool;
  };
  std::unordered_map<std::string, CachedPool> pool_cache;
  bool knowsCatalog() const { return catalog_.has_value(); }
  // The lanes of pools as a session that writes knows them; on SQLite only the one that writes can.
  std::unordered_map<std::string, PoolLanes> lanes;
  // Good while nobody else writes: where others do, until the transaction ends.
  Turns turns;
  // In the same way, the circuits of the pools in which jobs have failed of late. One that is held
  // by this transaction is as it is now, and nobody else can change it until the end.
  struct KnownCircuit {
    CircuitRecord record;
    std::uint64_t held_by = 0;
  };
  std::optional<std::unordered_map<std::string, KnownCircuit>> circuits;

 private:
  struct Delta {
    std::int64_t lane;
    std::array<std::int64_t, kJobStatuses> by_status{};
  };
  static std::size_t index(JobStatus status) { return static_cast<std::size_t>(status); }
  std::array<std::int64_t, kJobStatuses>& delta(std::int64_t lane);
  void endLeases(const JobRow& row) {
    if ((row.links & job_link::kHasLeases) != 0) leases_over.push_back(row.seq);
  }
  void offer(const JobRow& row) {
    turns.jobReady(row.job.pool, row.lane, {row.job.priority, row.seq});
  }
  void appendEvents(std::span<const Event> events);

  std::vector<Delta> deltas_;                                                 // not written yet
  std::map<std::pair<std::string, std::string>, std::int64_t> tenants_left_;  // not written yet
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> tries_;        // not written yet
  std::vector<Event> events_;                                                 // of this transaction
  std::size_t events_written_ = 0;                                            // so many of them
  std::vector<std::function<void()>> after_commit_, after_rollback_;
  std::optional<std::int64_t> catalog_;
  std::optional<std::int64_t> circuits_version_;
  bool catalog_changed_ = false;
  bool circuits_changed_ = false;
  bool limits_locked_ = false;
};

}  // namespace muster
