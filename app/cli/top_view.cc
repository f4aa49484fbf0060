#include "app/cli/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "app/cli/relative_time.h"
#include "app/cli/table.h"

namespace muster {
namespace {

constexpr std::size_t kLeastWorkerRows = 3;

std::string dashIfZero(std::int64_t number) { return number == 0 ? "-" : std::to_string(number); }

std::string seconds(double value) {
  return value <= 0 ? "-" : durationText(Millis(static_cast<std::int64_t>(value * 1000)));
}

std::string since(const std::optional<Time>& time, const std::optional<Time>& now) {
  if (!time || !now) return "";
  return durationText(std::max(*now - *time, Millis(0)));
}

Tint tintOfLaunches(const std::string& launches) {
  if (launches == "backing_off" || launches == "suspended" || launches.starts_with("circuit")) {
    return Tint::kBad;
  }
  return launches == "no template" ? Tint::kFaint : tintOfStatus(launches);
}

Cell orDash(std::int64_t number, Tint tint) {
  return Cell(dashIfZero(number), number > 0 ? tint : Tint::kNone);
}

// Not every pool has jobs that cannot be placed or wait for others: they have a column only while
// there are any.
Table poolTable(const std::vector<PoolGlance>& pools) {
  const bool any_unplaceable = std::any_of(
      pools.begin(), pools.end(), [](const PoolGlance& pool) { return pool.unplaceable > 0; });
  const bool any_blocked = std::any_of(pools.begin(), pools.end(),
                                       [](const PoolGlance& pool) { return pool.blocked > 0; });
  std::vector<Column> columns = {{.title = "POOL", .can_shrink = true},
                                 {.title = "QUEUE", .is_number = true},
                                 {.title = "RUNNABLE", .is_number = true}};
  if (any_unplaceable) columns.push_back({.title = "UNPLACEABLE", .is_number = true});
  if (any_blocked) columns.push_back({.title = "BLOCKED", .is_number = true});
  for (const char* title :
       {"CLAIMED", "DONE", "POISONED", "START", "BUSY", "IDLE", "END", "MAX", "OLDEST"}) {
    columns.push_back({.title = title, .is_number = true});
  }
  columns.push_back({.title = "LAUNCHES"});
  Table table(std::move(columns));
  for (const auto& pool : pools) {
    std::vector<Cell> row = {pool.pool, std::to_string(pool.queue), std::to_string(pool.runnable)};
    if (any_unplaceable) row.push_back(orDash(pool.unplaceable, Tint::kBad));
    if (any_blocked) row.push_back(orDash(pool.blocked, Tint::kNone));
    row.insert(
        row.end(),
        {orDash(pool.claimed, Tint::kBusy), std::to_string(pool.done),
         orDash(pool.poisoned, Tint::kBad), dashIfZero(pool.starting), dashIfZero(pool.busy),
         dashIfZero(pool.idle), dashIfZero(pool.terminating), pool.max_workers,
         seconds(pool.oldest_pending_seconds), Cell(pool.launches, tintOfLaunches(pool.launches))});
    table.add(std::move(row));
  }
  return table;
}

Tint tintOfWorker(const std::string& status) {
  if (status == "busy") return Tint::kGood;
  return status == "idle" ? Tint::kNone : tintOfStatus(status);
}

Table workerTable(const std::vector<WorkerGlance>& workers, const std::optional<Time>& now) {
  Table table({{.title = "WORKER"},
               {.title = "POOL", .can_shrink = true},
               {.title = "STATUS"},
               {.title = "AGE", .is_number = true},
               {.title = "HEARTBEAT", .is_number = true},
               {.title = "JOB", .can_shrink = true}});
  for (const auto& worker : workers) {
    table.add({worker.worker, worker.pool, Cell(worker.status, tintOfWorker(worker.status)),
               since(worker.started_at, now), since(worker.last_heartbeat, now), worker.job});
  }
  return table;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

// Lines that have to be cut are plain: nothing may fall into an escape.
std::vector<std::string> linesOf(const Table& table, std::size_t width, bool color) {
  auto plain = split(table.render(width, false));
  bool fits = true;
  for (auto& line : plain) {
    if (width == 0 || displayWidth(line) <= width) continue;
    line = fitted(line, width);
    fits = false;
  }
  return color && fits ? split(table.render(width, true)) : plain;
}

std::string cut(std::string line, std::size_t width) {
  return width == 0 ? std::move(line) : fitted(line, width);
}

// Cuts the list to `room` lines, title included, the last of which counts what is left out.
void cutTo(std::vector<std::string>& lines, std::size_t room, std::size_t width, const char* what) {
  if (lines.size() <= room) return;
  const std::size_t kept = room == 0 ? 0 : room - 1;
  const std::size_t hidden = lines.size() - std::max<std::size_t>(kept, 1);
  lines.resize(kept);
  if (room > 1) lines.push_back(cut(fmt::format("… {} more {}", hidden, what), width));
}

std::string headline(const TopSnapshot& snapshot) {
  return fmt::format("muster top  {}  {}  pools {}, workers {}{}", printable(snapshot.url),
                     snapshot.now ? formatTime(*snapshot.now) : "", snapshot.pools.size(),
                     snapshot.workers.size(), snapshot.more_workers ? "+" : "");
}

}  // namespace

std::vector<std::string> renderTop(const TopSnapshot& snapshot, std::size_t width,
                                   std::size_t height, bool color) {
  std::vector<std::string> lines = {cut(headline(snapshot), width)};
  if (!snapshot.trouble.empty()) lines.push_back(cut(printable(snapshot.trouble), width));
  lines.emplace_back();
  auto pools = snapshot.pools.empty() ? std::vector<std::string>{cut("no pools", width)}
                                      : linesOf(poolTable(snapshot.pools), width, color);
  auto workers = snapshot.workers.empty()
                     ? std::vector<std::string>{cut("no workers", width)}
                     : linesOf(workerTable(snapshot.workers, snapshot.now), width, color);
  if (height > 0) {
    const std::size_t room = height - std::min(height, lines.size() + 1);
    const std::size_t for_workers = std::min(workers.size(), kLeastWorkerRows);
    cutTo(pools, room - std::min(room, for_workers), width, "pools");
    cutTo(workers, room - pools.size(), width, "workers");
  }
  lines.insert(lines.end(), pools.begin(), pools.end());
  lines.emplace_back();
  lines.insert(lines.end(), workers.begin(), workers.end());
  if (height > 0 && lines.size() > height) lines.resize(height);
  return lines;
}

}  // namespace muster
