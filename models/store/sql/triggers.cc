#include "models/store/sql/triggers.h"

#include <algorithm>

#include "models/json/trigger_json.h"

namespace muster {
namespace {

constexpr auto kKeepDeliveries = std::chrono::hours(24);

#define MUSTER_SELECT_TRIGGER                                                                \
  "SELECT name, spec, configured, version, created_at, updated_at, due_from, last_fired_at " \
  "FROM triggers "

constexpr Sql kFindTrigger{MUSTER_SELECT_TRIGGER "WHERE name = $1"};
constexpr Sql kAllTriggers{MUSTER_SELECT_TRIGGER "ORDER BY name"};
constexpr Sql kCountTriggers{"SELECT count(*) FROM triggers"};
constexpr Sql kFingerprint{
    "SELECT count(*), CAST(coalesce(sum(version), 0) AS BIGINT), coalesce(max(updated_at), 0) "
    "FROM triggers"};
constexpr Sql kInsertTrigger{
    "INSERT INTO triggers (name, spec, configured, version, created_at, updated_at, due_from) "
    "VALUES ($1, $2, $3, 1, $4, $4, $4)"};
constexpr Sql kUpdateTrigger{
    "UPDATE triggers SET spec = $2, configured = $3, version = version + 1, updated_at = $4, "
    "due_from = $5 WHERE name = $1 AND version = $6"};
constexpr Sql kDeleteTrigger{"DELETE FROM triggers WHERE name = $1"};
constexpr Sql kFired{
    "UPDATE triggers SET last_fired_at = $2 "
    "WHERE name = $1 AND (last_fired_at IS NULL OR last_fired_at < $2)"};
constexpr Sql kFiredOnSchedule{
    "UPDATE triggers SET last_fired_at = $3, due_from = $3 WHERE name = $1 AND due_from = $2"};
constexpr Sql kFindDelivery{
    "SELECT run_id FROM hook_deliveries "
    "WHERE trigger_name = $1 AND delivery = $2 AND expires_at > $3"};
constexpr Sql kRecordHookMessage{
    "INSERT INTO hook_deliveries (trigger_name, delivery, run_id, expires_at) "
    "VALUES ($1, $2, $3, $4) ON CONFLICT (trigger_name, delivery) "
    "DO UPDATE SET run_id = excluded.run_id, expires_at = excluded.expires_at"};
constexpr Sql kRemoveDeliveries{
    "DELETE FROM hook_deliveries WHERE (trigger_name, delivery) IN "
    "(SELECT trigger_name, delivery FROM hook_deliveries WHERE expires_at <= $1 "
    "ORDER BY expires_at LIMIT $2)"};

Trigger readTriggerRow(const SqlRows& row) {
  Trigger trigger;
  trigger.spec = unpackTrigger(row.string(0), row.text(1));
  trigger.configured = row.integer(2) != 0;
  trigger.spec.input.allow_private &= trigger.configured;  // nobody else may say so
  trigger.version = row.integer(3);
  trigger.created_at = row.time(4);
  trigger.updated_at = row.time(5);
  trigger.due_from = row.time(6);
  trigger.last_fired_at = row.maybeTime(7);
  return trigger;
}

Status checkChange(const Trigger& trigger, IfVersion if_version) {
  if (trigger.configured) {
    return fail(ErrorCode::kTriggerConfigured,
                "the trigger '" + trigger.spec.name +
                    "' stands in the configuration; change it there and restart the service");
  }
  if (versionFits(if_version, trigger.version)) return {};
  return fail(ErrorCode::kVersionMismatch,
              "the trigger is at version " + std::to_string(trigger.version));
}

}  // namespace

std::optional<Trigger> Triggers::find(const std::string& name) {
  auto rows = s_.db.query(kFindTrigger, name);
  return rows.next() ? std::optional(readTriggerRow(*rows)) : std::nullopt;
}

std::vector<Trigger> Triggers::all() {
  std::vector<Trigger> triggers;
  auto rows = s_.db.query(kAllTriggers);
  while (rows.next()) triggers.push_back(readTriggerRow(*rows));
  return triggers;
}

std::string Triggers::fingerprint() {
  auto rows = s_.db.query(kFingerprint);
  if (!rows.next()) return {};
  return std::to_string(rows->integer(0)) + " " + std::to_string(rows->integer(1)) + " " +
         std::to_string(rows->integer(2));
}

void Triggers::save(const TriggerSpec& spec, bool configured, const std::optional<Trigger>& old) {
  const std::string text = packTrigger(spec);
  if (!old) {
    s_.db.execute(kInsertTrigger, spec.name, text, configured, s_.now);
    return;
  }
  // A schedule that was changed, or stood still, is not made up for.
  const bool goes_on = old->spec.schedule == spec.schedule && old->spec.timezone == spec.timezone &&
                       old->spec.enabled;
  s_.db.execute(kUpdateTrigger, spec.name, text, configured, s_.now,
                goes_on ? old->due_from : s_.now, old->version);
}

Result<Triggers::Saved> Triggers::put(const TriggerSpec& spec, IfVersion if_version) {
  const auto old = find(spec.name);
  if (!old) {
    if (if_version) return fail(ErrorCode::kVersionMismatch, "the trigger does not exist yet");
    auto rows = s_.db.query(kCountTriggers);
    if (rows.next() && rows->integer(0) >= kMost) {
      return fail(ErrorCode::kTooMany, "there are " + std::to_string(kMost) + " triggers already");
    }
  } else if (auto ok = checkChange(*old, if_version); !ok) {
    return tl::unexpected(std::move(ok).error());
  } else if (old->spec == spec) {
    return Saved{*old, false};
  }
  save(spec, false, old);
  return Saved{*find(spec.name), !old};
}

Status Triggers::remove(const std::string& name, IfVersion if_version) {
  const auto trigger = find(name);
  if (!trigger) return fail(ErrorCode::kNotFound, "there is no trigger '" + name + "'");
  if (auto ok = checkChange(*trigger, if_version); !ok) return ok;
  s_.db.execute(kDeleteTrigger, name);
  return {};
}

void Triggers::replaceConfigured(const std::vector<TriggerSpec>& specs) {
  for (const Trigger& trigger : all()) {
    const bool stays = std::any_of(specs.begin(), specs.end(), [&](const TriggerSpec& spec) {
      return spec.name == trigger.spec.name;
    });
    if (trigger.configured && !stays) s_.db.execute(kDeleteTrigger, trigger.spec.name);
  }
  for (const TriggerSpec& spec : specs) {
    const auto old = find(spec.name);
    if (old && old->configured && old->spec == spec) continue;
    save(spec, true, old);
  }
}

void Triggers::emitFired(const std::string& name, const std::string& run_id,
                         const std::string& pool, std::int64_t leader_epoch) {
  JsonWriter details;
  details.beginObject().field("trigger", name).field("run_id", run_id);
  if (leader_epoch > 0) details.field("leader_epoch", leader_epoch);
  details.endObject();
  Event event;
  event.type = event_type::kTriggerFired;
  event.pool = pool;
  event.details = details.take();
  s_.emit(std::move(event));
}

void Triggers::fired(const std::string& name, const std::string& run_id, const std::string& pool) {
  touch(name, s_.now);
  emitFired(name, run_id, pool);
}

bool Triggers::firedOnSchedule(const std::string& name, Time due_from, const std::string& run_id,
                               const std::string& pool, std::int64_t leader_epoch) {
  if (s_.db.execute(kFiredOnSchedule, name, due_from, s_.now) == 0) return false;
  emitFired(name, run_id, pool, leader_epoch);
  return true;
}

void Triggers::touch(const std::string& name, Time fired_at) {
  s_.db.execute(kFired, name, fired_at);
}

void Triggers::rejected(const std::string& name, const std::string& why) {
  JsonWriter details;
  details.beginObject().field("trigger", name).field("reason", why).endObject();
  Event event;
  event.type = event_type::kTriggerRejected;
  event.details = details.take();
  s_.emit(std::move(event));
}

std::optional<std::string> Triggers::deliver(const std::string& name, const std::string& delivery,
                                             const std::string& run_id) {
  {
    auto rows = s_.db.query(kFindDelivery, name, delivery, s_.now);
    if (rows.next()) return rows->string(0);
  }
  s_.db.execute(kRecordHookMessage, name, delivery, run_id, s_.now + kKeepDeliveries);
  return std::nullopt;
}

std::int64_t Triggers::removeOldDeliveries(int limit) {
  return s_.db.execute(kRemoveDeliveries, s_.now, limit);
}

}  // namespace muster
