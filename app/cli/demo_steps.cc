#include "app/cli/demo_steps.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <ostream>

#include "app/cli/decision_view.h"
#include "app/cli/flow_view.h"

namespace muster {
namespace {

constexpr std::int64_t kJobs = 10, kMostWorkers = 3;

std::string jobPath(const std::string& id) { return apiPath({"v1", "jobs", id}); }

// The id of the new job; empty when the demo is over.
std::string push(DemoStage& stage, const std::string& body) {
  const auto reply = stage.post(stage.poolPath("/jobs"), body);
  return reply ? textOf(reply->json.root(), "id") : "";
}

bool allowWorkers(DemoStage& stage, std::int64_t most) {
  const std::string body = fmt::format(R"({{"scaling":{{"max_workers":{}}}}})", most);
  return stage.ask({.method = "PATCH", .path = stage.poolPath(), .body = body}).has_value();
}

// Waits until the job has this status; what became of it in any case.
std::optional<Reply> jobBecomes(DemoStage& stage, const std::string& id, const char* status) {
  std::optional<Reply> job;
  stage.until([&] {
    job = stage.get(jobPath(id));
    return job && textOf(job->json.root(), "status") == status;
  });
  return job;
}

std::int64_t workersIn(JsonValue stats) {
  return numberOf(stats, "starting_workers") + numberOf(stats, "busy_workers") +
         numberOf(stats, "idle_workers") + numberOf(stats, "terminating_workers");
}

void explainStandstill(DemoStage& stage) {
  if (const auto decision = stage.get(stage.poolPath("/check"))) {
    stage.say("the checker says: " + printable(textOf(decision->json.root(), "reason")));
  }
}

void noteStatusAndTries(DemoStage& stage, JsonValue job, const char* status, int tries) {
  const std::string expected = fmt::format("{} at try {}", status, tries);
  const std::string seen =
      fmt::format("{} at try {}", textOf(job, "status"), textOf(job, "attempts"));
  stage.note("the job", expected, seen, seen == expected);
}

// The environment of the process proves that it is this worker, and not one that has its pid.
bool isWorkerHere(const std::string& worker, const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/environ", std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  const std::string mark = "MUSTER_WORKER_ID=" + worker;
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    if (environment.compare(at, end - at, mark) == 0) return true;
    at = end + 1;
  }
  return false;
}

std::string thisHost() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Why the worker cannot be killed from here; empty when it was.
std::string killWorker(JsonValue worker) {
  const std::string id = textOf(worker, "worker_id"), host = textOf(worker, "host"),
                    pid = textOf(worker, "pid");
  if (host != thisHost() || !isWorkerHere(id, pid)) {
    return fmt::format(
        "worker {} is process {} on {}, which this user cannot see from here; run the demo on the "
        "service's host, as its user",
        printable(id), printable(pid), printable(host));
  }
  const auto number = static_cast<pid_t>(numberOf(worker, "pid"));
  if (::kill(number, SIGKILL) != 0) {
    return fmt::format("cannot kill process {}: {}", number, std::strerror(errno));
  }
  return "";
}

// Four jobs in a diamond, and one that is for the case of a failure.
std::string diamondIn(const std::string& pool) {
  const auto job = [&pool](const char* name, const char* more) {
    return fmt::format(R"({{"name":"{}","pool_id":"{}",{}}})", name, pool, more);
  };
  constexpr const char* kHalf = R"("data":{"delay_seconds":0.2},"after":["fetch"])";
  return fmt::format(R"({{"name":"diamond","jobs":[{},{},{},{},{}]}})",
                     job("fetch", R"("data":{"delay_seconds":0.2})"), job("left", kHalf),
                     job("right", kHalf), job("merge", R"("data":{},"after":["left","right"])"),
                     job("alarm", R"("data":{},"after_failure":["merge"])"));
}

// "fetch done, left done": each of `items` with what its member `how` says.
std::string namesWith(const std::vector<JsonValue>& items, const char* how) {
  std::string text;
  for (const auto& item : items) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", textOf(item, "name"), textOf(item, how));
  }
  return text;
}

