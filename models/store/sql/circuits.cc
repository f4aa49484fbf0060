#include "models/store/sql/circuits.h"

#include <utility>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

#define MUSTER_SELECT_CIRCUIT                                                                  \
  "SELECT error_class, error, failures, recent, opened_at, probe_at, wait_ms, probe, pool_id " \
  "FROM circuits"
constexpr Sql kFindCircuit{MUSTER_SELECT_CIRCUIT " WHERE pool_id = $1"};
constexpr Sql kAllCircuits{MUSTER_SELECT_CIRCUIT};
constexpr Sql kSaveCircuit{
    "INSERT INTO circuits (pool_id, error_class, error, failures, recent, opened_at, probe_at, "
    "wait_ms, probe) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
    "ON CONFLICT (pool_id) DO UPDATE SET error_class = excluded.error_class, "
    "error = excluded.error, failures = excluded.failures, recent = excluded.recent, "
    "opened_at = excluded.opened_at, probe_at = excluded.probe_at, wait_ms = excluded.wait_ms, "
    "probe = excluded.probe"};
constexpr Sql kDeleteCircuit{"DELETE FROM circuits WHERE pool_id = $1"};

std::string writeTimes(const std::vector<Time>& times) {
  JsonWriter out;
  out.beginArray();
  for (const Time time : times) out.value(toMillis(time));
  out.endArray();
  return out.take();
}

std::vector<Time> parseTimes(std::string_view text) {
  std::vector<Time> times;
  const auto doc = JsonDoc::parse(text);
  if (!doc) return times;
  for (const JsonValue value : doc->root())
    times.push_back(fromMillis(value.integer().value_or(0)));
  return times;
}

CircuitRecord readRecord(const SqlRows& row) {
  CircuitRecord record;
  record.error_class = row.string(0);
  record.error = row.string(1);
  record.failures = row.integer(2);
  record.recent = parseTimes(row.text(3));
  record.opened_at = row.maybeTime(4);
  record.probe_at = row.time(5);
  record.wait = Millis(row.integer(6));
  record.probe = JobId(row.string(7));
  return record;
}

Event eventOf(std::string_view type, const PoolId& pool, JsonWriter& details) {
  Event event;
  event.type = type;
  event.pool = pool.str();
  event.details = details.endObject().take();
  return event;
}

}  // namespace

CircuitRules Circuits::rulesOf(const Pool& pool) {
  const PoolSettings& given = pool.settings;
  return {*given.circuit_failures, Seconds(*given.circuit_window_seconds),
          Seconds(*given.circuit_probe_seconds), Seconds(*given.circuit_probe_cap_seconds)};
}

CircuitRecord Circuits::find(const Pool& pool) {
  if (!isOn(pool)) return {};
  auto rows = s_.db.query(kFindCircuit, pool.id);
  return rows.next() ? aged(readRecord(*rows), rulesOf(pool), s_.now) : CircuitRecord();
}

Session::KnownCircuit& Circuits::entry(const PoolId& pool) {
  if (!s_.circuits) {
    s_.circuits.emplace();
    auto rows = s_.db.query(kAllCircuits);
    while (rows.next()) (*s_.circuits)[rows->string(8)].record = readRecord(*rows);
  }
  return (*s_.circuits)[pool.str()];
}

const CircuitRecord& Circuits::known(const PoolId& pool) { return entry(pool).record; }

const CircuitRecord& Circuits::hold(const PoolId& pool) {
  Session::KnownCircuit& circuit = entry(pool);
  if (s_.db.hasPeers() && std::exchange(circuit.held_by, s_.transaction) != s_.transaction) {
    s_.lockLimits();
    auto rows = s_.db.query(kFindCircuit, pool);
    circuit.record = rows.next() ? readRecord(*rows) : CircuitRecord();
  }
  return circuit.record;
}

