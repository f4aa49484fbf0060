#include "models/store/sql/workers.h"

#include <algorithm>
#include <unordered_map>

#include "models/policy/staleness.h"
#include "models/store/sql/held_resources.h"
#include "models/store/sql/holders.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/resource_leases.h"
#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

#define MUSTER_SELECT_WORKER                                                                   \
  "SELECT worker_id, pool_id, status, status_reason, mode, host, region, pid, capabilities, "  \
  "executor_types, slots, started_at, last_heartbeat, current_task, metadata, metrics, "       \
  "jobs_done, jobs_failed, version, template, template_version, launched_at, start_deadline, " \
  "launch_token_hash, launch_verdict, process_key, exited_at, exit_code, exit_signal, "        \
  "max_rss_bytes, node_id, registration, holds FROM workers "

constexpr Sql kFindWorker{MUSTER_SELECT_WORKER "WHERE worker_id = $1"};
constexpr Sql kMetadata{"SELECT metadata FROM workers WHERE worker_id = $1"};
constexpr Sql kHoldMetadata{
    "SELECT metadata FROM workers WHERE worker_id = $1 /*for_update workers*/"};
#define MUSTER_SELECT_CLAIMER                                                              \
  "SELECT status, host, region, capabilities, executor_types, launch_verdict, worker_id, " \
  "registration, holds, disk_bytes_in_use, mem_bytes_in_use FROM workers "
constexpr Sql kClaimer{MUSTER_SELECT_CLAIMER "WHERE worker_id = $1"};
constexpr Sql kClaimers{MUSTER_SELECT_CLAIMER "WHERE worker_id = ANY (CAST($1 AS TEXT[]))"};
constexpr Sql kPageOfWorkers{MUSTER_SELECT_WORKER
                             "WHERE worker_id > $1 ORDER BY worker_id LIMIT $2"};
constexpr Sql kPageOfPool{MUSTER_SELECT_WORKER
                          "WHERE pool_id = $3 AND worker_id > $1 ORDER BY worker_id LIMIT $2"};
constexpr Sql kSilentSince{
    MUSTER_SELECT_WORKER
    "WHERE ended_at IS NULL AND last_heartbeat < $1 AND status <> 'starting' "
    "AND ($2 = '' OR pool_id = $2) ORDER BY last_heartbeat"};
constexpr Sql kPut{
    "INSERT INTO workers (worker_id, pool_id, status, mode, host, region, pid, capabilities, "
    "executor_types, slots, started_at, last_heartbeat, metadata, metrics, jobs_done, "
    "jobs_failed, version, process_key, registration) "
    "VALUES ($1, $2, 'active', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '{}', 0, 0, 1, $13, $14) "
    "ON CONFLICT (worker_id) DO UPDATE SET pool_id = excluded.pool_id, status = 'active', "
    "status_reason = NULL, mode = excluded.mode, host = excluded.host, region = excluded.region, "
    "pid = excluded.pid, capabilities = excluded.capabilities, "
    "executor_types = excluded.executor_types, slots = excluded.slots, "
    "started_at = excluded.started_at, last_heartbeat = excluded.last_heartbeat, ended_at = NULL, "
    "current_task = NULL, metadata = excluded.metadata, metrics = '{}', "
    "disk_bytes_in_use = NULL, mem_bytes_in_use = NULL, "
    "process_key = excluded.process_key, template = NULL, template_version = NULL, "
    "node_id = NULL, "
    "launched_at = NULL, start_deadline = NULL, launch_token_hash = NULL, launch_verdict = NULL, "
    "exited_at = NULL, exit_code = NULL, exit_signal = NULL, max_rss_bytes = NULL, "
    "version = workers.version + 1, registration = CASE WHEN excluded.registration > "
    "workers.registration THEN excluded.registration ELSE workers.registration + 1 END"};