std::optional<JsonValue> named(const std::vector<JsonValue>& jobs, std::string_view name) {
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [name](JsonValue job) { return textOf(job, "name") == name; });
  return found == jobs.end() ? std::nullopt : std::optional(*found);
}

// Whether each of the jobs `before` had ended when `after` was claimed.
bool ranAfter(const std::vector<JsonValue>& jobs, std::initializer_list<const char*> before,
              const char* after) {
  const auto last = named(jobs, after);
  const auto begun = last ? timeOf(*last, "claimed_at") : std::nullopt;
  return begun && std::all_of(before.begin(), before.end(), [&](const char* name) {
           const auto job = named(jobs, name);
           const auto ended = job ? timeOf(*job, "finished_at") : std::nullopt;
           return ended && *ended <= *begun;
         });
}

}  // namespace

void showTenJobs(DemoStage& stage) {
  stage.beginStep("Ten jobs, at most three workers at a time");
  stage.say("Pushes 10 jobs of 0.3 s. The checker launches a worker for each, 3 at a time;");
  stage.say("each claims a job, does it and exits.");
  std::string items;
  for (std::int64_t i = 0; i < kJobs; ++i) {
    items +=
        fmt::format(R"({}{{"data":{{"n":{},"delay_seconds":0.3}}}})", i == 0 ? "" : ",", i + 1);
  }
  if (!stage.post(stage.poolPath("/jobs/batch"), "{\"items\":[" + items + "]}")) return;
  std::int64_t done = 0, most = 0;
  const bool finished = stage.until([&] {
    const auto stats = stage.get(stage.poolPath("/stats"));
    if (!stats) return false;
    const std::int64_t workers = workersIn(stats->json.root());
    done = numberOf(stats->json.root(), "done");
    most = std::max(most, workers);
    stage.showProgress(static_cast<std::size_t>(done), kJobs,
                       fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"));
    return done >= kJobs;
  });
  if (stage.isOver()) return;
  if (!finished) explainStandstill(stage);
  stage.note("jobs done", std::to_string(kJobs), std::to_string(done), done == kJobs);
  stage.note("workers at a time", fmt::format("1 to {}", kMostWorkers), std::to_string(most),
             most >= 1 && most <= kMostWorkers);
  const auto jobs = stage.get(stage.poolPath("/jobs?status=done"));
  const auto launched = stage.get("/v1/workers" + apiQuery({{"pool_id", stage.pool()}}));
  if (!jobs || !launched) return;
  const auto items_done = itemsOf(jobs->json.root(), "items");
  const auto first_try = std::count_if(items_done.begin(), items_done.end(), [](JsonValue job) {
    return numberOf(job, "attempts") == 1;
  });
  stage.note("jobs done at their first try", std::to_string(kJobs), std::to_string(first_try),
             first_try == kJobs);
  const auto workers = static_cast<std::int64_t>(itemsOf(launched->json.root(), "items").size());
  stage.note("workers launched", "one for each job", std::to_string(workers), workers == kJobs);
}

void showKilledWorker(DemoStage& stage) {
  stage.beginStep("A worker is killed in the middle of its job");
  stage.say(
      "Pushes a job of 2 s, waits for a worker to claim it, and kills that worker (SIGKILL).");
  const std::string id = push(stage, R"({"data":{"delay_seconds":2}})");
  if (id.empty()) return;
  const auto claimed = jobBecomes(stage, id, "claimed");
  if (stage.isOver() || !claimed) return;
  const std::string holder = textOf(claimed->json.root(), "claimed_by");
  const auto worker = stage.get(apiPath({"v1", "workers", holder}));
  if (!worker) return;
  if (const std::string why = killWorker(worker->json.root()); !why.empty()) {
    stage.skip(why);
    jobBecomes(stage, id, "done");
    return;
  }
  stage.say(fmt::format("killed {}, process {}", holder, textOf(worker->json.root(), "pid")));
  const auto done = jobBecomes(stage, id, "done");
  const auto tries = stage.get(jobPath(id) + "/attempts");
  const auto after = stage.get(apiPath({"v1", "workers", holder}));
  if (stage.isOver() || !done || !tries || !after) return;
  const auto attempts = itemsOf(tries->json.root(), "items");
  const std::string outcome = attempts.empty() ? "none" : textOf(attempts.front(), "outcome");
  stage.note("its first try", "worker_lost", outcome, outcome == "worker_lost");
  const std::string signal = textOf(after->json.root(), "exit_signal");
  stage.note("the worker's end", "signal 9", "signal " + signal, signal == "9");
  noteStatusAndTries(stage, done->json.root(), "done", 2);
}

void showSilentWorker(DemoStage& stage) {
  stage.beginStep("A worker falls silent and is reaped");
  stage.say("Registers a worker that claims a job and never sends a heartbeat, waits until it was");
  stage.say("silent for a second, reaps it, and reports its result too late.");
  const std::string worker = stage.pool() + "-silent";
  if (!stage.post("/v1/workers",
                  fmt::format(R"({{"worker_id":"{}","pool_id":"{}"}})", worker, stage.pool()))) {
    return;
  }
  // Until it has claimed the job nobody is launched who could come first.
  if (!allowWorkers(stage, 0)) return;
  const std::string id = push(stage, R"({"data":{"n":12}})");
  if (id.empty()) return;
  const auto claim = stage.post(stage.poolPath("/claim"),
                                fmt::format(R"({{"worker_id":"{}","job_id":"{}"}})", worker, id));
  if (!claim || !allowWorkers(stage, kMostWorkers)) return;
  const auto items = itemsOf(claim->json.root(), "items");
  const std::string token = items.empty() ? "none" : textOf(items.front(), "lease_token");
  stage.until([&] {
    const auto stale = stage.get(stage.poolPath("/reap?stale_threshold_seconds=1"));
    return stale && numberOf(stale->json.root(), "reaped_count") > 0;
  });
  const auto reaped = stage.post(stage.poolPath("/reap"), R"({"stale_threshold_seconds":1})");
  if (stage.isOver() || !reaped) return;
  std::string who;
  for (const auto& item : itemsOf(reaped->json.root(), "reaped_workers")) {
    who += (who.empty() ? "" : ", ") + item.string().value_or("");
  }
  stage.note("reaped", worker, who.empty() ? "nobody" : who, who == worker);
  const std::string released = textOf(reaped->json.root(), "total_jobs_released");
  stage.note("jobs that went back to the pool", "1", released, released == "1");
  const int late = stage.statusOfPost(
      jobPath(id) + "/complete",
      fmt::format(R"({{"lease_token":"{}","worker_id":"{}","result":"too late"}})", token, worker));
  stage.note("its late result", "refused with 409", std::to_string(late), late == 409);
  const auto lost = stage.get(apiPath({"v1", "workers", worker}));
  const auto done = jobBecomes(stage, id, "done");
  if (stage.isOver() || !lost || !done) return;
  const std::string status = textOf(lost->json.root(), "status");
  stage.note("the worker", "lost", status, status == "lost");
  noteStatusAndTries(stage, done->json.root(), "done", 2);
}

void showPoisonedJob(DemoStage& stage) {
  stage.beginStep("A job that cannot be done is poisoned");
  stage.say("Pushes a job that fails, with max_retries 1: it is set aside and keeps its error.");
  const std::string id =
      push(stage, R"({"data":{"fail":"the printer is on fire"},"max_retries":1})");
  if (id.empty()) return;
  const auto job = jobBecomes(stage, id, "poisoned");
  if (stage.isOver() || !job) return;
  noteStatusAndTries(stage, job->json.root(), "poisoned", 1);
  const std::string expected = "exit 1: the printer is on fire";
  const std::string error = textOf(job->json.root(), "error");
  stage.note("its error", expected, error, error == expected);
}

void showDecisions(DemoStage& stage) {
  stage.beginStep("The decisions that launched workers, the newest first");
  const auto reply = stage.get(stage.poolPath("/decisions?limit=200"));
  if (!reply) return;
  auto decisions = itemsOf(reply->json.root(), "items");
  std::erase_if(decisions, [](JsonValue d) { return numberOf(d, "launched") == 0; });
  std::int64_t launched = 0;
  for (const auto& decision : decisions) launched += numberOf(decision, "launched");
  stage.story() << decisionTable(decisions).render(stage.terminal().width, stage.terminal().color);
  const auto workers =
      stage.get("/v1/workers" + apiQuery({{"pool_id", stage.pool()}, {"limit", "200"}}));
  if (!workers) return;
  const auto all = itemsOf(workers->json.root(), "items");
  const auto real = std::count_if(all.begin(), all.end(), [](JsonValue worker) {
    return !textOf(worker, "launched_at").empty();
  });
  stage.note("workers these decisions launched", std::to_string(real), std::to_string(launched),
             launched == real);
}

void showDiamond(DemoStage& stage) {
  stage.beginStep("Jobs that wait for jobs");
  stage.say("Creates a flow: fetch, then left and right beside each other, then merge; alarm runs");
  stage.say("only if merge fails.");
  const auto created = stage.post("/v1/flows", diamondIn(stage.pool()));
  if (!created) return;
  const std::string expected =
      "fetch pending, left blocked, right blocked, merge blocked, alarm blocked";
  const std::string begin = namesWith(itemsOf(created->json.root(), "jobs"), "status");
  stage.note("its jobs at first", expected, begin, begin == expected);
  const auto made = member(created->json.root(), "flow");
  const std::string id = made ? textOf(*made, "flow_id") : "";
  stage.addFlow(id);
  const std::string path = apiPath({"v1", "flows", id});
  std::optional<Reply> flow;
  const bool ended = stage.until([&] {
    flow = stage.get(path);
    if (!flow) return false;
    const JsonValue root = flow->json.root();
    stage.showProgress(endedJobsOf(root), jobsOf(root), "the flow is " + textOf(root, "status"));
    return !textOf(root, "ended_at").empty();
  });
  if (stage.isOver() || !flow) return;
  if (!ended) explainStandstill(stage);
  const auto listed = stage.get(path + "/jobs");
  if (!listed) return;
  const auto jobs = itemsOf(listed->json.root(), "items");
  const bool in_order = ranAfter(jobs, {"fetch"}, "left") && ranAfter(jobs, {"fetch"}, "right") &&
                        ranAfter(jobs, {"left", "right"}, "merge");
  stage.note("each was claimed after those it waits for", "yes", in_order ? "yes" : "no", in_order);
  if (const auto merge = named(jobs, "merge")) {
    const auto upstream = stage.get(jobPath(textOf(*merge, "id")) + "/upstream");
    if (!upstream) return;
    const std::string both = "left succeeded, right succeeded";
    const std::string seen = namesWith(itemsOf(upstream->json.root(), "items"), "verdict");
    stage.note("what merge was told", both, seen, seen == both);
  }
  const auto alarm = named(jobs, "alarm");
  const std::string why =
      alarm ? textOf(*alarm, "status") + ", " + textOf(*alarm, "reason") : "absent";
  stage.note("alarm", "cancelled, not_needed", why, why == "cancelled, not_needed");
  const std::string status = textOf(flow->json.root(), "status");
  stage.note("the flow", "succeeded", status, status == "succeeded");
}

}  // namespace muster
