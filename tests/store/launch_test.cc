#include <algorithm>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

constexpr Millis kStartTimeout = Seconds(30);

class LaunchTest : public StoreTest {
 protected:
  LaunchTest() {
    rules.host = "here";
    rules.templates = {{"t", {"v1"}}};
    reopen();
    PoolSettings settings;
    settings.template_name = "t";
    settings.launch_backoff_base_seconds = 1;
    settings.launch_suspend_after = 3;
    setPool(settings);
  }

  LaunchOrder order() {
    return write([](Store& s) { return s.launches().order(*pool(s), kStartTimeout); });
  }
  Result<Worker> admit(const LaunchOrder& launch, const std::string& token, std::int64_t pid = 7) {
    return write([&](Store& s) {
      NewWorker worker;
      worker.id = launch.worker;
      worker.pool = "p";
      worker.host = "here";
      worker.pid = pid;
      worker.mode = "once";
      return s.launches().admit(worker, token);
    });
  }
  void exited(const LaunchOrder& launch, const ProcessEnd& end) {
    write([&](Store& s) {
      s.launches().exited(launch.worker, end);
      return 0;
    });
  }
  Worker worker(const LaunchOrder& launch) {
    return write([&](Store& s) { return *s.workers().find(launch.worker); });
  }
  ScaleState state() {
    return write([](Store& s) { return s.scaling().state(*pool(s)); });
  }
  void drain(std::int64_t count, bool busy_too) {
    ScaleDecision decision;
    decision.direction = "down";
    decision.to_drain = count;
    decision.drains_busy = busy_too;
    write([&](Store& s) {
      s.scaling().apply(*pool(s), decision);
      return 0;
    });
  }
  LaunchRecord record() {
    return write([](Store& s) { return s.launches().record(*pool(s)); });
  }
  std::vector<Job> claimAs(const LaunchOrder& launch) {
    return write([&](Store& s) {
      auto jobs = s.jobs().claim(*pool(s), launch.worker.str(), {}, 1);
      if (!jobs.empty()) s.launches().tookAJob(launch.worker);
      return jobs;
    });
  }
  static std::shared_ptr<const Pool> pool(Store& s) { return s.pools().find(PoolId("p")); }
};
MUSTER_ON_EVERY_BACKEND(LaunchTest);

TEST_P(LaunchTest, aWorkerIsStartingUntilItShowsItsToken) {
  const LaunchOrder launch = order();
  EXPECT_EQ(state().starting, 1);
  EXPECT_EQ(codeOf(admit(launch, "")), ErrorCode::kWorkerIdTaken);
  EXPECT_EQ(codeOf(admit(launch, "wrong")), ErrorCode::kGone);
  EXPECT_EQ(admit(launch, launch.token).value().status, "active");
  EXPECT_EQ(state().starting, 0);
  EXPECT_EQ(state().free_slots, 1);
  EXPECT_EQ(state().idle, 1);
}

TEST_P(LaunchTest, aWorkerHasWhatItsTemplateDeclaresAndWhatElseItNames) {
  using Names = std::vector<std::string>;
  rules.templates = {{"t", {"v1", {"gpu"}, {"docker"}}}};
  reopen();
  PoolSettings settings;
  settings.template_name = "t";
  setPool(settings);
  const LaunchOrder silent = order(), talking = order();
  EXPECT_EQ(worker(silent).capabilities, Names{"gpu"}) << "before it has registered";
  EXPECT_EQ(worker(silent).executor_types, Names{"docker"});
  ASSERT_TRUE(admit(silent, silent.token));
  EXPECT_EQ(worker(silent).capabilities, Names{"gpu"});
  EXPECT_EQ(worker(silent).executor_types, Names{"docker"});

  NewWorker given;
  given.id = talking.worker;
  given.pool = "p";
  given.capabilities = {"big", "gpu"};
  given.executor_types = {"python"};
  const Worker made =
      write([&](Store& s) { return s.launches().admit(given, talking.token); }).value();
  EXPECT_EQ(made.capabilities, (Names{"gpu", "big"}));
  EXPECT_EQ(made.executor_types, (Names{"docker", "python"}));

  NewJob job{.data = "1"};
  job.placement.capabilities = {"gpu"};
  push(job);
  const auto claimed = write([&](Store& s) {
    const auto traits = s.workers().claimer(silent.worker).value().traits;
    return s.jobs().claim(*pool(s), silent.worker.str(), traits, 1);
  });
  EXPECT_EQ(claimed.size(), 1U);
}

