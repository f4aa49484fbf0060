#include "app/client/json_fields.h"

namespace muster {

std::optional<JsonAnswer> JsonAnswer::parse(std::string text) {
  // Deeper than a job's data may be, for the objects around it.
  constexpr JsonLimits kLimits{.depth = 128, .keys_per_object = 1'000'000};
  auto kept = std::make_unique<std::string>(std::move(text));
  auto doc = JsonDoc::parse(*kept, kLimits);
  if (!doc) return std::nullopt;
  return JsonAnswer(std::move(kept), *std::move(doc));
}

std::optional<JsonValue> member(JsonValue value, std::string_view name) {
  if (!value.isObject()) return std::nullopt;
  for (auto it = value.begin(); !(it == value.end()); ++it) {
    if (it.key() != name) continue;
    if ((*it).isNull()) return std::nullopt;
    return *it;
  }
  return std::nullopt;
}

std::string textOf(JsonValue value, std::string_view name) {
  const auto found = member(value, name);
  if (!found) return "";
  return found->string().value_or(std::string(found->raw()));
}

std::optional<Time> timeOf(JsonValue value, std::string_view name) {
  return parseTime(textOf(value, name));
}

std::vector<JsonValue> itemsOf(JsonValue value, std::string_view name) {
  std::vector<JsonValue> items;
  const auto found = member(value, name);
  if (!found || !found->isArray()) return items;
  for (auto it = found->begin(); !(it == found->end()); ++it) items.push_back(*it);
  return items;
}

}  // namespace muster