constexpr Sql kWorkerHeartbeat{
    "UPDATE workers SET last_heartbeat = $2, metadata = coalesce($3, metadata), "
    "metrics = coalesce($4, metrics), "
    "disk_bytes_in_use = CASE WHEN $4 IS NULL THEN disk_bytes_in_use ELSE CAST($5 AS BIGINT) END, "
    "mem_bytes_in_use = CASE WHEN $4 IS NULL THEN mem_bytes_in_use ELSE CAST($6 AS BIGINT) END "
    "WHERE worker_id = $1 AND ended_at IS NULL"};
constexpr Sql kChange{
    "UPDATE workers SET status = $2, metadata = $3, current_task = $4, version = version + 1 "
    "WHERE worker_id = $1"};
constexpr Sql kEnd{
    "UPDATE workers SET status = $2, status_reason = $3, ended_at = $4, current_task = NULL, "
    "version = version + 1 WHERE worker_id = $1 AND ended_at IS NULL"};
constexpr Sql kDeleteWorker{"DELETE FROM workers WHERE worker_id = $1"};
constexpr Sql kCountByStatus{
    "SELECT status, count(*) FROM workers WHERE pool_id = $1 "
    "AND status IN ('starting', 'active', 'terminating', 'lost') GROUP BY status"};
constexpr Sql kCountBusy{
    "SELECT count(DISTINCT w.worker_id) FROM workers w JOIN jobs j ON j.claimed_by = w.worker_id "
    "AND j.status = 'claimed' WHERE w.pool_id = $1 AND w.status = 'active'"};
constexpr Sql kOldestHeld{
    "SELECT id FROM jobs WHERE claimed_by = $1 AND status = 'claimed' "
    "ORDER BY claimed_at, seq LIMIT 1"};
constexpr Sql kPoolOfWorker{"SELECT pool_id FROM workers WHERE worker_id = $1"};
constexpr Sql kTraitsInPool{
    "SELECT DISTINCT host, region, capabilities, executor_types FROM workers "
    "WHERE pool_id = $1 AND ended_at IS NULL AND status <> 'terminating' LIMIT 1000"};
constexpr Sql kDeleteOutput{"DELETE FROM worker_outputs WHERE worker_id = $1"};
constexpr Sql kRemoveOutputs{
    "DELETE FROM worker_outputs WHERE worker_id IN (SELECT worker_id FROM workers "
    "WHERE ended_at IS NOT NULL AND ended_at < $1 AND holds = 0 ORDER BY ended_at LIMIT $2)"};
constexpr Sql kRemoveEnded{
    "DELETE FROM workers WHERE worker_id IN (SELECT worker_id FROM workers "
    "WHERE ended_at IS NOT NULL AND ended_at < $1 AND holds = 0 ORDER BY ended_at LIMIT $2)"};

constexpr std::string_view kNoHeartbeat = "no heartbeat";

Error noWorker(const WorkerId& id) {
  return {ErrorCode::kNotFound, "there is no worker '" + id.str() + "'"};
}

// From four columns: host, region, capabilities, executor_types.
WorkerTraits readTraits(const SqlRows& row, int first) {
  return {row.string(first), row.string(first + 1), parseTexts(row.text(first + 2)),
          parseTexts(row.text(first + 3))};
}

Claimer readClaimer(const SqlRows& row) {
  return {row.string(0),  readTraits(row, 1),  row.text(5) == "open",
          row.integer(7), row.integer(8) != 0, {row.maybeInteger(9), row.maybeInteger(10)}};
}

Error registeredAnew(const WorkerId& id) {
  return {ErrorCode::kGone,
          "worker '" + id.str() + "' has registered anew since this token was made: stop"};
}

Status checkVersion(const Worker& worker, IfVersion if_version) {
  if (versionFits(if_version, worker.version)) return {};
  return fail(ErrorCode::kVersionMismatch,
              "the worker is at version " + std::to_string(worker.version));
}

