#include "models/policy/scaling.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Row {
  const char* name;
  ScaleState state;
  ScaleConfig config;
  std::int64_t launch;
  std::string_view limit;
  ScaleLimits limits = {};
};

ScaleState workers(std::int64_t runnable, std::int64_t busy, std::int64_t idle = 0,
                   std::int64_t starting = 0, std::int64_t terminating = 0,
                   std::int64_t maybe_alive = 0) {
  ScaleState state;
  state.runnable = state.pending = runnable;
  state.claimed = busy;
  state.busy = busy;
  state.idle = state.free_slots = idle;
  state.starting = starting;
  state.terminating = terminating;
  state.maybe_alive = maybe_alive;
  return state;
}

ScaleConfig atMost(std::int64_t max_workers) {
  ScaleConfig config;
  config.max_workers = max_workers;
  return config;
}

ScaleConfig warm(std::int64_t idle) {
  ScaleConfig config;
  config.warm_idle = idle;
  return config;
}

ScaleConfig slots(std::int64_t each) {
  ScaleConfig config;
  config.slots = config.jobs_per_worker = each;
  return config;
}

ScaleConfig atLeast(std::int64_t min_workers, bool loop) {
  ScaleConfig config;
  config.min_workers = min_workers;
  config.loop = loop;
  return config;
}

ScaleConfig target(std::int64_t number, bool loop = true) {
  ScaleConfig config;
  config.target_workers = number;
  config.loop = loop;
  return config;
}

TEST(Scaling, theTableOfTheQueueMode) {
  namespace limit = binding_limit;
  ScaleState four_slots = workers(10, 0, 1);
  four_slots.free_slots = 4;
  ScaleState unknown = workers(10, 0);
  unknown.known = false;
  ScaleState delayed, unplaceable, one_of_three = workers(1, 1);
  delayed.pending = 1;
  unplaceable.pending = unplaceable.unplaceable = 1;
  one_of_three.pending = 3;
  ScaleState elsewhere = workers(3, 1);
  elsewhere.elsewhere = 2;
  ScaleConfig paused, nameless;
  paused.paused = true;
  nameless.has_template = false;
  const Row rows[] = {
      {"nobody, nothing", workers(0, 0), {}, 0, limit::kNoDemand},
      {"10 jobs, max 3", workers(10, 0), atMost(3), 3, limit::kMaxWorkers},
      {"1000 jobs", workers(1000, 0), {}, 10, limit::kMaxWorkers},
      {"2 jobs", workers(2, 0), {}, 2, limit::kDemand},
      {"busy workers do not serve", workers(3, 3), {}, 3, limit::kDemand},
      {"two and two", workers(2, 2), {}, 2, limit::kDemand},
      {"starting workers count", workers(10, 0, 0, 10), atMost(20), 0, limit::kNoDemand},
      {"half are starting", workers(10, 0, 0, 5), {}, 5, limit::kDemand},
      {"an idle worker takes one", workers(4, 5, 1, 2), {}, 1, limit::kDemand},
      {"one job, one idle", workers(1, 0, 1), {}, 0, limit::kNoDemand},
      {"full", workers(50, 10), {}, 0, limit::kMaxWorkers},
      {"full at 3", workers(7, 3), atMost(3), 0, limit::kMaxWorkers},
      {"leaving ones hold places", workers(5, 6, 0, 0, 1, 2), {}, 1, limit::kMaxWorkers},
      {"host slots", workers(20, 0), atMost(50), 6, limit::kHostSlots, {6, {}, {}}},
      {"launch rate", workers(20, 0), atMost(50), 4, limit::kLaunchRate, {6, 4, {}}},
      {"breaker", workers(20, 0), atMost(50), 0, limit::kBreaker, {6, 4, 0}},
      {"the host's disk", workers(20, 0), atMost(50), 0, limit::kResourcePressure, {6, 4, 2, 0}},
      {"disk first of two", workers(20, 0), {}, 0, limit::kResourcePressure, {{}, 0, 0, 0}},
      {"full is told before the disk", workers(20, 10), {}, 0, limit::kMaxWorkers, {{}, {}, {}, 0}},
      {"nobody is needed there", workers(0, 0), {}, 0, limit::kNoDemand, {{}, {}, {}, 0}},
      {"warm, all busy", workers(0, 2), warm(2), 2, limit::kDemand},
      {"warm, idle ones are needed", workers(3, 4, 2), warm(2), 3, limit::kDemand},
      {"four slots each", four_slots, slots(4), 2, limit::kDemand},
      {"floor of loop workers", workers(0, 0), atLeast(3, true), 3, limit::kDemand},
      {"no floor without jobs for once-workers", workers(0, 0), atLeast(3, false), 0,
       limit::kNoDemand},
      {"no floor for a delayed job", delayed, atLeast(1, false), 0, limit::kNoDemand},
      {"no floor for an unplaceable job", unplaceable, atLeast(1, false), 0, limit::kNoDemand},
      {"loop workers wait for it", delayed, atLeast(1, true), 1, limit::kDemand},
      {"a floor as high as jobs can be claimed", one_of_three, atLeast(3, false), 1,
       limit::kDemand},
      {"no target for a delayed job", delayed, target(1, false), 0, limit::kNoDemand},
      {"nobody for jobs that others must run", elsewhere, {}, 1, limit::kDemand},
      {"nor a floor", elsewhere, atLeast(4, false), 1, limit::kDemand},
      {"nor a target", elsewhere, target(4, false), 1, limit::kDemand},
      {"paused", workers(5, 0), paused, 0, limit::kPaused},
      {"no template", workers(5, 0), nameless, 0, limit::kNoTemplate},
      {"unreadable", unknown, {}, 0, limit::kUnknownState},
      {"over the maximum already", workers(5, 12), {}, 0, limit::kMaxWorkers},
      {"target, deficit", workers(0, 1), target(4), 3, limit::kDemand},
      {"target, once-workers need jobs", workers(2, 0), target(4, false), 2, limit::kDemand},
      {"target above the maximum", workers(0, 0), target(40), 10, limit::kMaxWorkers},
  };
  for (const Row& row : rows) {
    const ScaleDecision decision = decideScale(row.state, row.limits, row.config);
    EXPECT_EQ(decision.to_launch, row.launch) << row.name << ": " << decision.reason;
    EXPECT_EQ(decision.binding_limit, row.limit) << row.name << ": " << decision.reason;
    EXPECT_EQ(decision.direction, row.launch > 0 ? "up" : "hold") << row.name;
    EXPECT_EQ(decision.desired_workers, row.state.current() + row.launch) << row.name;
    EXPECT_FALSE(decision.reason.empty()) << row.name;
  }
}

