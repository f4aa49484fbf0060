#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/full_screen.h"
#include "app/cli/top_snapshot.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

std::string topJson(const TopSnapshot& snapshot) {
  JsonWriter json;
  json.beginObject().field("at", snapshot.now).key("pools").beginArray();
  for (const auto& pool : snapshot.pools) {
    json.beginObject().field("pool_id", pool.pool).field("queue_depth", pool.queue);
    json.field("runnable", pool.runnable).field("unplaceable", pool.unplaceable);
    json.field("blocked", pool.blocked).field("claimed", pool.claimed).field("done", pool.done);
    json.field("poisoned", pool.poisoned).field("starting_workers", pool.starting);
    json.field("busy_workers", pool.busy).field("idle_workers", pool.idle);
    json.field("terminating_workers", pool.terminating);
    json.field("oldest_pending_seconds", pool.oldest_pending_seconds);
    json.field("launches", pool.launches).endObject();
  }
  json.endArray().key("workers").beginArray();
  for (const auto& worker : snapshot.workers) {
    json.beginObject().field("worker_id", worker.worker).field("pool_id", worker.pool);
    json.field("status", worker.status);
    if (!worker.job.empty()) json.field("job_id", worker.job);
    json.field("started_at", worker.started_at).field("last_heartbeat", worker.last_heartbeat);
    json.endObject();
  }
  return json.endArray().endObject().take();
}

int printOnce(const TopCommand& command, ApiClient& api, Terminal& terminal) {
  const auto snapshot = takeTopSnapshot(api, command.pool);
  if (!snapshot) {
    terminal.err << snapshot.error().text;
    return snapshot.error().exit_code;
  }
  if (terminal.json) {
    terminal.out << topJson(*snapshot) << "\n";
    return kExitOk;
  }
  for (const auto& line : renderTop(*snapshot, terminal.width, 0, terminal.color)) {
    terminal.out << line << "\n";
  }
  return kExitOk;
}

// Shows on until it is told to end; a service that is gone for a while is waited for, and what was
// seen last stays.
int watch(const TopCommand& command, ApiClient& api, Terminal& terminal) {
  auto first = takeTopSnapshot(api, command.pool);
  if (!first) {
    terminal.err << first.error().text;
    return first.error().exit_code;
  }
  TopSnapshot shown = *std::move(first);
  FullScreen screen;
  do {
    if (auto next = takeTopSnapshot(api, command.pool)) {
      shown = *std::move(next);
    } else {
      shown.trouble = next.error().text;
    }
    const ScreenSize size = screen.size();
    screen.show(renderTop(shown, size.width, size.height, terminal.color));
  } while (screen.wait(static_cast<int>(command.interval_seconds * 1000)));
  return kExitOk;
}

}  // namespace

int run(const TopCommand& command, ApiClient& api, Terminal& terminal) {
  const bool live = terminal.width > 0 && !command.once && !terminal.json;
  return live ? watch(command, api, terminal) : printOnce(command, api, terminal);
}

}  // namespace muster