// With what is changed of it; kInvalid when that is too much.
Result<std::string> mergedMetadata(std::string_view metadata, const std::string& change) {
  std::string merged = mergeObjects(metadata, change);
  if (merged.size() <= kMaxWorkerObjectBytes) return merged;
  const std::string why = "would have " + std::to_string(merged.size()) +
                          " bytes together with what the worker has; the limit is " +
                          std::to_string(kMaxWorkerObjectBytes) + ", and null removes a name";
  return tl::unexpected(
      Error{ErrorCode::kInvalid, "/metadata " + why, {{"/metadata", "length", why}}});
}

Event workerEvent(std::string_view type, const Worker& worker) {
  Event event;
  event.type = type;
  event.pool = worker.pool;
  event.worker = worker.id.str();
  return event;
}

}  // namespace

Worker Workers::readRow(const SqlRows& row) {
  Worker worker;
  worker.id = WorkerId(row.string(0));
  worker.pool = row.string(1);
  worker.status = row.string(2);
  worker.status_reason = row.string(3);
  worker.mode = row.string(4);
  worker.host = row.string(5);
  worker.region = row.string(6);
  worker.pid = row.maybeInteger(7);
  worker.capabilities = parseTexts(row.text(8));
  worker.executor_types = parseTexts(row.text(9));
  worker.slots = static_cast<int>(row.integer(10));
  worker.started_at = row.time(11);
  worker.last_heartbeat = row.time(12);
  worker.current_task = row.string(13);
  worker.metadata = row.string(14);
  worker.metrics = row.string(15);
  worker.jobs_done = row.integer(16);
  worker.jobs_failed = row.integer(17);
  worker.version = row.integer(18);
  worker.template_name = row.string(19);
  worker.template_version = row.string(20);
  worker.launched_at = row.maybeTime(21);
  worker.start_deadline = row.maybeTime(22);
  worker.launch_token_hash = row.string(23);
  worker.launch_verdict = row.string(24);
  worker.process_key = row.string(25);
  worker.exited_at = row.maybeTime(26);
  const auto small = [&row](int column) {
    return row.isNull(column) ? std::nullopt : std::optional(static_cast<int>(row.integer(column)));
  };
  worker.exit_code = small(27);
  worker.exit_signal = small(28);
  worker.max_rss_bytes = row.maybeInteger(29);
  worker.node = row.string(30);
  worker.registration = row.integer(31);
  worker.holds = row.integer(32) != 0;
  return worker;
}

Error Workers::gone(const WorkerId& id, std::string_view status) {
  return {ErrorCode::kGone,
          "worker '" + id.str() + "' is " + std::string(status) + "; stop, or register anew"};
}

std::optional<Worker> Workers::find(const WorkerId& id) {
  s_.flushTries();
  auto rows = s_.db.query(kFindWorker, id);
  if (!rows.next()) return std::nullopt;
  return readRow(*rows);
}

std::optional<Worker> Workers::show(const WorkerId& id) {
  auto worker = find(id);
  if (worker) addHeldJob(*worker);
  return worker;
}

// Looked up when somebody asks, so that a claim need not write it down.
void Workers::addHeldJob(Worker& worker) {
  if (!worker.current_task.empty() || worker_status::isEnded(worker.status)) return;
  auto held = s_.db.query(kOldestHeld, worker.id);
  if (held.next()) worker.current_task = held->string(0);
}

Worker Workers::registerWorker(const NewWorker& given) {
  const WorkerId id = given.id.empty() ? WorkerId("w-" + s_.ids.next(s_.now)) : given.id;
  const auto before = find(id);
  if (before) {
    Jobs(s_).releaseByWorker(id.str(), "reregistered");
    ResourceLeases(s_).endOfWorker(id.str());
    HeldResources(s_).workerRegistered(*before, given.resources);
  }
  s_.db.execute(kPut, id, orNull(given.pool), orNull(given.mode), orNull(given.host),
                orNull(given.region.empty() ? s_.rules.region : given.region), given.pid,
                writeTexts(given.capabilities), writeTexts(given.executor_types), given.slots,
                given.started_at.value_or(s_.now), s_.now,
                given.metadata.empty() ? "{}" : given.metadata, orNull(given.process_key),
                s_.now.time_since_epoch().count());
  Worker worker = *find(id);
  s_.emit(workerEvent(event_type::kWorkerRegistered, worker));
  if (before && before->mode == "loop") {
    Holders(s_).workerBack(id.str(), worker.mode == "loop");
  }
  return worker;
}

