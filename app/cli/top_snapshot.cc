#include "app/cli/top_snapshot.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <sstream>

#include "app/cli/circuit_view.h"

namespace muster {
namespace {

constexpr std::size_t kMostPoolsShown = 200;
constexpr std::size_t kMostWorkersShown = 200;

// A terminal that keeps what it is told, so that messages can be shown where there is room.
struct Listener {
  std::istringstream in;
  std::ostringstream text;
  Terminal terminal{in, text, text};
};

std::int64_t wholeNumber(JsonValue value, std::string_view name) {
  const std::string text = textOf(value, name);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string launchesOf(JsonValue pool) {
  if (textOf(pool, "paused") == "true") return "paused";
  if (std::string circuit = circuitText(pool); !circuit.empty()) return circuit;
  return textOf(pool, "template").empty() ? "no template" : textOf(pool, "launch_state");
}

PoolGlance glanceAt(JsonValue pool, JsonValue stats) {
  PoolGlance glance;
  glance.pool = textOf(pool, "pool_id");
  glance.queue = wholeNumber(stats, "queue_depth");
  glance.runnable = wholeNumber(stats, "runnable");
  glance.unplaceable = wholeNumber(stats, "unplaceable");
  glance.blocked = wholeNumber(stats, "blocked");
  glance.claimed = wholeNumber(stats, "claimed");
  glance.done = wholeNumber(stats, "done");
  glance.poisoned = wholeNumber(stats, "poisoned");
  glance.starting = wholeNumber(stats, "starting_workers");
  glance.busy = wholeNumber(stats, "busy_workers");
  glance.idle = wholeNumber(stats, "idle_workers");
  glance.terminating = wholeNumber(stats, "terminating_workers");
  glance.oldest_pending_seconds =
      std::strtod(textOf(stats, "oldest_pending_seconds").c_str(), nullptr);
  const auto scaling = member(pool, "scaling");
  glance.max_workers = scaling ? textOf(*scaling, "max_workers") : "";
  glance.launches = launchesOf(pool);
  return glance;
}

WorkerGlance glanceAt(JsonValue worker, const std::map<std::string, std::string>& jobs) {
  WorkerGlance glance;
  glance.worker = textOf(worker, "worker_id");
  glance.pool = textOf(worker, "pool_id");
  glance.status = textOf(worker, "status");
  const auto held = jobs.find(glance.worker);
  glance.job = held == jobs.end() ? textOf(worker, "current_task_id") : held->second;
  if (glance.status == "active") glance.status = glance.job.empty() ? "idle" : "busy";
  const auto launched = timeOf(worker, "launched_at");
  glance.started_at = launched ? launched : timeOf(worker, "started_at");
  glance.last_heartbeat = timeOf(worker, "last_heartbeat");
  return glance;
}

// Takes the snapshot; a call that fails ends it.
class Look {
 public:
  Look(ApiClient& api, const std::string& pool) : api_(api), pool_(pool) {}

  tl::expected<TopSnapshot, TopTrouble> take() {
    snapshot_.url = api_.url();
    const int code = takePools();
    if (const int end = code == kExitOk ? takeWorkers() : code; end != kExitOk) {
      return tl::unexpected(TopTrouble{listener_.text.str(), end});
    }
    return std::move(snapshot_);
  }

 private:
  int takePools() {
    if (!pool_.empty()) {
      const auto pool = call(api_, listener_.terminal, {.path = apiPath({"v1", "pools", pool_})});
      return pool ? addPool(pool->json.root()) : pool.error();
    }
    const auto pools = list(api_, listener_.terminal, "/v1/pools", {}, kMostPoolsShown);
    if (!pools) return pools.error();
    for (const auto& pool : pools->items) {
      if (const int code = addPool(pool); code != kExitOk) return code;
    }
    return kExitOk;
  }

  int addPool(JsonValue pool) {
    const std::string name = textOf(pool, "pool_id");
    const auto stats =
        call(api_, listener_.terminal, {.path = apiPath({"v1", "pools", name, "stats"})});
    if (!stats) return stats.error();
    snapshot_.now = stats->now;
    snapshot_.pools.push_back(glanceAt(pool, stats->json.root()));
    if (snapshot_.pools.back().claimed == 0) return kExitOk;
    const auto jobs = list(api_, listener_.terminal, apiPath({"v1", "pools", name, "jobs"}),
                           {{"status", "claimed"}}, kMostWorkersShown);
    if (!jobs) return jobs.error();
    for (const auto& job : jobs->items) jobs_[textOf(job, "claimed_by")] = textOf(job, "id");
    return kExitOk;
  }

  int takeWorkers() {
    const auto workers =
        list(api_, listener_.terminal, "/v1/workers",
             {{"pool_id", pool_}, {"status", "starting,active,terminating"}}, kMostWorkersShown);
    if (!workers) return workers.error();
    if (workers->now) snapshot_.now = workers->now;
    snapshot_.more_workers = workers->has_more;
    for (const auto& worker : workers->items) {
      snapshot_.workers.push_back(glanceAt(worker, jobs_));
    }
    return kExitOk;
  }

  ApiClient& api_;
  const std::string& pool_;
  Listener listener_;
  TopSnapshot snapshot_;
  std::map<std::string, std::string> jobs_;  // by the worker that holds them
};

}  // namespace

tl::expected<TopSnapshot, TopTrouble> takeTopSnapshot(ApiClient& api, const std::string& pool) {
  return Look(api, pool).take();
}

}  // namespace muster