TEST(Scaling, aTargetBelowWhatIsThereDrains) {
  const ScaleDecision decision = decideScale(workers(9, 3, 2), {}, target(2));
  EXPECT_EQ(decision.direction, "down");
  EXPECT_EQ(decision.to_drain, 3);
  EXPECT_EQ(decision.desired_workers, 2);
  EXPECT_EQ(decision.to_launch, 0);
}

TEST(Scaling, nobody_makes_room_on_a_host_that_launches_nobody) {
  ScaleState state = workers(1, 0, 2);
  state.free_slots = 0;
  state.in_the_way = 2;
  EXPECT_TRUE(decideScale(state, {}, atMost(2)).makes_room);
  const ScaleDecision decision = decideScale(state, {{}, {}, {}, 0}, atMost(2));
  EXPECT_FALSE(decision.makes_room);
  EXPECT_EQ(decision.to_drain, 0);
}

TEST(Scaling, aReasonIsASentence) {
  EXPECT_EQ(decideScale(workers(10, 0), {}, atMost(3)).reason,
            "10 runnable jobs, 0 slots free, 0 starting: 10 workers needed, max_workers allows 3");
  EXPECT_EQ(decideScale(workers(1, 0), {}, {}).reason,
            "1 runnable job, 0 slots free, 0 starting: 1 worker needed, launching 1");
  EXPECT_EQ(
      decideScale(workers(1, 0), {{}, {}, {}, 0}, {}).reason,
      "1 runnable job, 0 slots free, 0 starting: 1 worker needed, resource_pressure allows 0");
}

TEST(Scaling, aReasonTellsOfJobsThatOthersMustRun) {
  ScaleState state = workers(1, 1);
  state.elsewhere = 1;
  EXPECT_EQ(decideScale(state, {}, {}).reason,
            "1 runnable job, 0 slots free, 0 starting, 1 job not for workers launched here: nobody "
            "is needed");
}

TEST(Scaling, everyReasonTellsOfJobsThatCannotBePlaced) {
  ScaleConfig paused, nameless;
  paused.paused = true;
  nameless.has_template = false;
  ScaleState state = workers(0, 0);
  state.unplaceable = state.pending = 3;
  state.unplaceable_jobs = {{3, R"({"region":"eu"})", "nobody is there"}};
  for (const ScaleConfig& config : {ScaleConfig(), paused, nameless, target(0)}) {
    const ScaleDecision decision = decideScale(state, {}, config);
    EXPECT_TRUE(decision.reason.ends_with("; 3 jobs cannot be placed: nobody is there"))
        << decision.reason;
    EXPECT_EQ(decision.to_launch, 0) << "nobody is launched for them";
  }
  EXPECT_EQ(decideScale(state, {}, {}).reason,
            "0 runnable jobs, 0 slots free, 0 starting: nobody is needed; 3 jobs cannot be placed: "
            "nobody is there");
}

// Jobs come 0.2 s apart and workers take 3 s to boot: each is launched for exactly one job.
TEST(Scaling, aBurstWithSlowWorkersLaunchesOnePerJob) {
  constexpr int kJobs = 50, kBoot = 30, kStep = 2;  // tenths of a second
  std::vector<int> boots;                           // when the workers on their way will be there
  std::int64_t waiting = 0, launched = 0;
  for (int now = 0; now < kJobs * kStep + 2 * kBoot; ++now) {
    if (now % kStep == 0 && now / kStep < kJobs) ++waiting;
    std::erase_if(boots, [&](int ready) {
      if (ready > now) return false;
      --waiting;  // it claims at once
      return true;
    });
    const auto decision = decideScale(
        workers(waiting, 0, 0, static_cast<std::int64_t>(boots.size())), {}, atMost(100));
    for (std::int64_t i = 0; i < decision.to_launch; ++i) boots.push_back(now + kBoot);
    launched += decision.to_launch;
  }
  EXPECT_EQ(launched, kJobs);
  EXPECT_EQ(waiting, 0);
}

}  // namespace
}  // namespace muster