Result<Heartbeat> Workers::heartbeat(const WorkerId& id, const WorkerChange& change) {
  const auto known = claimerRow(id);
  if (!known) return tl::unexpected(noWorker(id));
  if (worker_status::isEnded(known->status)) return tl::unexpected(gone(id, known->status));
  const auto merged = [&](Sql sql) {
    auto rows = s_.db.query(sql, id);
    return mergedMetadata(rows.next() ? rows->text(0) : "{}", *change.metadata);
  };
  if (change.metadata) {  // refused before anything is changed
    if (auto ok = merged(kMetadata); !ok) return tl::unexpected(std::move(ok).error());
  }
  // Jobs before their worker, as everybody locks them.
  Heartbeat beat{known->status, Jobs(s_).renewByWorker(id.str())};
  std::optional<std::string> metadata;
  if (change.metadata) {
    auto locked = merged(kHoldMetadata);
    if (!locked) {
      throw StoreError(StoreError::Kind::kConflict, "another has changed the metadata meanwhile");
    }
    metadata = *std::move(locked);
  }
  s_.db.post(kWorkerHeartbeat, id, s_.now, metadata, change.metrics, change.use.disk_bytes,
             change.use.mem_bytes);
  if (!known->holds) return beat;
  HeldResources held(s_);
  if (changesResources(change, s_.rules.resources)) {
    held.removedBy(id, change.removed);
    held.relieveWorker(id, change.use.mem_bytes.value_or(0));
  }
  beat.commands = held.commandsOf(id);
  return beat;
}

std::vector<ResourceCommand> Workers::commandsOf(const WorkerId& id) {
  return HeldResources(s_).commandsOf(id);
}

bool Workers::changesResources(const WorkerChange& beat, const ResourceRules& rules) {
  return !beat.removed.empty() || isAboveHighWatermark(beat.use.mem_bytes.value_or(0),
                                                       rules.max_mem_bytes, rules.watermarks());
}

Result<Worker> Workers::change(const WorkerId& id, const WorkerChange& change,
                               IfVersion if_version) {
  const auto worker = find(id);
  if (!worker) return tl::unexpected(noWorker(id));
  if (auto ok = checkVersion(*worker, if_version); !ok) return tl::unexpected(ok.error());
  const std::string status = change.status.value_or(worker->status);
  if (worker_status::isEnded(worker->status)) {
    if (status != worker->status || change.metadata || change.current_task) {
      return tl::unexpected(gone(id, worker->status));
    }
    return *worker;
  }
  auto metadata = change.metadata ? mergedMetadata(worker->metadata, *change.metadata)
                                  : Result<std::string>(worker->metadata);
  if (!metadata) return tl::unexpected(std::move(metadata).error());
  const std::string task = change.current_task.value_or(worker->current_task);
  const std::string kept = worker_status::isEnded(status) ? worker->status : status;
  s_.db.post(kChange, id, kept, *metadata, orNull(task));
  if (worker_status::isEnded(status)) {
    end(*worker, status, "set");
  } else if (status == worker_status::kTerminating && status != worker->status) {
    s_.emit(workerEvent(event_type::kWorkerTerminating, *worker));
    if (worker->mode == "loop") Holders(s_).workerLeaves(id.str());
  }
  return *find(id);
}

