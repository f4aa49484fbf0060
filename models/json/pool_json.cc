#include "models/json/pool_json.h"

#include <map>
#include <type_traits>

#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::size_t kMostSchedules = 100;

std::optional<std::vector<ScheduledFloor>> readSchedules(ObjectReader& in, std::string_view name,
                                                         const FieldRule& rule,
                                                         std::vector<FieldError>& faults) {
  const auto list = in.array(name, 0, kMostSchedules);
  if (!list) return std::nullopt;
  std::vector<ScheduledFloor> schedules;
  for (const JsonValue value : *list) {
    const std::string place = in.pointer(name) + "/" + std::to_string(schedules.size());
    ObjectReader item(value, place, faults);
    ScheduledFloor& floor = schedules.emplace_back();
    floor.cron = item.required("cron", item.text("cron", 1, 200));
    floor.timezone = item.text("timezone", 1, 100).value_or("");
    floor.min_workers = item.required(
        "min_workers", item.integer("min_workers", static_cast<std::int64_t>(rule.min),
                                    static_cast<std::int64_t>(rule.max)));
    item.finish();
  }
  return schedules;
}

std::optional<std::vector<std::string>> readIds(ObjectReader& in, std::string_view name,
                                                const FieldRule& rule,
                                                std::vector<FieldError>& faults) {
  const auto list =
      in.array(name, static_cast<std::size_t>(rule.min), static_cast<std::size_t>(rule.max));
  if (!list) return std::nullopt;
  std::vector<std::string> ids;
  std::size_t index = 0;
  for (auto it = list->begin(); it != list->end(); ++it, ++index) {
    auto id = (*it).string();
    if (id && isValidId(*id)) {
      ids.push_back(*std::move(id));
    } else {
      addFault(faults, {in.pointer(name) + "/" + std::to_string(index), "format",
                        "must be 1 to 128 of A-Z a-z 0-9 . _ ~ : -"});
    }
  }
  return ids;
}

void writeField(JsonWriter& out, std::string_view name, const std::vector<std::string>& ids) {
  out.list(name, ids);
}

void writeField(JsonWriter& out, std::string_view name,
                const std::vector<ScheduledFloor>& schedules) {
  out.key(name).beginArray();
  for (const ScheduledFloor& floor : schedules) {
    out.beginObject().field("cron", floor.cron);
    if (!floor.timezone.empty()) out.field("timezone", floor.timezone);
    out.field("min_workers", floor.min_workers).endObject();
  }
  out.endArray();
}

template <class T>
void writeField(JsonWriter& out, std::string_view name, const T& value) {
  out.field(name, value);
}

template <class T>
std::optional<T> readField(ObjectReader& in, std::string_view name, const FieldRule& rule,
                           std::vector<FieldError>& faults) {
  if constexpr (std::is_same_v<T, bool>) {
    return in.boolean(name);
  } else if constexpr (std::is_same_v<T, double>) {
    return in.number(name, rule.min, rule.max);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return in.integer(name, static_cast<std::int64_t>(rule.min),
                      static_cast<std::int64_t>(rule.max));
  } else if constexpr (std::is_same_v<T, std::vector<ScheduledFloor>>) {
    return readSchedules(in, name, rule, faults);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return readIds(in, name, rule, faults);
  } else if (rule.choices.empty()) {
    return in.id(name);
  } else {
    return in.oneOf(name, rule.choices);
  }
}

// Writes the groups as nested objects; the table lists the fields of a group side by side.
void writeFields(JsonWriter& out, const PoolSettings& settings) {
  std::string_view open_group;
  const auto enter = [&](std::string_view group) {
    if (group == open_group) return;
    if (!open_group.empty()) out.endObject();
    if (!group.empty()) out.key(group).beginObject();
    open_group = group;
  };
  eachPoolField([&](std::string_view group, std::string_view name, auto member, const FieldRule&) {
    if (!(settings.*member)) return;
    enter(group);
    writeField(out, name, *(settings.*member));
  });
  enter("");
}

}  // namespace

PoolSettings readPoolSettings(JsonValue value, std::vector<FieldError>& faults,
                              const std::string& pointer) {
  PoolSettings settings;
  std::map<std::string, ObjectReader, std::less<>> readers;
  ObjectReader& top = readers.emplace("", ObjectReader(value, pointer, faults)).first->second;
  for (const std::string_view group : kPoolGroups) {
    if (const auto nested = top.object(group)) {
      readers.emplace(group, ObjectReader(*nested, top.pointer(group), faults));
    }
  }
  eachPoolField(
      [&](std::string_view group, std::string_view name, auto member, const FieldRule& rule) {
        const auto reader = readers.find(group);
        if (reader == readers.end()) return;
        using Field = typename std::remove_reference_t<decltype(settings.*member)>::value_type;
        settings.*member = readField<Field>(reader->second, name, rule, faults);
      });
  for (auto& [group, reader] : readers) reader.finish();
  return settings;
}

std::string writePoolSettings(const PoolSettings& settings) {
  JsonWriter out;
  out.beginObject();
  writeFields(out, settings);
  out.endObject();
  return out.take();
}

void writePool(JsonWriter& out, const Pool& pool, const LaunchRecord& launches,
               const CircuitRecord& circuit) {
  out.beginObject().field("pool_id", pool.id);
  writeFields(out, pool.settings);
  out.field("launch_state", launchState(launches)).field("launch_failures", launches.failures);
  out.field("launch_retry_at", launches.retry_at);
  out.field("circuit_state", name(circuit.state()));
  out.field("circuit_failures_in_a_row", circuit.failures);
  if (!circuit.error_class.empty()) out.field("circuit_error_class", circuit.error_class);
  if (circuit.state() == CircuitState::kOpen) out.field("circuit_probe_at", circuit.probe_at);
  out.field("version", pool.version);
  out.field("created_at", pool.created_at).field("updated_at", pool.updated_at).endObject();
}

void writePoolStats(JsonWriter& out, const PoolId& pool, const PoolStats& stats) {
  out.beginObject().field("pool_id", pool);
  out.field("queue_depth", stats.pending).field("runnable", stats.runnable);
  out.field("unplaceable", stats.unplaceable);
  out.field("pinned", stats.pinned).field("pinned_waiting", stats.pinned_waiting);
  out.field("delayed", stats.delayed).field("blocked", stats.blocked);
  out.field("claimed", stats.claimed).field("done", stats.done);
  out.field("poisoned", stats.poisoned).field("cancelled", stats.cancelled);
  out.field("starting_workers", stats.starting_workers);
  out.field("active_workers", stats.active_workers).field("busy_workers", stats.busy_workers);
  out.field("idle_workers", stats.idle_workers);
  out.field("terminating_workers", stats.terminating_workers);
  out.field("lost_workers", stats.lost_workers);
  out.field("oldest_pending_seconds", stats.oldest_pending_seconds);
  out.field("p95_wait_ms", stats.p95_wait_ms).endObject();
}

}  // namespace muster
