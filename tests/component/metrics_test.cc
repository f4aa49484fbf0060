#include "app/metrics/metrics.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

const std::string kHostile = "a\"} 1\nmuster_x{pool=\"\\";
const std::string kEscaped = R"(a\"} 1\nmuster_x{pool=\"\\)";

bool shows(const Metrics& metrics, const std::string& line) {
  const std::string text = metrics.expose({{"p", {}, 0, 1}}, true);
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

Metrics& withRoutes(Metrics& metrics) {
  metrics.setRoutes({});
  return metrics;
}

TEST(MetricsOfWorkers, countLaunchesExitsAndStarts) {
  Metrics metrics;
  withRoutes(metrics);
  metrics.countLaunch("p", "started");
  metrics.countLaunch("p", "started");
  metrics.countLaunch("p", "failed");
  metrics.countExit("p", "ok");
  Event registered;
  registered.type = event_type::kWorkerRegistered;
  registered.pool = "p";
  metrics.countEvents(std::vector{registered});
  registered.took = 40ms;
  metrics.countEvents(std::vector{registered});
  EXPECT_TRUE(shows(metrics, R"(muster_worker_startup_seconds_count{pool="p"} 1)"))
      << "one that nobody launched is not counted";
  EXPECT_TRUE(shows(metrics, R"(muster_worker_launches_total{pool="p",result="started"} 2)"));
  EXPECT_TRUE(shows(metrics, R"(muster_worker_launches_total{pool="p",result="failed"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_worker_exits_total{pool="p",reason="ok"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_worker_startup_seconds_bucket{pool="p",le="0.025"} 0)"));
  EXPECT_TRUE(shows(metrics, R"(muster_worker_startup_seconds_bucket{pool="p",le="0.05"} 1)"));
}

TEST(MetricsOfWorkers, tellOfChecks) {
  Metrics metrics;
  withRoutes(metrics);
  Decision decision;
  decision.pool = PoolId("p");
  decision.trigger = "tick";
  decision.direction = "up";
  decision.desired_workers = 3;
  metrics.countCheck(decision, 2ms);
  EXPECT_TRUE(shows(metrics, "muster_checker_duration_seconds_count 1"));
  EXPECT_TRUE(shows(metrics, R"(muster_checker_duration_seconds_bucket{le="0.0025"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_pool_workers_desired{pool="p"} 3)"));
}

TEST(MetricsOfPools, countWhatACooldownHeldBack) {
  Metrics metrics;
  withRoutes(metrics);
  EXPECT_TRUE(shows(metrics, R"(muster_scale_cooldown_blocks_total{pool="p"} 0)"));
  Decision decision;
  decision.pool = PoolId("p");
  decision.direction = "hold";
  for (const char* limit : {"cooldown", "max_workers", "cooldown"}) {
    decision.binding_limit = limit;
    metrics.countCheck(decision, 1ms);
  }
  EXPECT_TRUE(shows(metrics, R"(muster_scale_cooldown_blocks_total{pool="p"} 2)"));
}

TEST(MetricsOfPools, beginAtZeroAndEndWithThePool) {
  Metrics metrics;
  withRoutes(metrics);
  EXPECT_TRUE(shows(metrics, R"(muster_jobs_finished_total{pool="p",outcome="poisoned"} 0)"));
  Event event;
  event.pool = "p";
  event.job = "j";
  event.type = event_type::kJobCreated;
  metrics.countEvents(std::vector{event, event});
  EXPECT_TRUE(shows(metrics, R"(muster_jobs_added_total{pool="p"} 2)"));
  EXPECT_EQ(metrics.expose({}, true).find("pool="), std::string::npos)
      << "a pool that is not there is not told of";
  event.job.clear();
  event.type = event_type::kPoolDeleted;
  metrics.countEvents(std::vector{event});
  EXPECT_TRUE(shows(metrics, R"(muster_jobs_added_total{pool="p"} 0)"));
}

TEST(MetricsOfPools, countLaunchesThatAreSuspendedAndCircuitsThatOpen) {
  Metrics metrics;
  withRoutes(metrics);
  for (const auto type : {event_type::kPoolLaunchSuspended, event_type::kPoolCircuitOpened}) {
    Event event;
    event.pool = "p";
    event.type = type;
    metrics.countEvents(std::vector{event});
  }
  EXPECT_TRUE(shows(metrics, R"(muster_launch_suspensions_total{pool="p"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_circuit_openings_total{pool="p"} 1)"));
}

TEST(MetricsOfPools, countJobsThatCannotBePlaced) {
  Metrics metrics;
  withRoutes(metrics);
  PoolStats stats;
  stats.unplaceable = 3;
  const std::string text = metrics.expose({{"p", stats, 0, 1}, {"q", {}, 0, 1}}, true);
  EXPECT_NE(text.find("\nmuster_pool_jobs_unplaceable{pool=\"p\"} 3\n"
                      "muster_pool_jobs_unplaceable{pool=\"q\"} 0\n"),
            std::string::npos)
      << text;
}

TEST(MetricsOfWorkers, cannotBeForgedByTheNameOfAPool) {
  Metrics metrics;
  withRoutes(metrics);
  metrics.countLaunch(kHostile, "started");
  metrics.countExit(kHostile, "ok");
  Decision decision;
  decision.pool = PoolId(kHostile);
  decision.trigger = kHostile;
  decision.direction = "hold";
  metrics.countCheck(decision, 1ms);
  const std::string text = metrics.expose({{kHostile, PoolStats{}, 0, 1}}, false);
  EXPECT_EQ(text.find("\nmuster_x"), std::string::npos) << text;
  for (const std::string& line :
       {"muster_worker_launches_total{pool=\"" + kEscaped + "\",result=\"started\"} 1",
        "muster_worker_exits_total{pool=\"" + kEscaped + "\",reason=\"ok\"} 1",
        "muster_pool_workers_desired{pool=\"" + kEscaped + "\"} 0",
        "muster_workers{pool=\"" + kEscaped + "\",status=\"active\"} 0"}) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace muster
