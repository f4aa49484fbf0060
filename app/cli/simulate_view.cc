#include "app/cli/simulate_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/relative_time.h"
#include "app/cli/table.h"

namespace muster {
namespace {

std::string asIs(JsonValue figures, const char* name) { return textOf(figures, name); }

std::string asWait(JsonValue figures, const char* name) {
  const auto value = member(figures, name);
  const auto millis = value ? value->integer() : std::nullopt;
  return millis ? durationText(Millis(*millis)) : "";
}

std::string asDuration(JsonValue figures, const char* name) {
  const auto value = member(figures, name);
  const auto seconds = value ? value->number() : std::nullopt;
  return seconds ? durationText(Millis(static_cast<std::int64_t>(*seconds * 1000))) : "";
}

struct Line {
  const char* title;
  const char* field;
  std::string (*show)(JsonValue figures, const char* name);
};

constexpr Line kLines[] = {
    {"launches", "launches", asIs},           {"worker time", "worker_seconds", asDuration},
    {"wait p50", "p50_wait_ms", asWait},      {"wait p95", "p95_wait_ms", asWait},
    {"wait max", "max_wait_ms", asWait},      {"peak workers", "peak_workers", asIs},
    {"wasted starts", "wasted_starts", asIs}, {"unfinished jobs", "unfinished_jobs", asIs},
    {"finished at", "finished_at", asIs}};

}  // namespace

std::string simulationText(const std::vector<TriedPolicy>& tried, std::size_t width, bool color) {
  if (tried.empty()) return "";
  const JsonValue first = tried.front().answer;
  std::string text = fmt::format("{} jobs, {} tries from {} to {}\n", textOf(first, "jobs"),
                                 textOf(first, "tries"), printable(textOf(first, "from")),
                                 printable(textOf(first, "to")));
  std::vector<Column> columns = {{.title = ""}, {.title = "RECORDED", .is_number = true}};
  for (const TriedPolicy& policy : tried) {
    columns.push_back({.title = printable(policy.title), .is_number = true});
  }
  Table table(columns);
  for (const Line& line : kLines) {
    std::vector<Cell> cells = {line.title};
    const auto show = [&](JsonValue answer, const char* side) {
      const auto figures = member(answer, side);
      const std::string shown = figures ? line.show(*figures, line.field) : "";
      cells.emplace_back(shown.empty() ? "-" : shown);
    };
    show(first, "recorded");
    for (const TriedPolicy& policy : tried) show(policy.answer, "simulated");
    table.add(std::move(cells));
  }
  text += "\n" + table.render(width, color) + "\n";
  const auto note_of = [](const TriedPolicy& policy) {
    return printable(textOf(policy.answer, "note"));
  };
  const bool all_say_the_same = std::all_of(tried.begin(), tried.end(), [&](const auto& policy) {
    return note_of(policy) == note_of(tried.front());
  });
  if (all_say_the_same) return text + note_of(tried.front()) + "\n";
  for (const TriedPolicy& policy : tried) {
    text += fmt::format("{}: {}\n", printable(policy.title), note_of(policy));
  }
  return text;
}

}  // namespace muster
