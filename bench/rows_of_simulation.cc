// How long a simulation takes, and how fast the decisions are that it is made of.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <stdexcept>

#include "bench/conversations.h"
#include "bench/rows.h"
#include "models/ids.h"
#include "models/policy/scaling.h"
#include "models/store/random.h"
#include "models/store/sqlite/sqlite_file.h"

namespace muster::bench {
namespace {

constexpr Millis kDay = std::chrono::hours(23);  // what is older would be removed meanwhile
constexpr Millis kLongestRun = Seconds(1);

constexpr Sql kInsertPool{
    "INSERT INTO pools (pool_id, settings, version, created_at, updated_at) "
    "VALUES ('bench', '{\"scaling\":{\"max_workers\":50}}', 1, $1, $1)"};
constexpr Sql kInsertJob{
    "INSERT INTO jobs (id, lane_id, pool_id, status, delayed, priority, attempts, max_retries, "
    "crashes, version, available_at, created_at, claimed_at, finished_at, claimed_by, lease_token, "
    "cancel_requested) VALUES ($1, 1, 'bench', 'done', 0, 0, 1, 3, 0, 3, $2, $2, $3, $4, $5, "
    "'0123456789abcdef0123456789abcdef', 0)"};
constexpr Sql kInsertWorker{
    "INSERT INTO workers (worker_id, pool_id, status, mode, host, region, pid, capabilities, "
    "executor_types, slots, started_at, last_heartbeat, ended_at, metadata, metrics, jobs_done, "
    "jobs_failed, version, template, template_version, launched_at, start_deadline, "
    "launch_verdict, exited_at, exit_code) VALUES ($1, 'bench', 'terminated', 'once', 'here', "
    "'default', 4711, '[]', '[]', 1, $3, $3, $4, '{}', '{}', 1, 0, 4, 'echo', 'v1', $2, $2, 'ok', "
    "$4, 0)"};

// A day of jobs that are done, evenly spread, each by a worker of its own.
void recordADay(const std::string& path, std::int64_t jobs) {
  const auto now = std::chrono::floor<Millis>(std::chrono::system_clock::now());
  auto opened = openSqlite(path, Durability::kNormal, now, false);
  if (!opened) throw std::runtime_error(opened.error());
  SqliteConnection& db = *opened->connection;
  Random random;
  IdMaker ids([&random](std::uint8_t* out, std::size_t size) { random.bytes(out, size); });
  db.begin();
  db.execute(kInsertPool, now - kDay);
  for (std::int64_t i = 0; i < jobs; ++i) {
    const Time created = now - kDay + Millis(kDay.count() / jobs * i);
    const Time claimed = created + Millis(20);
    const Time finished =
        claimed +
        Millis(static_cast<std::int64_t>(random.unit() * static_cast<double>(kLongestRun.count())));
    const std::string worker = "w-" + ids.next(created);
    db.execute(kInsertWorker, worker, created, claimed, finished);
    db.execute(kInsertJob, ids.next(created), created, claimed, finished, worker);
  }
  db.commit();
}

// Of this thread: what other programs take of the core does not count.
double cpuSeconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

template <class Decide>
double decisionsPerSecond(const Decide& decide) {
  constexpr std::int64_t kAtOnce = 100'000;
  const double began = cpuSeconds();
  std::int64_t made = 0;
  std::int64_t sum = 0;  // so that none is left out
  double seconds = 0;
  for (; seconds < 1; made += kAtOnce) {
    for (std::int64_t i = 0; i < kAtOnce; ++i) sum += decide(i);
    seconds = cpuSeconds() - began;
  }
  return sum < 0 ? 0 : static_cast<double>(made) / seconds;
}

void addRate(Report& report, const std::string& what, double rate) {
  constexpr double kBar = 1e6;
  report.add({what, fmt::format("{:.2f} M/s", rate / 1e6), "", "", ">= 1 M/s", rate >= kBar});
}

}  // namespace

void measureSimulation(const Workshop& shop, Report& report) {
  const std::int64_t jobs = shop.quick() ? 200'000 : 1'000'000;
  const double most = 5 * static_cast<double>(jobs) / 1e6;
  recordADay(shop.path("recorded.db"), jobs);
  const auto server = shop.service("recorded.db", Durability::kNormal);
  const std::int64_t before = server->residentBytes();
  const auto asking =
      repeat(postRequest("/v1/pools/bench/simulate", R"({"scaling":{"max_workers":20}})"), 200,
             fmt::format("\"jobs\":{},", jobs));
  Series seconds;
  for (int i = 0; i < shop.rounds(); ++i) {
    const double cpu = server->cpuSeconds();
    const double passed = shop.measure(*server, 1, asking, {.requests = 1}).seconds;
    seconds.add(passed, (server->cpuSeconds() - cpu) * 1e6);
  }
  const double grown = static_cast<double>(server->peakResidentBytes() - before) / 1e6;
  report.add({fmt::format("simulation, {} k recorded jobs and workers", jobs / 1000),
              fmt::format("{:.2f} s, {:.2f} s CPU", seconds.median(), seconds.medianCpuUs() / 1e6),
              "", "", fmt::format("<= {:.0f} s", most), seconds.median() <= most});
  constexpr double kMostMegabytes = 50;
  report.add({"  growth of the resident memory meanwhile", fmt::format("{:.0f} MB", grown), "", "",
              fmt::format("<= {:.0f} MB", kMostMegabytes), grown <= kMostMegabytes});
}

void measureDecisions(Report& report) {
  ScaleState state;
  ScaleLimits limits;
  limits.launch_tokens = 20;
  const ScaleConfig config;
  addRate(report, "decisions of queue mode, one core", decisionsPerSecond([&](std::int64_t i) {
            state.runnable = state.pending = i % 7;
            state.busy = i % 5;
            state.idle = state.free_slots = i % 3;
            return decideScale(state, limits, config).to_launch;
          }));
  const AdaptiveConfig adaptive;
  addRate(report, "decisions of adaptive mode, one core", decisionsPerSecond([&](std::int64_t i) {
            const AdaptiveState seen{i % 9, i % 100, static_cast<double>(i % 3000), i % 7,
                                     Millis(i % 5000)};
            return decideAdaptive(seen, adaptive).desired_workers;
          }));
}

}  // namespace muster::bench
