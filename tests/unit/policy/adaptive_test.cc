#include "models/policy/adaptive.h"

#include <gtest/gtest.h>

#include <random>
#include <span>

#include "models/policy/scaling.h"

namespace muster {
namespace {

struct Row {
  const char* name;
  AdaptiveState state;
  AdaptiveConfig config;
  const char* direction;
  std::int64_t desired;
  const char* reason;
};

AdaptiveState state(std::int64_t current, std::int64_t depth, double p95, std::int64_t in_flight,
                    std::optional<Millis> age = std::nullopt) {
  return {current, depth, p95, in_flight, age};
}

AdaptiveConfig with(auto change) {
  AdaptiveConfig config;
  change(config);
  return config;
}

void expectRows(std::span<const Row> rows) {
  for (const Row& row : rows) {
    const AdaptiveDecision decision = decideAdaptive(row.state, row.config);
    EXPECT_EQ(decision.direction, row.direction) << row.name << ": " << decision.reason;
    EXPECT_EQ(decision.desired_workers, row.desired) << row.name << ": " << decision.reason;
    EXPECT_EQ(decision.reason, row.reason) << row.name;
  }
}

TEST(Adaptive, scalesUpWhenAnythingAsksForIt) {
  const Row rows[] = {
      {"depth", state(2, 100, 0, 1), {}, "up", 4, "queue depth 100 > 50 (2.0x)"},
      {"depth at its target",
       state(2, 50, 0, 1),
       {},
       "hold",
       2,
       "stable: queue depth 50, P95 latency 0.0ms, utilization 50.0%"},
      {"latency", state(4, 0, 3000, 3), {}, "up", 6, "P95 latency 3000.0ms > 2000ms (1.5x)"},
      {"latency at its target",
       state(4, 0, 2000, 3),
       {},
       "hold",
       4,
       "stable: queue depth 0, P95 latency 2000.0ms, utilization 75.0%"},
      {"all busy with a backlog",
       state(5, 20, 100, 5),
       {},
       "up",
       7,
       "all 5 workers busy, 20 queued"},
      {"all busy, nothing queued",
       state(5, 0, 1500, 5),
       {},
       "hold",
       5,
       "stable: queue depth 0, P95 latency 1500.0ms, utilization 100.0%"},
      {"all of it",
       state(5, 100, 4000, 6),
       {},
       "up",
       7,
       "queue depth 100 > 50 (2.0x); P95 latency 4000.0ms > 2000ms (2.0x); all 5 workers busy, "
       "100 queued"},
      {"to the maximum and no further",
       state(11, 100, 0, 1),
       {},
       "up",
       12,
       "queue depth 100 > 50 (2.0x)"},
      {"at the maximum",
       state(12, 100, 0, 12),
       {},
       "hold",
       12,
       "at max_workers; queue depth 100 > 50 (2.0x); all 12 workers busy, 100 queued"},
      {"by no step", state(2, 100, 0, 1), with([](auto& c) { c.scale_up_step = 0; }), "hold", 2,
       "scale_up_step is 0; queue depth 100 > 50 (2.0x)"},
      {"a target of 0", state(2, 1, 0, 1), with([](auto& c) { c.target_queue_depth = 0; }), "up", 4,
       "queue depth 1 > 0"},
      {"a latency target of 0", state(2, 0, 1, 1),
       with([](auto& c) { c.target_p95_latency_ms = 0; }), "up", 4, "P95 latency 1.0ms > 0ms"},
  };
  expectRows(rows);
}

TEST(Adaptive, scalesDownWhenNothingSpeaksAgainstIt) {
  const Row rows[] = {
      {"low load", state(6, 10, 500, 2), {}, "down", 5, "low load: utilization 33.3% <= 70%"},
      {"every figure at its edge",
       state(10, 15, 1000, 7),
       {},
       "down",
       9,
       "low load: utilization 70.0% <= 70%"},
      {"depth above",
       state(10, 16, 1000, 7),
       {},
       "hold",
       10,
       "stable: queue depth 16, P95 latency 1000.0ms, utilization 70.0%"},
      {"latency above",
       state(10, 15, 1000.1, 7),
       {},
       "hold",
       10,
       "stable: queue depth 15, P95 latency 1000.1ms, utilization 70.0%"},
      {"utilization above",
       state(10, 0, 0, 8),
       {},
       "hold",
       10,
       "stable: queue depth 0, P95 latency 0.0ms, utilization 80.0%"},
      {"to the minimum and no further", state(6, 0, 0, 0),
       with([](auto& c) { c.scale_down_step = 9; }), "down", 1,
       "low load: utilization 0.0% <= 70%"},
      {"at the minimum",
       state(1, 0, 0, 0),
       {},
       "hold",
       1,
       "stable: queue depth 0, P95 latency 0.0ms, utilization 0.0%"},
      {"by no step", state(3, 0, 0, 0), with([](auto& c) { c.scale_down_step = 0; }), "hold", 3,
       "scale_down_step is 0"},
      {"nobody, and none wanted", state(0, 0, 0, 0), with([](auto& c) { c.min_workers = 0; }),
       "hold", 0, "stable: queue depth 0, P95 latency 0.0ms, utilization 0.0%"},
  };
  expectRows(rows);
}

TEST(Adaptive, boundsComeBeforeTheCooldown) {
  const Row rows[] = {
      {"above", state(15, 100, 0, 15, Millis(0)), {}, "down", 12, "above max_workers (15 > 12)"},
      {"below", state(0, 0, 0, 0, Millis(0)), {}, "up", 1, "below min_workers (0 < 1)"},
      {"below, and more is asked for",
       state(0, 100, 0, 0, Millis(0)),
       {},
       "up",
       2,
       "below min_workers (0 < 1); queue depth 100 > 50 (2.0x); no workers, 100 queued"},
      {"below by more than a step", state(1, 100, 0, 1), with([](auto& c) { c.min_workers = 6; }),
       "up", 6,
       "below min_workers (1 < 6); queue depth 100 > 50 (2.0x); all 1 workers busy, 100 queued"},
      {"below, without a step", state(0, 100, 0, 0), with([](auto& c) { c.scale_up_step = 0; }),
       "up", 1, "below min_workers (0 < 1); queue depth 100 > 50 (2.0x); no workers, 100 queued"},
  };
  expectRows(rows);
}

TEST(Adaptive, theCooldownEndsWithItsInterval) {
  const Row rows[] = {
      {"in it", state(2, 100, 0, 1, Millis(1000)), {}, "hold", 2, "Cooldown active (1.0s < 1.5s)"},
      {"its last millisecond",
       state(2, 100, 0, 1, Millis(1499)),
       {},
       "hold",
       2,
       "Cooldown active (1.5s < 1.5s)"},
      {"its end", state(2, 100, 0, 1, Millis(1500)), {}, "up", 4, "queue depth 100 > 50 (2.0x)"},
      {"down waits too",
       state(6, 0, 0, 0, Millis(1)),
       {},
       "hold",
       6,
       "Cooldown active (0.0s < 1.5s)"},
      {"a clock that runs behind",
       state(2, 100, 0, 1, Millis(-5000)),
       {},
       "hold",
       2,
       "Cooldown active (0.0s < 1.5s)"},
      {"no interval", state(2, 100, 0, 1, Millis(0)), with([](auto& c) { c.interval = Millis(0); }),
       "up", 4, "queue depth 100 > 50 (2.0x)"},
  };
  expectRows(rows);
  const auto skewed = decideAdaptive(state(2, 100, 0, 1, Millis(-5000)), {});
  EXPECT_EQ(skewed.clock_skew, Millis(5000));
  EXPECT_EQ(skewed.cooldown_left, Millis(1500));
  EXPECT_EQ(decideAdaptive(state(2, 100, 0, 1, Millis(400)), {}).cooldown_left, Millis(1100));
}

TEST(Adaptive, tellsAllReasonsAndBlockers) {
  const auto decision = decideAdaptive(state(5, 100, 4000, 5, Millis(0)), {});
  EXPECT_EQ(decision.up_reasons.size(), 3U);
  EXPECT_EQ(decision.down_blockers,
            (std::vector<std::string>{"queue depth 100 > 15.0", "P95 latency 4000.0ms > 1000.0ms",
                                      "utilization 100.0% > 70%"}));
}

TEST(Adaptive, presets) {
  EXPECT_EQ(findPreset("low-latency"), (AdaptiveConfig{4, 24, 500, 10, 3, 1, Millis(1500)}));
  EXPECT_EQ(findPreset("high-throughput"), (AdaptiveConfig{8, 48, 5000, 200, 4, 2, Millis(1500)}));
  EXPECT_EQ(findPreset("balanced"), AdaptiveConfig{});
  EXPECT_EQ(findPreset("cost-optimized"), (AdaptiveConfig{1, 6, 8000, 100, 1, 1, Millis(3000)}));
  EXPECT_FALSE(findPreset("fast"));
}

// Whatever the figures are, what comes out lies within the bounds, moves by no more than a step
// beyond them, and asks for no fewer workers when more jobs wait.
TEST(Adaptive, anyFiguresGiveADecisionWithinBounds) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  for (int i = 0; i < 200'000; ++i) {
    AdaptiveConfig config;
    config.min_workers = pick(10);
    config.max_workers = config.min_workers + pick(20);
    config.target_queue_depth = pick(100);
    config.target_p95_latency_ms = static_cast<double>(pick(5000));
    config.scale_up_step = pick(5);
    config.scale_down_step = pick(5);
    config.interval = Millis(pick(3000));
    AdaptiveState given = state(pick(40), pick(200), static_cast<double>(pick(10'000)), pick(50));
    if (pick(1) == 1) given.last_scale_age = Millis(pick(6000) - 1000);
    const auto decision = decideAdaptive(given, config);
    const std::int64_t current = given.current_workers, desired = decision.desired_workers;
    ASSERT_LE(desired, config.max_workers) << decision.reason;
    ASSERT_GE(desired, std::min(config.min_workers, config.max_workers)) << decision.reason;
    ASSERT_EQ(decision.direction, desired > current ? "up" : desired < current ? "down" : "hold");
    ASSERT_FALSE(decision.reason.empty());
    if (current >= config.min_workers && current <= config.max_workers) {
      ASSERT_LE(desired - current, config.scale_up_step) << decision.reason;
      ASSERT_LE(current - desired, config.scale_down_step) << decision.reason;
    }
    AdaptiveState deeper = given;
    deeper.queue_depth += pick(100);
    ASSERT_GE(decideAdaptive(deeper, config).desired_workers, desired) << decision.reason;
  }
}

ScaleState poolState(std::int64_t runnable, std::int64_t busy, std::int64_t idle = 0) {
  ScaleState pool;
  pool.runnable = pool.pending = runnable;
  pool.claimed = pool.busy = busy;
  pool.idle = pool.free_slots = pool.drainable = idle;
  return pool;
}

ScaleConfig adaptive(bool loop, AdaptiveConfig bounds = {}) {
  ScaleConfig config;
  config.loop = loop;
  config.adaptive = bounds;
  config.min_workers = bounds.min_workers;
  config.max_workers = bounds.max_workers;
  return config;
}

TEST(AdaptivePool, launchesWhatTheDecisionAddsWithinTheLimits) {
  const auto up = decideScale(poolState(100, 2), {}, adaptive(true));
  EXPECT_EQ(up.to_launch, 2);
  EXPECT_EQ(up.desired_workers, 4);
  EXPECT_EQ(up.reason,
            "queue depth 100 > 50 (2.0x); all 2 workers busy, 100 queued: 2 workers needed, "
            "launching 2");
  const auto held = decideScale(poolState(100, 2), {{}, 1, {}}, adaptive(true));
  EXPECT_EQ(held.to_launch, 1);
  EXPECT_EQ(held.binding_limit, binding_limit::kLaunchRate);
  ScaleState cooling = poolState(100, 2);
  cooling.last_scale_age = Millis(200);
  EXPECT_EQ(decideScale(cooling, {}, adaptive(true)).binding_limit, binding_limit::kCooldown);
  EXPECT_EQ(decideScale(poolState(100, 12), {}, adaptive(true)).binding_limit,
            binding_limit::kMaxWorkers);
}

TEST(AdaptivePool, onceWorkersAreLaunchedForJobsAlone) {
  EXPECT_EQ(decideScale(poolState(0, 0), {}, adaptive(false)).to_launch, 0) << "none to claim";
  EXPECT_EQ(decideScale(poolState(0, 0), {}, adaptive(true)).to_launch, 1) << "these wait";
  EXPECT_EQ(decideScale(poolState(1, 3), {}, adaptive(false)).to_launch, 1);
  ScaleState starting = poolState(1, 3);
  starting.starting = 1;
  starting.p95_latency_ms = 9000;
  EXPECT_EQ(decideScale(starting, {}, adaptive(false)).to_launch, 0) << "one is on its way";
}

// Ten jobs a check, each done by the next: a level that steps up is filled again without a step.
TEST(AdaptivePool, onceWorkersThatEndedAreReplacedWithinTheCooldown) {
  const ScaleConfig config = adaptive(false);
  ScaleMemory memory;
  Time now = fromMillis(1'000'000);
  const auto check = [&](std::int64_t jobs) {
    ScaleState pool = poolState(jobs, 0);
    memory.recallInto(pool, now);
    const auto decision = decideScale(pool, {}, config);
    memory.note(decision, config, now);
    return decision;
  };
  EXPECT_EQ(check(100).to_launch, 2) << "the first step";
  now += Millis(100);
  auto again = check(98);
  EXPECT_EQ(again.to_launch, 2) << again.reason;
  EXPECT_EQ(memory.last_scaled_at, now - Millis(100)) << "no step";
  now += Millis(1400);
  EXPECT_EQ(check(96).to_launch, 4) << "the next one";
  for (int i = 0; i < 10; ++i) {
    now += Millis(1500);
    check(90);
  }
  EXPECT_EQ(memory.level, 12) << "max_workers";
  EXPECT_EQ(check(3).to_launch, 3) << "never more than jobs";
  for (int i = 0; i < 20; ++i) {
    now += Millis(1500);
    EXPECT_EQ(check(0).to_launch, 0);
  }
  EXPECT_EQ(memory.level, 0) << "it went down again";
}

TEST(AdaptivePool, asksOnlyIdleLaunchedLoopWorkersToStop) {
  const auto down = decideScale(poolState(0, 1, 4), {}, adaptive(true));
  EXPECT_EQ(down.direction, "down");
  EXPECT_EQ(down.to_drain, 1);
  EXPECT_FALSE(down.drains_busy);
  EXPECT_EQ(down.reason, "low load: utilization 20.0% <= 70%: 1 to stop");
  EXPECT_EQ(decideScale(poolState(0, 1, 4), {}, adaptive(false)).direction, "hold");
  ScaleState by_hand = poolState(0, 1, 4);
  by_hand.drainable = 0;
  EXPECT_EQ(decideScale(by_hand, {}, adaptive(true)).direction, "hold");
}

TEST(QueuePool, stopsLoopWorkersThatWereIdleForAWhile) {
  ScaleConfig config;
  config.loop = true;
  ScaleState pool = poolState(0, 2, 5);
  EXPECT_EQ(decideScale(pool, {}, config).spare, 5);
  EXPECT_EQ(decideScale(pool, {}, config).direction, "hold") << "not for long enough yet";
  pool.spare_for_a_while = 3;
  auto decision = decideScale(pool, {}, config);
  EXPECT_EQ(decision.direction, "down");
  EXPECT_EQ(decision.to_drain, 3);
  EXPECT_FALSE(decision.drains_busy);
  EXPECT_EQ(decision.desired_workers, 4);
  EXPECT_EQ(decision.reason,
            "0 runnable jobs, 5 slots free, 0 starting: 3 workers idle for a while, to stop");
  config.warm_idle = 4;
  EXPECT_EQ(decideScale(pool, {}, config).to_drain, 1) << "the rest is kept warm";
  config.warm_idle = 0;
  config.min_workers = 6;
  EXPECT_EQ(decideScale(pool, {}, config).to_drain, 1) << "the floor";
  config.min_workers = 0;
  pool.runnable = 4;
  EXPECT_EQ(decideScale(pool, {}, config).to_drain, 1) << "four have a job to take";
  pool.drainable = 0;
  EXPECT_EQ(decideScale(pool, {}, config).to_drain, 0) << "started by hand";
  config.loop = false;
  pool.drainable = 5;
  EXPECT_EQ(decideScale(pool, {}, config).to_drain, 0) << "once-workers end by themselves";
}

TEST(QueuePool, floorsOfTheHourSayWhereTheyComeFrom) {
  ScaleConfig config;
  config.loop = true;
  config.min_workers = 1;
  ScaleState pool = poolState(0, 0);
  pool.scheduled_floor = 3;
  auto decision = decideScale(pool, {}, config);
  EXPECT_EQ(decision.to_launch, 3);
  EXPECT_EQ(decision.reason,
            "0 runnable jobs, 0 slots free, 0 starting, at least 3 wanted by schedule: 3 workers "
            "needed, launching 3");
  pool.predicted_floor = 5;
  decision = decideScale(pool, {}, config);
  EXPECT_EQ(decision.to_launch, 5);
  EXPECT_NE(decision.reason.find("at least 5 wanted by prediction"), std::string::npos);
  pool.predicted_floor = 500;
  EXPECT_EQ(decideScale(pool, {}, config).to_launch, 10) << "max_workers holds";
  pool.scheduled_floor = pool.predicted_floor = 0;
  EXPECT_EQ(decideScale(pool, {}, config).to_launch, 1);
}

TEST(QueuePool, anOpenCircuitLaunchesNobody) {
  ScaleState pool = poolState(0, 0);
  pool.pending = 50;
  pool.circuit_allows = 0;
  const auto decision = decideScale(pool, {}, {});
  EXPECT_EQ(decision.to_launch, 0);
  EXPECT_EQ(decision.binding_limit, binding_limit::kCircuit);
  pool.circuit_allows = pool.runnable = 1;
  EXPECT_EQ(decideScale(pool, {}, {}).to_launch, 1) << "a probe is due";
}

TEST(QueuePool, anyStateGivesADecisionWithinBounds) {
  std::mt19937_64 random(11);
  const auto pick = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  for (int i = 0; i < 200'000; ++i) {
    ScaleConfig config;
    config.loop = pick(1) == 1;
    config.min_workers = pick(5);
    config.max_workers = config.min_workers + pick(20);
    config.warm_idle = pick(3);
    config.slots = 1 + pick(3);
    config.jobs_per_worker = 1 + pick(3);
    if (pick(3) == 0) config.target_workers = pick(20);
    if (pick(2) == 0) {
      config.adaptive = AdaptiveConfig{};
      config.adaptive->min_workers = config.min_workers;
      config.adaptive->max_workers = config.max_workers;
    }
    ScaleState pool = poolState(pick(60), pick(12), pick(12));
    pool.free_slots = pool.idle * config.slots;
    pool.starting = pick(5);
    pool.terminating = pick(3);
    pool.maybe_alive = pick(2);
    pool.drainable = pick(pool.idle);
    pool.p95_latency_ms = static_cast<double>(pick(5000));
    if (pick(1) == 1) pool.spare_for_a_while = pick(10);
    ScaleLimits limits;
    if (pick(1) == 1) limits.launch_tokens = pick(20);
    const auto decision = decideScale(pool, limits, config);
    const std::int64_t occupied = pool.current() + pool.terminating + pool.maybe_alive;
    ASSERT_GE(decision.to_launch, 0);
    ASSERT_TRUE(decision.to_launch == 0 || occupied + decision.to_launch <= config.max_workers)
        << decision.reason;
    ASSERT_LE(decision.to_launch, limits.launch_tokens.value_or(1000));
    ASSERT_TRUE(decision.to_launch == 0 || decision.to_drain == 0) << decision.reason;
    ASSERT_LE(decision.to_drain, decision.drains_busy ? pool.busy + pool.idle : pool.drainable);
    ASSERT_EQ(decision.desired_workers, pool.current() + decision.to_launch - decision.to_drain);
    ScaleState deeper = pool;
    deeper.runnable += pick(30);
    deeper.pending = deeper.runnable;
    ASSERT_GE(decideScale(deeper, limits, config).desired_workers, decision.desired_workers)
        << decision.reason;
  }
}

}  // namespace
}  // namespace muster
