#include "app/metrics/metrics.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

const std::string kHostile = "a\"} 1\nmuster_x{pool=\"\\";
const std::string kEscaped = R"(a\"} 1\nmuster_x{pool=\"\\)";

bool shows(Metrics& metrics, const std::string& line) {
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

TEST(MetricsOfPools, tell_of_jobs_that_wait_for_others) {
  Metrics metrics;
  withRoutes(metrics);
  PoolStats stats;
  stats.blocked = 3;
  Event event;
  event.pool = "p";
  event.job = "j";
  event.type = event_type::kJobUnblocked;
  metrics.countEvents(std::vector{event, event});
  event.type = event_type::kJobCreated;
  event.details = R"({"blocked":true})";
  metrics.countEvents(std::vector{event});
  const std::string text = metrics.expose({{"p", stats, 0, 1}}, true);
  for (const char* line :
       {R"(muster_pool_jobs{pool="p",status="blocked"} 3)",
        R"(muster_pool_jobs{pool="p",status="pending"} 0)",
        R"(muster_jobs_unblocked_total{pool="p"} 2)", R"(muster_jobs_added_total{pool="p"} 1)"}) {
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line;
  }
}

TEST(MetricsOfFlows, tell_how_many_there_are) {
  Metrics metrics;
  withRoutes(metrics);
  EXPECT_TRUE(shows(metrics, R"(muster_flows{status="running"} 0)"));
  EXPECT_TRUE(shows(metrics, "muster_flow_unsettled 0"));
  metrics.setFlows({{{"running", 2}, {"failed", 7}}, 5});
  EXPECT_TRUE(shows(metrics, R"(muster_flows{status="running"} 2)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flows{status="cancelling"} 0)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flows{status="failed"} 7)"));
  EXPECT_TRUE(shows(metrics, "muster_flow_unsettled 5"));
  metrics.setFlows({});
  EXPECT_TRUE(shows(metrics, R"(muster_flows{status="failed"} 0)")) << "as they are now";
}

TEST(MetricsOfResources, tell_how_many_there_are) {
  Metrics metrics;
  withRoutes(metrics);
  EXPECT_TRUE(shows(metrics, R"(muster_resources{holder="host",state="stale"} 0)"));
  metrics.setResources({{{"store", ResourceState::kActive, 3, 30},
                         {"store", ResourceState::kEvicting, 1, 4},
                         {"worker", ResourceState::kActive, 2, 0}},
                        50,
                        100,
                        7});
  EXPECT_TRUE(shows(metrics, R"(muster_resources{holder="store",state="active"} 3)"));
  EXPECT_TRUE(shows(metrics, R"(muster_resources{holder="store",state="evicting"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_resources{holder="worker",state="active"} 2)"));
  EXPECT_TRUE(shows(metrics, R"(muster_resource_bytes{holder="store"} 34)"));
  EXPECT_TRUE(shows(metrics, "muster_blob_bytes 50"));
  EXPECT_TRUE(shows(metrics, "muster_uploads_open 7"));
}

TEST(MetricsOfResources, count_their_bytes_and_the_time_to_tend_them) {
  Metrics metrics;
  withRoutes(metrics);
  metrics.setResources({.counts = {}, .blob_bytes = 5, .blob_bytes_max = 9});
  metrics.countBlobWritten(3);
  metrics.countBlobWritten(4);
  metrics.countBlobRead(2);
  metrics.countTending(std::chrono::milliseconds(250));
  metrics.countTending(std::chrono::milliseconds(500));
  EXPECT_TRUE(shows(metrics, "muster_blob_bytes_max 9"));
  EXPECT_TRUE(shows(metrics, "muster_blob_written_bytes_total 7"));
  EXPECT_TRUE(shows(metrics, "muster_blob_read_bytes_total 2"));
  EXPECT_TRUE(shows(metrics, "muster_resource_gc_seconds_sum 0.75"));
  EXPECT_TRUE(shows(metrics, "muster_resource_gc_seconds_count 2"));
}

TEST(MetricsOfResources, tell_of_keys_that_are_bound) {
  Metrics metrics;
  withRoutes(metrics);
  EXPECT_TRUE(shows(metrics, R"(muster_affinities{state="stale"} 0)"));
  CountResources::Reply reply;
  reply.affinities = {{AffinityState::kActive, 4}, {AffinityState::kDraining, 1}};
  metrics.setResources(reply);
  EXPECT_TRUE(shows(metrics, R"(muster_affinities{state="active"} 4)"));
  EXPECT_TRUE(shows(metrics, R"(muster_affinities{state="draining"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_affinities{state="stale"} 0)"));
}

TEST(MetricsOfResources, tell_how_long_pinned_jobs_waited) {
  Metrics metrics;
  withRoutes(metrics);
  const auto claimed = [&](bool pinned, Millis took) {
    Event event;
    event.type = event_type::kJobClaimed;
    event.pool = "p";
    event.job = "j";
    event.took = took;
    event.pinned = pinned;
    metrics.countEvents(std::vector{event});
  };
  claimed(false, 10s);
  claimed(true, 2s);
  claimed(true, 1h);
  EXPECT_TRUE(shows(metrics, "muster_pin_wait_seconds_count 2"));
  EXPECT_TRUE(shows(metrics, R"(muster_pin_wait_seconds_bucket{le="2.5"} 1)"));
  EXPECT_TRUE(shows(metrics, "muster_pin_wait_seconds_sum 3602"));
}

TEST(MetricsOfResources, count_why_they_went) {
  Metrics metrics;
  withRoutes(metrics);
  const auto gone = [&](std::string_view type, const std::string& details, const char* job) {
    Event event;
    event.type = type;
    event.details = details;
    event.job = job;
    metrics.countEvents(std::vector{event});
  };
  gone(event_type::kResourceEvicted, R"({"uid":"u~1","reason":"expired"})", "");
  gone(event_type::kResourceEvicted, R"({"uid":"u~2","reason":"expired"})", "j");
  gone(event_type::kResourceEvicted, R"({"uid":"reason","reason":"deleted"})", "");
  gone(event_type::kResourceLost, R"({"uid":"u~3","reason":"host_lost"})", "");
  EXPECT_TRUE(shows(metrics, R"(muster_resource_evictions_total{reason="expired"} 2)"));
  EXPECT_TRUE(shows(metrics, R"(muster_resource_evictions_total{reason="deleted"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_resource_evictions_total{reason="pressure"} 0)"));
  EXPECT_TRUE(shows(metrics, "muster_resources_lost_total 1"));
}

TEST(MetricsOfFlows, count_their_ends_and_how_long_they_took) {
  Metrics metrics;
  withRoutes(metrics);
  EXPECT_TRUE(shows(metrics, R"(muster_flows_ended_total{outcome="cancelled"} 0)"));
  const auto end = [&](std::string_view type, Millis took) {
    Event event;
    event.type = type;
    event.took = took;
    metrics.countEvents(std::vector{event});
  };
  end(event_type::kFlowCreated, 0ms);
  end(event_type::kFlowSucceeded, 2s);
  end(event_type::kFlowSucceeded, 30min);
  end(event_type::kFlowFailed, 100h);
  end(event_type::kFlowRetried, 0ms);
  end(event_type::kFlowCancelled, 50ms);
  EXPECT_TRUE(shows(metrics, R"(muster_flows_ended_total{outcome="succeeded"} 2)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flows_ended_total{outcome="failed"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flows_ended_total{outcome="cancelled"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flow_seconds_bucket{le="0.1"} 1)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flow_seconds_bucket{le="2.5"} 2)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flow_seconds_bucket{le="3600"} 3)"));
  EXPECT_TRUE(shows(metrics, R"(muster_flow_seconds_bucket{le="86400"} 3)"));
  EXPECT_TRUE(shows(metrics, "muster_flow_seconds_count 4"));
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

TEST(MetricsOfPools, count_jobs_that_are_pinned) {
  Metrics metrics;
  withRoutes(metrics);
  PoolStats stats;
  stats.pinned = 2;
  const std::string text = metrics.expose({{"p", stats, 0, 1}, {"q", {}, 0, 1}}, true);
  EXPECT_NE(text.find("\nmuster_pool_jobs_pinned{pool=\"p\"} 2\n"
                      "muster_pool_jobs_pinned{pool=\"q\"} 0\n"),
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

TEST(MetricsOfPools, have_labels_of_their_own_up_to_a_thousand) {
  Metrics metrics;
  withRoutes(metrics);
  std::vector<Metrics::PoolGauges> pools;
  std::vector<Event> events;
  for (int i = 0; i < 1003; ++i) {
    Metrics::PoolGauges& pool = pools.emplace_back();
    pool.pool = "p" + std::to_string(i);
    pool.stats.pending = 10;
    pool.stats.blocked = 2;
    pool.stats.oldest_pending_seconds = i;
    pool.min_workers = 1;
    pool.max_workers = 2;
    Event& claimed = events.emplace_back();
    claimed.type = event_type::kJobClaimed;
    claimed.pool = pool.pool;
    claimed.job = "j";
    claimed.took = 20ms;
  }
  for (Event& event : events) event.type = event_type::kJobUnblocked;
  metrics.countEvents(events);
  for (Event& event : events) event.type = event_type::kJobClaimed;
  metrics.countEvents(events);
  metrics.countExit("p1000", "ok");
  metrics.countExit("p1002", "ok");
  const std::string text = metrics.expose(pools, true);
  const auto shows_line = [&text](const std::string& name, const std::string& labels,
                                  const std::string& value) {
    const std::string line = name + "{pool=" + labels + "} " + value;
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line;
  };
  const std::string other = "\"(other)\"";
  shows_line("muster_pool_jobs", R"("p999",status="pending")", "10");
  shows_line("muster_pool_jobs", other + R"(,status="pending")", "30");
  shows_line("muster_pool_jobs", other + R"(,status="blocked")", "6");
  shows_line("muster_pool_oldest_pending_seconds", other, "1002");
  shows_line("muster_pool_workers_min", other, "3");
  shows_line("muster_pool_workers_max", other, "6");
  shows_line("muster_jobs_claimed_total", "\"p0\"", "1");
  shows_line("muster_jobs_claimed_total", other, "3");
  shows_line("muster_jobs_unblocked_total", other, "3");
  shows_line("muster_worker_exits_total", other + R"(,reason="ok")", "2");
  shows_line("muster_job_wait_seconds_count", other, "3");
  shows_line("muster_job_wait_seconds_bucket", other + R"(,le="0.05")", "3");
  EXPECT_EQ(text.find("\"p1000\""), std::string::npos);
}

}  // namespace
}  // namespace muster