void Circuits::save(const PoolId& pool, CircuitRecord record) {
  CircuitRecord& before = entry(pool).record;
  if (record == before) return;
  if (record.isClean()) {
    s_.db.post(kDeleteCircuit, pool);
  } else {
    s_.db.post(kSaveCircuit, pool, record.error_class, record.error, record.failures,
               writeTimes(record.recent), record.opened_at, record.probe_at, record.wait.count(),
               orNull(record.probe.str()));
  }
  // One more failure of a circuit that is closed is seen by whoever holds it; others need not know.
  if (record.state() != before.state() || record.isClean() != before.isClean()) {
    s_.circuitsChanged();
  }
  before = std::move(record);
}

std::optional<Time> Circuits::nextProbe(const Pool& pool) {
  if (!isOn(pool) || known(pool.id).state() != CircuitState::kOpen) return std::nullopt;
  return known(pool.id).probe_at;
}

std::optional<std::int64_t> Circuits::allows(const Pool& pool) {
  if (!isOn(pool)) return std::nullopt;
  const auto allowed = circuitAllowance(known(pool.id), s_.now);
  return allowed == 1 ? circuitAllowance(hold(pool.id), s_.now) : allowed;
}

void Circuits::probes(const Pool& pool, const JobId& job) {
  CircuitRecord record = hold(pool.id);
  record.probe = job;
  save(pool.id, std::move(record));
}

std::string Circuits::obstacle(const Pool& pool) {
  const CircuitRecord& record = known(pool.id);
  const std::string why = "the pool's circuit is open after " + std::to_string(record.failures) +
                          " failures in a row (" + record.error_class + "); ";
  return record.state() == CircuitState::kProbing
             ? why + "job " + record.probe.str() + " is tried first"
             : why + "the next job is tried at " + formatTime(record.probe_at);
}

std::optional<CircuitVerdict> Circuits::judge(const Pool& pool, const JobId& job,
                                              std::string_view error_class,
                                              std::string_view error) {
  if (!isOn(pool)) return std::nullopt;
  return judgeCircuit(hold(pool.id), rulesOf(pool), job, error_class, error, s_.now);
}

void Circuits::failed(const PoolId& pool, CircuitVerdict verdict) {
  const CircuitRecord& before = hold(pool);
  const bool again = before.opened_at && !verdict.closed;
  if (verdict.closed) tellClosed(pool, before, "other_error");
  if (verdict.opened) tellOpened(pool, verdict.record, again);
  save(pool, std::move(verdict.record));
}

void Circuits::succeeded(const PoolId& pool) {
  if (!known(pool).isClean()) reset(pool, "success");
}

void Circuits::gaveBack(const PoolId& pool, const JobId& job) {
  if (known(pool).probe == job) save(pool, withoutProbe(hold(pool), job));
}

void Circuits::reset(const PoolId& pool, std::string_view reason) {
  const CircuitRecord before = hold(pool);
  if (before.opened_at) tellClosed(pool, before, reason);
  save(pool, {});
}

void Circuits::removeOf(const PoolId& pool) {
  hold(pool);
  save(pool, {});
}

void Circuits::tellOpened(const PoolId& pool, const CircuitRecord& record, bool again) {
  JsonWriter details;
  details.beginObject().field("error_class", record.error_class);
  details.field("failures", record.failures).field("error", record.error);
  details.field("probe_at", record.probe_at).field("probe_failed", again);
  s_.emit(eventOf(event_type::kPoolCircuitOpened, pool, details));
}

void Circuits::tellClosed(const PoolId& pool, const CircuitRecord& before,
                          std::string_view reason) {
  JsonWriter details;
  details.beginObject().field("error_class", before.error_class);
  details.field("failures", before.failures).field("error", before.error);
  details.field("opened_at", before.opened_at).field("reason", reason);
  s_.emit(eventOf(event_type::kPoolCircuitClosed, pool, details));
}

}  // namespace muster
