#include "models/policy/simulation.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

namespace muster {
namespace {

const Time kStart = fromMillis(1'700'000'000'000);

RecordedJob jobAt(Millis at, Millis run, int priority = 0) {
  RecordedJob job;
  job.at = kStart + at;
  job.run = run;
  job.priority = priority;
  return job;
}

SimulationOutcome replay(std::vector<RecordedJob> jobs, SimulationRules rules) {
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].order = static_cast<std::int64_t>(i);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  if (rules.to == Time()) rules.to = kStart;
  std::size_t next = 0;
  return simulate(
      [&]() -> std::optional<RecordedJob> {
        if (next == jobs.size()) return std::nullopt;
        return jobs[next++];
      },
      rules);
}

std::vector<RecordedJob> burst(int count, Millis run) {
  return std::vector<RecordedJob>(static_cast<std::size_t>(count), jobAt(Millis(0), run));
}

SimulationRules atMost(std::int64_t max_workers) {
  SimulationRules rules;
  rules.config.max_workers = max_workers;
  rules.launch_rate = 1000;
  return rules;
}

SimulationRules looping(std::int64_t max_workers, Millis idle_timeout = Seconds(30)) {
  SimulationRules rules = atMost(max_workers);
  rules.config.loop = true;
  rules.idle_timeout = idle_timeout;
  return rules;
}

TEST(Simulation, tenJobsOfASecondOnThreeWorkers) {
  const auto outcome = replay(burst(10, Seconds(1)), atMost(3));
  const LoadFigures& figures = outcome.figures;
  EXPECT_EQ(outcome.jobs, 10);
  EXPECT_EQ(outcome.tries, 10);
  EXPECT_EQ(figures.launches, 10) << "each takes one job";
  EXPECT_EQ(figures.peak_workers, 3);
  EXPECT_EQ(figures.worker_time, Seconds(10));
  // Three each wait 0, 1 and 2 s, one waits 3 s.
  EXPECT_NEAR(static_cast<double>(figures.p50_wait.count()), 1000, 10);
  EXPECT_NEAR(static_cast<double>(figures.p95_wait.count()), 3000, 30);
  EXPECT_EQ(figures.max_wait, Seconds(3));
  EXPECT_EQ(figures.wasted_starts, 0);
  EXPECT_EQ(figures.unfinished, 0);
  EXPECT_EQ(figures.finished_at, kStart + Seconds(4));
}

TEST(Simulation, bootTimesCountAsWaitAndAsWorkerTime) {
  SimulationRules rules = atMost(1);
  rules.boot_times = {Millis(100), Millis(300)};
  const auto figures = replay(burst(3, Seconds(1)), rules).figures;
  // They are taken in turn: 100, 300, 100.
  EXPECT_EQ(figures.launches, 3);
  EXPECT_EQ(figures.worker_time, Millis(3500));
  EXPECT_EQ(figures.finished_at, kStart + Millis(3500));
  EXPECT_EQ(figures.max_wait, Millis(2500));
}

TEST(Simulation, loopWorkersAreLaunchedOnceAndWaitForMore) {
  SimulationRules rules = looping(3, Seconds(2));
  rules.to = kStart + Seconds(60);
  const auto figures = replay(burst(10, Seconds(1)), rules).figures;
  EXPECT_EQ(figures.launches, 3);
  EXPECT_EQ(figures.peak_workers, 3);
  EXPECT_EQ(figures.finished_at, kStart + Seconds(4));
  // One has four jobs and two have three; each waits 2 s for another.
  EXPECT_EQ(figures.worker_time, Seconds(6 + 5 + 5));
  EXPECT_EQ(figures.wasted_starts, 0);
}

TEST(Simulation, loopWorkersEndAfterTheirLastJob) {
  SimulationRules rules = looping(1);
  rules.worker_max_jobs = 2;
  rules.to = kStart + Seconds(60);
  const auto figures = replay(burst(4, Seconds(1)), rules).figures;
  EXPECT_EQ(figures.launches, 2);
  EXPECT_EQ(figures.worker_time, Seconds(4));
}

TEST(Simulation, aLoopWorkerOfSeveralSlotsRunsAsManyJobsAtATime) {
  SimulationRules rules = looping(1, Seconds(1));
  rules.config.slots = rules.config.jobs_per_worker = 4;
  rules.to = kStart + Seconds(60);
  const auto figures = replay(burst(8, Seconds(1)), rules).figures;
  EXPECT_EQ(figures.launches, 1);
  EXPECT_EQ(figures.finished_at, kStart + Seconds(2));
  EXPECT_EQ(figures.max_wait, Seconds(1));
}

TEST(Simulation, aOnceWorkerOfSeveralSlotsFillsThemOnce) {
  SimulationRules rules = atMost(1);
  rules.config.slots = rules.config.jobs_per_worker = 4;
  const auto figures = replay(burst(8, Seconds(1)), rules).figures;
  EXPECT_EQ(figures.launches, 2);
  EXPECT_EQ(figures.worker_time, Seconds(2));
}

TEST(Simulation, keptWarmWorkersTakeJobsAtOnce) {
  SimulationRules cold = looping(5, Millis(0));
  cold.boot_times = {Seconds(2)};
  cold.from = kStart - Seconds(30);
  SimulationRules warm = cold;
  warm.config.warm_idle = 2;
  const std::vector<RecordedJob> jobs = {jobAt(Seconds(0), Seconds(1)),
                                         jobAt(Seconds(0), Seconds(1))};
  EXPECT_EQ(replay(jobs, cold).figures.max_wait, Seconds(2));
  EXPECT_EQ(replay(jobs, warm).figures.max_wait, Seconds(0));
  EXPECT_GT(replay(jobs, warm).figures.worker_time, replay(jobs, cold).figures.worker_time);
}

TEST(Simulation, theFewestWorkersAreThereFromTheBeginning) {
  SimulationRules rules = looping(5, Millis(0));
  rules.config.min_workers = 2;
  rules.from = kStart;
  rules.to = kStart + Seconds(100);
  const auto outcome = replay({}, rules);
  EXPECT_EQ(outcome.jobs, 0);
  EXPECT_EQ(outcome.figures.launches, 2);
  EXPECT_EQ(outcome.figures.worker_time, Seconds(200));
  EXPECT_FALSE(outcome.figures.finished_at);
}

TEST(Simulation, withoutAnythingThereIsNothing) {
  const auto outcome = replay({}, atMost(3));
  EXPECT_EQ(outcome.figures, LoadFigures());
  EXPECT_FALSE(outcome.from);
}

TEST(Simulation, onceWorkersThatFindNoJobAreWasted) {
  SimulationRules rules = atMost(2);
  rules.config.warm_idle = 1;  // which a once-worker cannot be for long
  rules.boot_times = {Millis(0), Seconds(10), Seconds(60)};
  rules.to = kStart + Seconds(20);
  const auto figures = replay({jobAt(Seconds(0), Seconds(1))}, rules).figures;
  EXPECT_EQ(figures.launches, 3) << "for the job, to be warm, and for the one that went";
  EXPECT_EQ(figures.wasted_starts, 1);
  EXPECT_EQ(figures.worker_time, Millis(1000 + 10'000 + 10'000)) << "the last one is starting";
}

TEST(Simulation, theHighestPriorityIsTakenFirstThenTheOldest) {
  // On one worker: the urgent one overtakes, so its wait is the shortest of those that wait.
  const auto figures = replay({jobAt(Millis(0), Seconds(10)), jobAt(Seconds(1), Seconds(10)),
                               jobAt(Seconds(2), Seconds(1), 5)},
                              atMost(1))
                           .figures;
  EXPECT_EQ(figures.finished_at, kStart + Seconds(21));
  EXPECT_EQ(figures.max_wait, Seconds(10)) << "11 s after the start, one after it came";
}

TEST(Simulation, aRetryComesAfterTheSimulatedTry) {
  RecordedJob job = jobAt(Millis(0), Seconds(2));
  job.retries = {{Seconds(3), Seconds(4)}};
  SimulationRules rules = atMost(1);
  rules.boot_times = {Seconds(1)};
  const auto outcome = replay({job}, rules);
  EXPECT_EQ(outcome.jobs, 1);
  EXPECT_EQ(outcome.tries, 2);
  EXPECT_EQ(outcome.figures.launches, 2);
  // Up after 1 s, fails after 3, may run again after 6, up after 7, done after 11.
  EXPECT_EQ(outcome.figures.finished_at, kStart + Seconds(11));
  EXPECT_EQ(outcome.figures.max_wait, Seconds(1));
}

TEST(Simulation, aRunThatIsNotKnownIsTheMedianOfThoseBefore) {
  std::vector<RecordedJob> jobs = {jobAt(Seconds(0), Millis(50)), jobAt(Seconds(10), Millis(50)),
                                   jobAt(Seconds(20), Seconds(7)), jobAt(Seconds(30), Seconds(1))};
  jobs[3].run.reset();
  EXPECT_EQ(replay(jobs, atMost(1)).figures.finished_at, kStart + Millis(30'050));
}

TEST(Simulation, launchesKeepToTheRate) {
  SimulationRules rules = atMost(100);
  rules.launch_rate = 10;
  const auto figures = replay(burst(30, Seconds(10)), rules).figures;
  EXPECT_EQ(figures.launches, 30);
  // Ten at once, the others one each tenth of a second.
  EXPECT_EQ(figures.max_wait, Seconds(2));
}

TEST(Simulation, launchesKeepToThePlacesOnTheHosts) {
  SimulationRules rules = atMost(100);
  rules.host_slots = 2;
  EXPECT_EQ(replay(burst(10, Seconds(1)), rules).figures.peak_workers, 2);
}

TEST(Simulation, aTargetIsReachedFromAboveByDraining) {
  SimulationRules rules = looping(10, Millis(0));
  rules.config.target_workers = 2;
  rules.to = kStart + Seconds(10);
  const auto figures = replay(burst(10, Seconds(1)), rules).figures;
  EXPECT_EQ(figures.peak_workers, 2);
  EXPECT_EQ(figures.launches, 2);
  EXPECT_EQ(figures.worker_time, Seconds(20)) << "they stay";
}

TEST(Simulation, idleWorkersAreGivenUpAfterAWhile) {
  SimulationRules rules = looping(10, Millis(0));
  rules.to = kStart + Seconds(600);
  const auto figures = replay(burst(10, Seconds(1)), rules).figures;
  EXPECT_EQ(figures.launches, 10);
  EXPECT_LT(figures.worker_time, Seconds(10 * 100)) << "about a minute each, not ten";
  EXPECT_GE(figures.worker_time, Seconds(10 * 60));
}

TEST(Simulation, aScheduledFloorHoldsFromItsMinuteOn) {
  SimulationRules rules = looping(10, Millis(0));
  rules.from = kStart;
  rules.to = kStart + Seconds(600);
  rules.scheduled_floor = [](Time now) { return now >= kStart + Seconds(300) ? 3 : 0; };
  const auto figures = replay({}, rules).figures;
  EXPECT_EQ(figures.launches, 3);
  EXPECT_NEAR(std::chrono::duration<double>(figures.worker_time).count(), 900, 3 * 65);
}

TEST(Simulation, adaptiveModeFollowsTheLatencyWithItsCooldown) {
  SimulationRules rules = looping(10, Millis(0));
  rules.config.adaptive = AdaptiveConfig{.min_workers = 1,
                                         .max_workers = 10,
                                         .target_p95_latency_ms = 500,
                                         .target_queue_depth = 5,
                                         .scale_up_step = 2,
                                         .scale_down_step = 1,
                                         .interval = Millis(10'000)};
  std::vector<RecordedJob> jobs;
  for (int i = 0; i < 600; ++i) jobs.push_back(jobAt(Millis(i * 200), Seconds(1)));
  const auto figures = replay(jobs, rules).figures;
  EXPECT_GE(figures.peak_workers, 5) << "five jobs a second of a second each";
  EXPECT_LE(figures.peak_workers, 10);
  EXPECT_GT(figures.max_wait, Seconds(5)) << "it grows by two each ten seconds";
  rules.config.adaptive->interval = Millis(0);
  EXPECT_LT(replay(jobs, rules).figures.max_wait, figures.max_wait);
}

TEST(Simulation, aPolicyThatCannotCopeComesToAnEnd) {
  const auto outcome = replay(burst(5, Seconds(1)), atMost(0));
  EXPECT_EQ(outcome.jobs, 5);
  EXPECT_EQ(outcome.tries, 0);
  EXPECT_EQ(outcome.figures.unfinished, 5);
  EXPECT_EQ(outcome.figures.max_wait, kLongestTail);
  EXPECT_FALSE(outcome.figures.finished_at);
}

TEST(Simulation, canBeStopped) {
  SimulationRules rules = atMost(0);
  int asked = 0;
  rules.stopped = [&asked] { return ++asked > 2; };
  replay(burst(5, Seconds(1)), rules);
  EXPECT_EQ(asked, 3);
}

TEST(Simulation, checksOfOneMomentAreOne) {
  std::vector<RecordedJob> jobs;
  for (int i = 0; i < 30; ++i) jobs.push_back(jobAt(Millis(i), Seconds(1)));
  SimulationRules rules = atMost(100);
  rules.to = kStart + Millis(900);
  const auto outcome = replay(jobs, rules);
  EXPECT_EQ(outcome.figures.launches, 30);
  EXPECT_EQ(outcome.figures.max_wait, Millis(29)) << "the second came just after the first check";
}

// Numbers that look like chance and are the same each time.
class Noise {
 public:
  std::int64_t upTo(std::int64_t most) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(most + 1));
  }

 private:
  std::uint64_t state_ = 42;
};

// A day of jobs that exist one at a time.
SimulationOutcome replayADay(int jobs, const SimulationRules& rules) {
  Noise noise;
  int made = 0;
  Time at = kStart;
  return simulate(
      [&]() -> std::optional<RecordedJob> {
        if (made == jobs) return std::nullopt;
        at += Millis(noise.upTo(2 * 86'400'000 / jobs));
        RecordedJob job;
        job.at = at;
        job.order = ++made;
        job.priority = static_cast<int>(noise.upTo(3));
        job.run = Millis(noise.upTo(1000));
        if (noise.upTo(99) == 0) job.retries.push_back({Millis(400), Millis(noise.upTo(1000))});
        return job;
      },
      rules);
}

TEST(Simulation, isTheSameEachTime) {
  for (const bool loop : {false, true}) {
    SimulationRules rules = loop ? looping(20) : atMost(20);
    rules.boot_times = {Millis(20), Millis(35), Millis(1000)};
    rules.to = kStart + std::chrono::days(1);
    const auto first = replayADay(20'000, rules), second = replayADay(20'000, rules);
    EXPECT_EQ(first.figures, second.figures);
    EXPECT_EQ(first.checks, second.checks);
    EXPECT_EQ(first.tries, second.tries);
    EXPECT_GT(first.tries, first.jobs);
    EXPECT_EQ(first.figures.unfinished, 0);
    EXPECT_TRUE(loop || first.figures.launches == first.tries) << "one for each try";
  }
}

// Kept, a million jobs would be more than 60 MB.
TEST(Simulation, keepsNothingOfWhatIsOver) {
  const auto peak_kilobytes = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  SimulationRules rules = looping(20);
  rules.to = kStart + std::chrono::days(1);
  const auto before = peak_kilobytes();
  const auto outcome = replayADay(1'000'000, rules);
  EXPECT_LT(peak_kilobytes() - before, 20'000);
  EXPECT_EQ(outcome.jobs, 1'000'000);
  EXPECT_EQ(outcome.figures.unfinished, 0);
}

TEST(Simulation, oneWorkerForEachTryWhateverTheLimit) {
  for (const std::int64_t most : {1, 2, 5, 50}) {
    SimulationRules rules = atMost(most);
    rules.to = kStart + std::chrono::days(1);
    const auto outcome = replayADay(5'000, rules);
    EXPECT_EQ(outcome.figures.launches, outcome.tries) << most;
    EXPECT_EQ(outcome.figures.wasted_starts, 0) << most;
    EXPECT_LE(outcome.figures.peak_workers, most);
    EXPECT_EQ(outcome.figures.unfinished, 0) << most;
  }
}

}  // namespace
}  // namespace muster
