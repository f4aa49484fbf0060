#include "app/cli/resource_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/cli/relative_time.h"

namespace muster {
namespace {

constexpr std::size_t kJobIdLength = 26;  // of the ids that the service makes

std::string sizeText(JsonValue value) {
  const auto found = member(value, "size_bytes");
  const auto bytes = found ? found->integer() : std::nullopt;
  return bytes && *bytes >= 0 ? bytesText(static_cast<std::uint64_t>(*bytes)) : "";
}

Cell stateCell(JsonValue resource) {
  const std::string state = textOf(resource, "state");
  const Tint tint = state == "active"                           ? Tint::kGood
                    : state == "lost" || state == "stale"       ? Tint::kBad
                    : state == "evicting" || state == "evicted" ? Tint::kFaint
                                                                : Tint::kBusy;
  return {state, tint};
}

}  // namespace

std::string bytesText(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024 && unit + 1 < kUnits.size()) {
    number /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", number, kUnits[unit]);
}

Table resourceTable(const std::vector<JsonValue>& resources, const std::optional<Time>& now) {
  Table table({{.title = "RESOURCE", .can_shrink = true},
               {.title = "TYPE", .can_shrink = true},
               {.title = "HOLDER", .can_shrink = true},
               {.title = "STATE"},
               {.title = "SIZE", .is_number = true},
               {.title = "REFS", .is_number = true},
               {.title = "USED"},
               {.title = "SCOPE", .can_shrink = true}});
  for (const auto& resource : resources) {
    const auto used = timeOf(resource, "last_used_at");
    table.add({textOf(resource, "resource_id"), textOf(resource, "type"),
               textOf(resource, "holder"), stateCell(resource), sizeText(resource),
               textOf(resource, "ref_count"),
               used && now ? relativeTime(*used, *now) : textOf(resource, "last_used_at"),
               textOf(resource, "scope")});
  }
  return table;
}

Table artifactTable(const std::vector<JsonValue>& artifacts) {
  Table table({{.title = "NAME", .can_shrink = true},
               {.title = "TYPE", .can_shrink = true},
               {.title = "SIZE", .is_number = true},
               {.title = "VALUE OR RESOURCE", .can_shrink = true}});
  for (const auto& artifact : artifacts) {
    const auto value = member(artifact, "value");
    table.add({textOf(artifact, "name"), textOf(artifact, "type"), sizeText(artifact),
               value ? std::string(value->raw()) : textOf(artifact, "resource_id")});
  }
  return table;
}

WantedContent wantedContent(const std::string& what) {
  const auto slash = what.find('/');
  const auto is_of_id = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); };
  if (slash != kJobIdLength || !std::all_of(what.begin(), what.begin() + kJobIdLength, is_of_id)) {
    return {"", what};
  }
  return {what.substr(0, slash), what.substr(slash + 1)};
}

}  // namespace muster
