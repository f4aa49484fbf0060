#include "models/store/sql/launches.h"

#include <algorithm>
#include <utility>

#include "models/json/json_writer.h"
#include "models/store/sql/held_resources.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/workers.h"

namespace muster {
namespace {

constexpr auto kProvesItself = Seconds(10);    // a worker that lived so long began well
constexpr std::size_t kCrashesOfTemplate = 3;  // so many different jobs cannot all be bad

constexpr Sql kOrder{
    "INSERT INTO workers (worker_id, pool_id, status, mode, host, region, capabilities, "
    "executor_types, slots, started_at, last_heartbeat, metadata, metrics, jobs_done, jobs_failed, "
    "version, template, template_version, launched_at, start_deadline, launch_token_hash, "
    "launch_verdict, node_id, registration) VALUES ($1, $2, 'starting', $3, $4, $5, $6, $7, $8, "
    "$9, $9, '{}', '{}', 0, 0, 1, $10, $11, $9, $12, $13, 'open', $14, $15)"};
constexpr Sql kStarted{
    "UPDATE workers SET process_key = $2, pid = coalesce(pid, $3) WHERE worker_id = $1"};
constexpr Sql kExited{
    "UPDATE workers SET exited_at = $2, exit_code = $3, exit_signal = $4, max_rss_bytes = $5 "
    "WHERE worker_id = $1 AND exited_at IS NULL"};
constexpr Sql kKeepOutput{
    "INSERT INTO worker_outputs (worker_id, output, truncated) VALUES ($1, $2, $3) "
    "ON CONFLICT (worker_id) DO UPDATE SET output = excluded.output, "
    "truncated = excluded.truncated"};
constexpr Sql kOutput{"SELECT output, truncated FROM worker_outputs WHERE worker_id = $1"};
constexpr Sql kAdmit{
    "UPDATE workers SET status = 'active', mode = $2, host = $3, region = $4, pid = $5, "
    "capabilities = $6, executor_types = $7, slots = $8, started_at = $9, last_heartbeat = $10, "
    "metadata = $11, version = version + 1 WHERE worker_id = $1 AND status = 'starting'"};
constexpr Sql kVerdict{"UPDATE workers SET launch_verdict = $2 WHERE worker_id = $1"};
constexpr Sql kSurvivors{
    "SELECT worker_id FROM workers WHERE launch_verdict = 'open' AND launched_at <= $1 "
    "AND ended_at IS NULL AND status <> 'starting' ORDER BY launched_at LIMIT $2"};
constexpr Sql kLate{
    "SELECT worker_id FROM workers WHERE status = 'starting' AND start_deadline < $1 "
    "ORDER BY start_deadline LIMIT $2"};
constexpr Sql kRunning{
    "SELECT worker_id, process_key, status FROM workers WHERE launched_at IS NOT NULL "
    "AND exited_at IS NULL AND host = $1 AND ($2 = '' OR node_id = $2)"};
constexpr Sql kOrphans{
    "SELECT worker_id, process_key FROM workers WHERE launched_at IS NOT NULL "
    "AND exited_at IS NULL AND host = $1 AND process_key IS NOT NULL AND coalesce(node_id, '') "
    "NOT IN (SELECT node_id FROM distributed_nodes WHERE status <> 'dead') LIMIT $2"};
constexpr Sql kLocal{
    "SELECT worker_id, process_key FROM workers WHERE ended_at IS NULL AND launched_at IS NULL "
    "AND host = $1 AND process_key IS NOT NULL LIMIT $2"};
constexpr Sql kFindLaunchRecord{
    "SELECT failures, successes, retry_at, suspended, crashed_jobs FROM launch_records "
    "WHERE pool_id = $1 AND template_version = $2 AND host = $3"};
constexpr Sql kSaveRecord{
    "INSERT INTO launch_records (pool_id, template_version, host, failures, successes, retry_at, "
    "suspended, crashed_jobs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
    "ON CONFLICT (pool_id, template_version, host) DO UPDATE SET failures = excluded.failures, "
    "successes = excluded.successes, retry_at = excluded.retry_at, "
    "suspended = excluded.suspended, crashed_jobs = excluded.crashed_jobs"};
constexpr Sql kRemoveRecords{"DELETE FROM launch_records WHERE pool_id = $1"};

Event eventOf(std::string_view type, const Worker& worker, std::string details = {}) {
  Event event;
  event.type = type;
  event.pool = worker.pool;
  event.worker = worker.id.str();
  event.details = std::move(details);
  return event;
}

// What the template declares, and what else the worker names itself.
std::vector<std::string> united(std::vector<std::string> declared,
                                const std::vector<std::string>& named) {
  for (const std::string& name : named) {
    if (std::find(declared.begin(), declared.end(), name) == declared.end()) {
      declared.push_back(name);
    }
  }
  return declared;
}

std::string endDetails(const ProcessEnd& end, const std::string& why) {
  constexpr std::size_t kLastBytes = 2000;
  JsonWriter out;
  out.beginObject();
  if (!why.empty()) out.field("reason", why);
  out.field("exit_code", end.exit_code).field("exit_signal", end.exit_signal);
  if (!end.output.empty()) {
    std::size_t from = end.output.size() > kLastBytes ? end.output.size() - kLastBytes : 0;
    while (from < end.output.size() && (end.output[from] & 0xc0) == 0x80) ++from;
    out.field("output", std::string_view(end.output).substr(from));
  }
  out.endObject();
  return out.take();
}

}  // namespace

std::string Launches::versionOf(const Pool& pool) const {
  if (!pool.settings.template_name) return {};
  const auto known = s_.rules.templates.find(*pool.settings.template_name);
  return known ? known->version : std::string();
}

LaunchOrder Launches::order(const Pool& pool, Millis start_timeout) {
  LaunchOrder order;
  order.worker = WorkerId("w-" + s_.ids.next(s_.now));
  order.pool = pool.id;
  order.template_name = *pool.settings.template_name;
  order.token = s_.random.token();
  order.registration = s_.now.time_since_epoch().count();
  order.loop = pool.settings.worker_mode == "loop";
  order.stays = order.loop ? keepsWorkers(pool.settings) : *pool.settings.warm_idle > 0;
  const LaunchTemplate made =
      s_.rules.templates.find(order.template_name).value_or(LaunchTemplate());
  s_.db.execute(kOrder, order.worker, pool.id, *pool.settings.worker_mode, s_.rules.host,
                s_.rules.region, writeTexts(made.capabilities), writeTexts(made.executors),
                *pool.settings.slots, s_.now, order.template_name, made.version,
                s_.now + start_timeout, sha256Hex(order.token), orNull(s_.rules.node),
                order.registration);
  Event event;
  event.type = event_type::kWorkerStarting;
  event.pool = pool.id.str();
  event.worker = order.worker.str();
  s_.emit(std::move(event));
  return order;
}

void Launches::started(const WorkerId& worker, const std::string& process_key) {
  const std::int64_t pid = std::strtoll(process_key.c_str(), nullptr, 10);
  s_.db.execute(kStarted, worker, process_key, pid);
}

std::optional<Worker> Launches::notStarted(const WorkerId& id, const std::string& why) {
  return exited(id, ProcessEnd{.output = why});
}

std::optional<Worker> Launches::exited(const WorkerId& id, const ProcessEnd& end) {
  auto worker = Workers(s_).find(id);
  if (!worker) return worker;
  if (s_.db.execute(kExited, id, s_.now, end.exit_code, end.exit_signal, end.max_rss_bytes) == 0) {
    return std::nullopt;  // it was seen to end before
  }
  s_.db.execute(kKeepOutput, id, end.output, end.truncated);
  const bool never_registered = worker->status == worker_status::kStarting;
  if (!worker_status::isEnded(worker->status)) {
    const std::string reason = end.text() + (never_registered ? " before registering" : "");
    FailureReport report;
    report.error = "the worker ended: " + end.text();
    report.exit_code = end.exit_code;
    report.exit_signal = end.exit_signal;
    report.max_rss_bytes = end.max_rss_bytes;
    report.output_tail = end.output;
    const auto held = Jobs(s_).leasesOf(id.str());
    if (worker->status == worker_status::kTerminating) {
      report.no_penalty = true;  // it was asked to stop
    } else if (!held.empty() && chargesTheTemplate(*worker)) {
      report.no_penalty = true;
      failed(*worker, end, "its workers crash on different jobs");
    }
    Workers(s_).end(*worker, worker_status::kTerminated, reason, report);
  } else {
    HeldResources(s_).workerEnded(*worker, true);
  }
  s_.emit(eventOf(event_type::kWorkerExited, *worker, endDetails(end, "")));
  if (end.clean() && worker->jobs_done > 0) forgetCrashes(*worker);
  if (worker->launch_verdict != "open") return worker;
  if (never_registered) {
    failed(*worker, end, "it ended before it registered");
  } else if (!end.clean() && *worker->launched_at > s_.now - kProvesItself) {
    failed(*worker, end, "it ended at once");
  } else {
    s_.db.execute(kVerdict, id, "none");
  }
  return worker;
}

// A crash with a job in hand is the job's fault, until too many different jobs have it.
bool Launches::chargesTheTemplate(const Worker& worker) {
  Record record = load(worker.pool, worker.template_version, hostOf(worker));
  for (const Lease& lease : Jobs(s_).leasesOf(worker.id.str())) {
    const auto& known = record.crashed_jobs;
    if (std::find(known.begin(), known.end(), lease.job.str()) == known.end() &&
        known.size() < kCrashesOfTemplate) {
      record.crashed_jobs.push_back(lease.job.str());
    }
  }
  save(worker.pool, worker.template_version, hostOf(worker), record);
  return record.crashed_jobs.size() >= kCrashesOfTemplate;
}

void Launches::forgetCrashes(const Worker& worker) {
  Record record = load(worker.pool, worker.template_version, hostOf(worker));
  if (record.crashed_jobs.empty()) return;
  record.crashed_jobs.clear();
  save(worker.pool, worker.template_version, hostOf(worker), record);
}

Result<Worker> Launches::admit(const NewWorker& given, const std::string& token) {
  const auto known = given.id.empty() ? std::nullopt : Workers(s_).find(given.id);
  const bool launched = known && known->launched_at;
  const bool reserved = launched && !worker_status::isEnded(known->status);
  if (token.empty()) {
    if (!launched) return Workers(s_).registerWorker(given);
    if (!reserved) {
      return fail(ErrorCode::kGone, "'" + given.id.str() +
                                        "' was launched and has ended: stop, or register with "
                                        "another id");
    }
    return fail(ErrorCode::kWorkerIdTaken,
                "'" + given.id.str() +
                    "' is the id of a launched worker; its launch token is "
                    "missing, or choose another id");
  }
  const auto refuse = [](const std::string& why) { return fail(ErrorCode::kGone, why + ": stop"); };
  if (!reserved) return refuse("this launch is over");
  if (!constantTimeEqual(known->launch_token_hash, sha256Hex(token))) {
    return refuse("the launch token is not the one of this worker");
  }
  if (known->status != worker_status::kStarting) {
    // The answer to its first registration may have been lost.
    if (known->pid == given.pid && known->host == given.host) return *known;
    return refuse("the launch token was used already");
  }
  if (*known->start_deadline < s_.now) {
    return refuse("the launch token expired at " + formatTime(*known->start_deadline));
  }
  s_.db.execute(
      kAdmit, given.id, given.mode.empty() ? known->mode : given.mode,
      given.host.empty() ? known->host : given.host,
      given.region.empty() ? s_.rules.region : given.region, given.pid ? given.pid : known->pid,
      writeTexts(united(known->capabilities, given.capabilities)),
      writeTexts(united(known->executor_types, given.executor_types)), given.slots,
      given.started_at.value_or(s_.now), s_.now, given.metadata.empty() ? "{}" : given.metadata);
  const Worker worker = *Workers(s_).find(given.id);
  Event registered = eventOf(event_type::kWorkerRegistered, worker);
  registered.took = s_.now - *worker.launched_at;
  s_.emit(std::move(registered));
  return worker;
}

void Launches::tookAJob(const WorkerId& worker) {
  s_.lockLimits();  // claims at the same time may prove launches of the same template
  if (const auto found = Workers(s_).find(worker)) succeeded(*found);
}

std::int64_t Launches::judgeSurvivors(int limit) {
  std::vector<WorkerId> survivors;
  {
    auto rows = s_.db.query(kSurvivors, s_.now - kProvesItself, limit);
    while (rows.next()) survivors.emplace_back(rows->string(0));
  }
  for (const WorkerId& id : survivors) tookAJob(id);
  return static_cast<std::int64_t>(survivors.size());
}

std::int64_t Launches::giveUpStarting(int limit) {
  std::vector<WorkerId> late;
  {
    auto rows = s_.db.query(kLate, s_.now, limit);
    while (rows.next()) late.emplace_back(rows->string(0));
  }
  for (const WorkerId& id : late) {
    const auto worker = Workers(s_).find(id);
    Workers(s_).end(*worker, worker_status::kLost, "did not register in time");
    failed(*worker, {}, "it did not register in time");
  }
  return static_cast<std::int64_t>(late.size());
}

void Launches::drainHost() {
  WorkerChange change;
  change.status = std::string(worker_status::kTerminating);
  for (const RunningProcess& process : running()) {
    if (!worker_status::isEnded(process.status)) Workers(s_).change(process.worker, change).value();
  }
}

std::vector<RunningProcess> Launches::running() {
  std::vector<RunningProcess> processes;
  auto rows = s_.db.query(kRunning, s_.rules.host, s_.rules.node);
  while (rows.next()) {
    processes.push_back({WorkerId(rows->string(0)), rows->string(1), rows->string(2)});
  }
  return processes;
}

std::vector<RunningProcess> Launches::localWorkers(int limit) {
  std::vector<RunningProcess> processes;
  auto rows = s_.db.query(kLocal, s_.rules.host, limit);
  while (rows.next()) processes.push_back({WorkerId(rows->string(0)), rows->string(1)});
  return processes;
}

std::vector<RunningProcess> Launches::orphans(int limit) {
  std::vector<RunningProcess> processes;
  auto rows = s_.db.query(kOrphans, s_.rules.host, limit);
  while (rows.next()) processes.push_back({WorkerId(rows->string(0)), rows->string(1)});
  return processes;
}

void Launches::proveDead(const WorkerId& id) {
  const auto worker = Workers(s_).find(id);
  if (!worker || worker_status::isEnded(worker->status)) return;
  Workers(s_).end(*worker, worker_status::kLost, "its process is gone", {}, true);
}

LaunchRecord Launches::record(const Pool& pool) {
  return load(pool.id.str(), versionOf(pool), s_.rules.host).launches;
}

void Launches::resume(const Pool& pool) {
  Record record = load(pool.id.str(), versionOf(pool), s_.rules.host);
  if (record.launches.failures == 0 && !record.launches.suspended) return;
  record.launches.failures = 0;
  record.launches.retry_at.reset();
  record.launches.suspended = false;
  record.crashed_jobs.clear();
  save(pool.id.str(), versionOf(pool), s_.rules.host, record);
}

// What other nodes learn about a launch counts where it was launched. The worker itself may call
// its host by another name than we do.
const std::string& Launches::hostOf(const Worker& worker) const {
  return worker.node == s_.rules.node ? s_.rules.host : worker.host;
}

Launches::Record Launches::load(const std::string& pool, const std::string& version,
                                const std::string& host) {
  Record record;
  auto rows = s_.db.query(kFindLaunchRecord, pool, version, host);
  if (!rows.next()) return record;
  record.launches = {rows->integer(0), rows->integer(1), rows->maybeTime(2), rows->integer(3) != 0};
  record.crashed_jobs = parseTexts(rows->text(4));
  return record;
}

void Launches::save(const std::string& pool, const std::string& version, const std::string& host,
                    const Record& record) {
  const LaunchRecord& launches = record.launches;
  s_.db.execute(kSaveRecord, pool, version, host, launches.failures, launches.successes,
                launches.retry_at, launches.suspended, writeTexts(record.crashed_jobs));
}

void Launches::succeeded(const Worker& worker) {
  if (worker.launch_verdict != "open") return;
  s_.db.execute(kVerdict, worker.id, "ok");
  Record record = load(worker.pool, worker.template_version, hostOf(worker));
  const LaunchRecord before = std::exchange(record.launches, afterSuccess(record.launches));
  if (record.launches == before) return;
  save(worker.pool, worker.template_version, hostOf(worker), record);
}

void Launches::failed(const Worker& worker, const ProcessEnd& end, const std::string& why) {
  s_.db.execute(kVerdict, worker.id, "failed");
  const auto pool = Pools(s_).find(PoolId(worker.pool));
  const PoolSettings& settings = pool ? pool->settings : s_.rules.pool_defaults;
  const LaunchRules rules{Seconds(*settings.launch_backoff_base_seconds),
                          Seconds(*settings.launch_backoff_cap_seconds),
                          *settings.launch_suspend_after};
  Record record = load(worker.pool, worker.template_version, hostOf(worker));
  const bool was_suspended = record.launches.suspended;
  record.launches = afterFailure(record.launches, rules, s_.random.unit(), s_.now);
  save(worker.pool, worker.template_version, hostOf(worker), record);
  if (record.launches.suspended && !was_suspended) {
    s_.emit(eventOf(event_type::kPoolLaunchSuspended, worker, endDetails(end, why)));
  }
}

WorkerOutput Launches::output(const WorkerId& worker) {
  auto rows = s_.db.query(kOutput, worker);
  if (!rows.next()) return {};
  return {rows->string(0), rows->integer(1) != 0};
}

void Launches::removeOf(const PoolId& pool) { s_.db.execute(kRemoveRecords, pool); }

}  // namespace muster
