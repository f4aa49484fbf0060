#include "app/cli/decision_view.h"

#include <algorithm>

namespace muster {
namespace {

constexpr const char* kMark = "← binds";

using Pair = std::pair<std::string, std::string>;

std::vector<Pair> pairsOf(JsonValue decision, const char* name) {
  std::vector<Pair> pairs;
  const auto object = member(decision, name);
  if (!object || !object->isObject()) return pairs;
  for (auto it = object->begin(); !(it == object->end()); ++it) {
    pairs.emplace_back(it.key(), (*it).raw());
  }
  return pairs;
}

// Some stand among the limits under another name.
std::string limitField(const std::string& binding) {
  if (binding == "cooldown") return "scale_decision_interval_ms";
  return binding == "launch_rate" ? "launch_tokens" : binding;
}

bool isLimit(const std::string& binding) {
  return !binding.empty() && binding != "demand" && binding != "no_demand";
}

Tint tintOfLimit(const std::string& binding) {
  if (binding == "breaker" || binding == "no_template" || binding == "unknown_state") {
    return Tint::kBad;
  }
  return isLimit(binding) ? Tint::kBusy : Tint::kNone;
}

Tint tintOfDirection(const std::string& direction) {
  if (direction == "up") return Tint::kGood;
  return direction == "down" ? Tint::kBusy : Tint::kFaint;
}

Cell directionOf(JsonValue decision) {
  const std::string direction = textOf(decision, "direction");
  return {direction, tintOfDirection(direction)};
}

Cell limitOf(JsonValue decision) {
  const std::string binding = textOf(decision, "binding_limit");
  return {binding, tintOfLimit(binding)};
}

// A line for each placement that keeps jobs waiting; empty when none does. Nothing is cut: it is
// what somebody has to act upon.
std::string unplaceableTable(JsonValue decision, std::size_t width, bool color) {
  Table table(
      {{.title = "UNPLACEABLE", .is_number = true}, {.title = "BECAUSE"}, {.title = "PLACEMENT"}});
  for (const auto& jobs : itemsOf(decision, "unplaceable")) {
    const auto placement = member(jobs, "placement");
    table.add({Cell(textOf(jobs, "count"), Tint::kBad), textOf(jobs, "reason"),
               placement ? std::string(placement->raw()) : ""});
  }
  return table.empty() ? "" : "\n" + table.render(width, color);
}

}  // namespace

std::string decisionText(JsonValue decision, std::size_t width, bool color) {
  const auto inputs = pairsOf(decision, "inputs");
  auto limits = pairsOf(decision, "limits");
  const std::string binding = textOf(decision, "binding_limit");
  const std::string bound = isLimit(binding) ? limitField(binding) : "";
  const auto is_bound = [&bound](const Pair& limit) { return limit.first == bound; };
  if (!bound.empty() && std::none_of(limits.begin(), limits.end(), is_bound)) {
    limits.emplace_back(bound, "");
  }
  Table table({{.title = "INPUT"},
               {.title = "NOW", .is_number = true},
               {.title = "LIMIT"},
               {.title = "VALUE", .is_number = true},
               {.title = ""}});
  for (std::size_t i = 0; i < std::max(inputs.size(), limits.size()); ++i) {
    const Pair input = i < inputs.size() ? inputs[i] : Pair();
    const Pair limit = i < limits.size() ? limits[i] : Pair();
    const bool binds = !bound.empty() && limit.first == bound;
    const Tint tint = binds ? tintOfLimit(binding) : Tint::kNone;
    table.add({input.first, input.second, Cell(limit.first, tint), Cell(limit.second, tint),
               Cell(binds ? kMark : "", tint)});
  }
  return printable(textOf(decision, "reason")) + "\n\n" + table.render(width, color) +
         unplaceableTable(decision, width, color);
}

std::string adaptiveText(JsonValue explanation, bool color) {
  std::vector<std::pair<std::string, Cell>> pairs;
  pairs.emplace_back("direction", directionOf(explanation));
  pairs.emplace_back("workers", textOf(explanation, "current_workers") + " → " +
                                    textOf(explanation, "desired_workers"));
  const auto list = [&](const char* name, const char* title) {
    for (const auto& reason : itemsOf(explanation, name)) {
      pairs.emplace_back(title, reason.string().value_or(""));
    }
  };
  list("up_reasons", "for more");
  list("down_blockers", "against fewer");
  if (const auto cooldown = member(explanation, "cooldown")) {
    const std::string skew = textOf(*cooldown, "clock_skew_ms");
    if (textOf(*cooldown, "active") == "true") {
      pairs.emplace_back("cooldown", textOf(*cooldown, "remaining_ms") + " ms left");
    }
    if (!skew.empty()) {
      pairs.emplace_back("clock", Cell("the last action lies " + skew + " ms ahead", Tint::kBad));
    }
  }
  for (const auto& [name, value] : pairsOf(explanation, "config")) pairs.emplace_back(name, value);
  return printable(textOf(explanation, "reason")) + "\n\n" + renderPairs(pairs, color);
}

Table decisionTable(const std::vector<JsonValue>& decisions) {
  Table table({{.title = "AT"},
               {.title = "TRIGGER"},
               {.title = "DIRECTION"},
               {.title = "LAUNCHED", .is_number = true},
               {.title = "LIMIT"},
               {.title = "REASON", .can_shrink = true}});
  for (const auto& decision : decisions) {
    table.add({textOf(decision, "at"), textOf(decision, "trigger"), directionOf(decision),
               textOf(decision, "launched"), limitOf(decision), textOf(decision, "reason")});
  }
  return table;
}

Table checkedPoolsTable(const std::vector<JsonValue>& decisions) {
  Table table({{.title = "POOL", .can_shrink = true},
               {.title = "DIRECTION"},
               {.title = "WORKERS", .is_number = true},
               {.title = "TO LAUNCH", .is_number = true},
               {.title = "LIMIT"},
               {.title = "REASON", .can_shrink = true}});
  for (const auto& decision : decisions) {
    table.add({textOf(decision, "pool_id"), directionOf(decision),
               textOf(decision, "current_workers"), textOf(decision, "to_launch"),
               limitOf(decision), textOf(decision, "reason")});
  }
  return table;
}

}  // namespace muster