std::int64_t Workers::end(const Worker& worker, std::string_view status, std::string_view reason,
                          const FailureReport& report, bool proven) {
  s_.db.post(kEnd, worker.id, status, reason, s_.now);
  const bool lost = status == worker_status::kLost;
  const bool vanished = lost || !report.error.empty();
  const std::int64_t released = Jobs(s_).releaseByWorker(
      worker.id.str(), vanished ? "worker_lost" : "worker_terminated", report);
  ResourceLeases(s_).endOfWorker(worker.id.str());
  HeldResources(s_).workerEnded(worker, proven || !lost);
  s_.emit(workerEvent(lost ? event_type::kWorkerLost : event_type::kWorkerTerminated, worker));
  if (worker.mode == "loop") Holders(s_).workerEnded(worker.id.str(), reason != kNoHeartbeat);
  return released;
}

Status Workers::remove(const WorkerId& id, IfVersion if_version) {
  const auto worker = find(id);
  if (!worker) return tl::unexpected(noWorker(id));
  if (auto ok = checkVersion(*worker, if_version); !ok) return ok;
  if (!worker_status::isEnded(worker->status)) {
    return fail(ErrorCode::kWorkerActive, "the worker is " + worker->status + "; end it first");
  }
  HeldResources(s_).workerForgotten(*worker);
  s_.db.post(kDeleteOutput, id);
  s_.db.post(kDeleteWorker, id);
  return {};
}

WorkerPage Workers::list(const WorkerFilter& filter, const std::string& cursor, int limit) {
  WorkerPage page = readPage(filter, cursor, limit);
  for (Worker& worker : page.workers) addHeldJob(worker);
  return page;
}

WorkerPage Workers::readPage(const WorkerFilter& filter, const std::string& cursor, int limit) {
  s_.flushTries();
  const auto wanted = [&](const Worker& worker) {
    const auto& statuses = filter.statuses;
    if (!statuses.empty() &&
        std::find(statuses.begin(), statuses.end(), worker.status) == statuses.end()) {
      return false;
    }
    const auto& can = worker.capabilities;
    if (!filter.capability.empty() &&
        std::find(can.begin(), can.end(), filter.capability) == can.end()) {
      return false;
    }
    return !filter.stale_threshold ||
           isStale(worker.last_heartbeat, *filter.stale_threshold, s_.now);
  };
  // Filters look at what is read, so reading goes on until the page is full or there is no more.
  const int chunk = s_.db.hasPeers() ? 100 : 500;
  constexpr std::size_t kPageBytes = 4U << 20;
  WorkerPage page;
  std::size_t bytes = 0;
  std::string after = cursor;
  for (;;) {
    auto rows = filter.pool.empty() ? s_.db.query(kPageOfWorkers, after, chunk)
                                    : s_.db.query(kPageOfPool, after, chunk, filter.pool);
    int read = 0;
    while (rows.next()) {
      ++read;
      Worker worker = readRow(*rows);
      after = worker.id.str();
      if (!wanted(worker)) continue;
      bytes += rows->text(8).size() + rows->text(9).size();  // capabilities, executors
      bytes += worker.metadata.size() + worker.metrics.size();
      const bool is_large = bytes > kPageBytes && !page.workers.empty();
      if (is_large || page.workers.size() == static_cast<std::size_t>(limit)) {
        page.next_cursor = page.workers.back().id.str();
        return page;
      }
      page.workers.push_back(std::move(worker));
    }
    if (read < chunk) return page;
  }
}

void Workers::readForetoldClaimers() {
  auto& known = s_.ahead.claimers;
  if (s_.ahead.claims.empty() || !known.empty()) return;
  SqlArray ids;
  for (const Wish& wish : s_.ahead.claims) {
    if (known.try_emplace(wish.worker).second) ids.add(wish.worker);
  }
  auto rows = s_.db.query(kClaimers, ids.text());
  while (rows.next()) {
    known[rows->string(6)] = readClaimer(*rows);
  }
}