TEST_P(LaunchTest, aTokenIsGoodForOneProcess) {
  const LaunchOrder launch = order();
  ASSERT_TRUE(admit(launch, launch.token));
  EXPECT_TRUE(admit(launch, launch.token)) << "the same process may not have heard the answer";
  EXPECT_EQ(codeOf(admit(launch, launch.token, 8)), ErrorCode::kGone);
}

TEST_P(LaunchTest, an_ended_launched_worker_cannot_register_again) {
  const LaunchOrder launch = order();
  ASSERT_TRUE(admit(launch, launch.token));
  EXPECT_EQ(worker(launch).registration, launch.registration);
  exited(launch, ProcessEnd{.exit_code = 0});
  for (const std::string& token : {launch.token, std::string()}) {
    const auto again = admit(launch, token);
    ASSERT_FALSE(again) << token;
    EXPECT_EQ(again.error().code, ErrorCode::kGone) << token;
  }
  EXPECT_EQ(worker(launch).status, worker_status::kTerminated);
}

TEST_P(LaunchTest, aTokenExpires) {
  const LaunchOrder launch = order();
  clock.advance(kStartTimeout + Millis(1));
  EXPECT_EQ(codeOf(admit(launch, launch.token)), ErrorCode::kGone);
  EXPECT_EQ(worker(launch).status, "starting");
}

TEST_P(LaunchTest, whoeverDoesNotRegisterInTimeIsLostAndHoldsItsPlaceUntilItIsDead) {
  const LaunchOrder launch = order();
  write([&](Store& s) { return s.launches().started(launch.worker, "7:1"), 0; });
  clock.advance(kStartTimeout + Millis(1));
  EXPECT_EQ(write([](Store& s) { return s.launches().giveUpStarting(10); }), 1);
  EXPECT_EQ(worker(launch).status, "lost");
  EXPECT_EQ(state().starting, 0);
  EXPECT_EQ(state().maybe_alive, 1);
  EXPECT_EQ(record().failures, 1);
  exited(launch, {.exit_signal = 9});
  EXPECT_EQ(state().maybe_alive, 0);
  EXPECT_EQ(record().failures, 1) << "one launch fails once";
}

TEST_P(LaunchTest, aWorkerThatCrashesGivesItsJobBackWithTheTryCounted) {
  const Job pushed = push();
  const LaunchOrder launch = order();
  admit(launch, launch.token).value();
  ASSERT_EQ(claimAs(launch).size(), 1U);
  EXPECT_EQ(state().busy, 1);
  exited(launch, {.exit_signal = 11, .output = "oops"});
  EXPECT_EQ(worker(launch).status, "terminated");
  EXPECT_EQ(worker(launch).status_reason, "signal 11");
  EXPECT_EQ(worker(launch).exit_signal, 11);
  const Job after = job(pushed.id);
  EXPECT_EQ(after.status, JobStatus::kPending);
  EXPECT_EQ(after.attempts, 1);
  EXPECT_EQ(after.crashes, 1);
  const auto tries = attempts(pushed.id);
  ASSERT_EQ(tries.size(), 1U);
  EXPECT_EQ(tries[0].exit_signal, 11);
  EXPECT_EQ(tries[0].output_tail, "oops");
  EXPECT_EQ(write([&](Store& s) { return s.launches().output(launch.worker).text; }), "oops");
  EXPECT_EQ(record().failures, 0) << "it took a job, so the launch was good";
  EXPECT_EQ(record().successes, 1);
}

TEST_P(LaunchTest, crashesOnThreeDifferentJobsAreTheTemplatesFault) {
  for (int i = 0; i < 3; ++i) push();
  std::vector<Job> jobs;
  for (int i = 0; i < 3; ++i) {
    const LaunchOrder launch = order();
    admit(launch, launch.token).value();
    jobs.push_back(claimAs(launch).at(0));
    exited(launch, {.exit_code = 1});
  }
  EXPECT_EQ(job(jobs[0].id).attempts, 1);
  EXPECT_EQ(job(jobs[1].id).attempts, 1);
  EXPECT_EQ(job(jobs[2].id).attempts, 0) << "given back";
  EXPECT_EQ(record().failures, 1);
}

TEST_P(LaunchTest, launchesThatEndBeforeTheyRegisterSuspendThePool) {
  for (int i = 0; i < 3; ++i) exited(order(), {.exit_code = 127, .output = "not found"});
  EXPECT_TRUE(record().suspended);
  EXPECT_EQ(write([](Store& s) {
              return s.scaling().limits(*pool(s), s.scaling().state(*pool(s))).breaker;
            }),
            0);
  const Names types = eventTypesAfter(0);
  EXPECT_EQ(std::count(types.begin(), types.end(), "pool.launch_suspended"), 1);
  write([](Store& s) { return s.launches().resume(*pool(s)), 0; });
  EXPECT_EQ(launchState(record()), "ok");
}

