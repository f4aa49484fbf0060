#include "app/cli/timeline_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/cli/relative_time.h"

namespace muster {
namespace {

constexpr double kTimelineBarWidth = 12;

double number(JsonValue item, std::string_view name) {
  const std::string text = textOf(item, name);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Eighths of a place, so that a short bar still tells a little from nothing.
std::string bar(double value, double most) {
  static constexpr const char* kPieces[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (value <= 0 || most <= 0) return "";
  const auto eighths =
      std::max(1, static_cast<int>(std::lround(value / most * kTimelineBarWidth * 8)));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + kPieces[eighths % 8];
}

std::string orDash(const std::string& text) { return text == "0" ? "-" : text; }

std::string timeText(JsonValue item, std::string_view name) {
  const double ms = number(item, name);
  if (ms <= 0) return "-";
  if (ms >= 1000 && ms < 60'000) return fmt::format("{:.1f}s", ms / 1000);
  return durationText(Millis(std::llround(ms)));
}

// 2026-01-15 09:28:00
std::string clockText(JsonValue item) {
  std::string text = textOf(item, "at").substr(0, 19);
  std::replace(text.begin(), text.end(), 'T', ' ');
  return text;
}

}  // namespace

Table timelineTable(JsonValue timeline) {
  Table table({{.title = "FROM (UTC)"},
               {.title = "QUEUE", .is_number = true},
               {.title = ""},
               {.title = "WORKERS", .is_number = true},
               {.title = "BUSY", .is_number = true},
               {.title = "ADDED", .is_number = true},
               {.title = "DONE", .is_number = true},
               {.title = "FAILED", .is_number = true},
               {.title = "WAIT P50", .is_number = true},
               {.title = "WAIT P95", .is_number = true},
               {.title = "RUN P95", .is_number = true}});
  const auto items = itemsOf(timeline, "items");
  double most = 0;
  for (const auto& item : items) most = std::max(most, number(item, "peak_queue_depth"));
  for (const auto& item : items) {
    const double failed = number(item, "failed") + number(item, "poisoned");
    table.add(
        {clockText(item), orDash(textOf(item, "peak_queue_depth")),
         Cell(bar(number(item, "peak_queue_depth"), most), Tint::kBusy),
         orDash(textOf(item, "workers")), orDash(textOf(item, "busy_workers")),
         orDash(textOf(item, "added")), orDash(textOf(item, "done")),
         Cell(orDash(std::to_string(std::llround(failed))), failed > 0 ? Tint::kBad : Tint::kNone),
         timeText(item, "wait_p50_ms"), timeText(item, "wait_p95_ms"),
         timeText(item, "run_p95_ms")});
  }
  return table;
}

}  // namespace muster