std::optional<Claimer> Workers::claimerRow(const WorkerId& id) {
  readForetoldClaimers();
  const auto& foretold = s_.ahead.claimers;
  if (const auto known = foretold.find(id.str()); known != foretold.end()) return known->second;
  auto rows = s_.db.query(kClaimer, id);
  if (!rows.next()) return std::nullopt;
  return readClaimer(*rows);
}

Status Workers::checkRegistration(const WorkerId& id, std::int64_t registration) {
  const auto worker = claimerRow(id);
  if (!worker) return tl::unexpected(gone(id, "forgotten"));
  if (worker->registration != registration) return tl::unexpected(registeredAnew(id));
  return {};
}

std::optional<std::string> Workers::poolOf(const WorkerId& id) {
  auto rows = s_.db.query(kPoolOfWorker, id);
  return rows.next() ? std::optional(rows->string(0)) : std::nullopt;
}

Result<Claimer> Workers::claimer(const WorkerId& id, std::optional<std::int64_t> registration) {
  auto worker = claimerRow(id);
  if (!worker) {
    if (registration) return tl::unexpected(gone(id, "forgotten"));
    if (!s_.rules.strict_workers) return Claimer{"", {"", s_.rules.region, {}, {}}};
    return fail(ErrorCode::kWorkerUnknown,
                "worker '" + id.str() + "' must register before it claims");
  }
  if (worker_status::isEnded(worker->status)) return tl::unexpected(gone(id, worker->status));
  if (registration && *registration != worker->registration) {
    return tl::unexpected(registeredAnew(id));
  }
  return *std::move(worker);
}

Reaped Workers::stale(const std::string& pool, std::optional<Millis> threshold, bool reap,
                      int limit) {
  std::vector<Worker> silent;
  {
    // Nobody's own threshold is below a second, so fresher workers need no look.
    auto rows = s_.db.query(kSilentSince, s_.now - threshold.value_or(Seconds(1)), pool);
    while (rows.next()) silent.push_back(readRow(*rows));
  }
  Reaped reaped;
  for (const Worker& worker : silent) {
    if (reaped.workers.size() == static_cast<std::size_t>(limit)) break;
    const auto own = worker.pool.empty() ? nullptr : Pools(s_).find(PoolId(worker.pool));
    const PoolSettings& settings = own ? own->settings : s_.rules.pool_defaults;
    if (!isStale(worker.last_heartbeat, threshold.value_or(settings.staleAfter()), s_.now))
      continue;
    if (reap) {
      reaped.jobs_released += end(worker, worker_status::kLost, kNoHeartbeat);
    } else {
      reaped.jobs_released += static_cast<std::int64_t>(Jobs(s_).leasesOf(worker.id.str()).size());
    }
    reaped.workers.push_back(worker.id.str());
  }
  return reaped;
}

void Workers::countByStatus(const PoolId& pool, PoolStats& stats) {
  {
    auto rows = s_.db.query(kCountByStatus, pool);
    while (rows.next()) {
      const std::string_view status = rows->text(0);
      const std::int64_t count = rows->integer(1);
      if (status == worker_status::kStarting) stats.starting_workers = count;
      if (status == worker_status::kActive) stats.active_workers = count;
      if (status == worker_status::kTerminating) stats.terminating_workers = count;
      if (status == worker_status::kLost) stats.lost_workers = count;
    }
  }
  if (stats.active_workers == 0) return;
  auto busy = s_.db.query(kCountBusy, pool);
  if (busy.next()) stats.busy_workers = busy->integer(0);
  stats.idle_workers = stats.active_workers - stats.busy_workers;
}

std::vector<WorkerTraits> Workers::traitsInPool(const PoolId& pool) {
  std::vector<WorkerTraits> traits;
  auto rows = s_.db.query(kTraitsInPool, pool);
  while (rows.next()) traits.push_back(readTraits(*rows, 0));
  return traits;
}

std::int64_t Workers::removeEnded(Time before, int limit) {
  s_.db.execute(kRemoveOutputs, before, limit);
  return s_.db.execute(kRemoveEnded, before, limit);
}

}  // namespace muster