TEST_P(LaunchTest, aWorkerThatEndsAtOnceWithAnErrorFailedAndOneThatFoundNothingDidNot) {
  const LaunchOrder bad = order(), idle = order();
  admit(bad, bad.token).value();
  admit(idle, idle.token).value();
  exited(idle, {.exit_code = 0});
  EXPECT_EQ(record().failures, 0);
  exited(bad, {.exit_code = 1});
  EXPECT_EQ(record().failures, 1);
}

TEST_P(LaunchTest, aWorkerThatLivesTenSecondsProvesItsTemplate) {
  const LaunchOrder launch = order();
  admit(launch, launch.token).value();
  EXPECT_EQ(write([](Store& s) { return s.launches().judgeSurvivors(10); }), 0);
  clock.advance(Seconds(10));
  EXPECT_EQ(write([](Store& s) { return s.launches().judgeSurvivors(10); }), 1);
  EXPECT_EQ(record().successes, 1);
}

TEST_P(LaunchTest, aDrainingWorkerThatIsStoppedGivesTheTryBack) {
  const Job pushed = push();
  const LaunchOrder launch = order();
  admit(launch, launch.token).value();
  claimAs(launch);
  drain(1, true);
  EXPECT_EQ(state().terminating, 1);
  exited(launch, {.exit_signal = 9});
  EXPECT_EQ(job(pushed.id).attempts, 0);
}

TEST_P(LaunchTest, drainingTakesTheIdleFirst) {
  push();
  const LaunchOrder busy = order(), idle = order();
  admit(busy, busy.token).value();
  admit(idle, idle.token, 8).value();
  claimAs(busy);
  drain(1, true);
  EXPECT_EQ(worker(idle).status, "terminating");
  EXPECT_EQ(worker(busy).status, "active");
}

TEST_P(LaunchTest, whatRunsIsKnownAfterAReopen) {
  if (!GetParam().keeps_data) return;
  const LaunchOrder launch = order(), ended = order();
  write([&](Store& s) { return s.launches().started(launch.worker, "7:1"), 0; });
  exited(ended, {.exit_code = 0});
  reopen();
  const auto running = write([](Store& s) { return s.launches().running(); });
  ASSERT_EQ(running.size(), 1U);
  EXPECT_EQ(running[0].worker, launch.worker);
}

TEST_P(LaunchTest, aPoolCannotNameATemplateThatIsNotConfigured) {
  PoolSettings settings;
  settings.template_name = "nobody";
  const auto saved = write([&](Store& s) { return s.pools().put(PoolId("q"), settings); });
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().fields.at(0).pointer, "/template");
}

TEST_P(LaunchTest, aPoolWhoseTemplateWasTakenAwayCanStillBeChanged) {
  if (!GetParam().keeps_data) return;
  rules.templates.clear();
  reopen();
  const auto paused = write([](Store& s) {
    return s.pools().patch(PoolId("p"),
                           with<PoolSettings>([](auto& change) { change.paused = true; }));
  });
  ASSERT_TRUE(paused) << paused.error().detail;
  EXPECT_FALSE(write([](Store& s) { return s.scaling().config(*pool(s)); }).has_template);
}

TEST_P(LaunchTest, decisionsThatChangeNothingAreKeptOnce) {
  const auto add = [this](const std::string& direction, const std::string& inputs) {
    return write([&](Store& s) {
      Decision decision;
      decision.pool = PoolId("p");
      decision.at = s.now();
      decision.direction = direction;
      decision.inputs = inputs;
      decision.limits = "{}";
      s.decisions().add(decision);
      return decision.id;
    });
  };
  EXPECT_NE(add("hold", "{}"), 0);
  EXPECT_EQ(add("hold", "{}"), 0);
  EXPECT_NE(add("hold", R"({"a":1})"), 0);
  EXPECT_NE(add("up", "{}"), 0);
  EXPECT_NE(add("up", "{}"), 0);
  const auto page = write([](Store& s) { return s.decisions().list(PoolId("p"), 0, 3); });
  ASSERT_EQ(page.decisions.size(), 3U);
  EXPECT_TRUE(page.more);
  EXPECT_GT(page.decisions[0].id, page.decisions[1].id);
}

}  // namespace
}  // namespace muster::test
