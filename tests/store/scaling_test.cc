#include "models/operations/hosts.h"
#include "models/operations/resources.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class ScalingTest : public StoreTest {
 protected:
  ScalingTest() {
    rules.host = "here";
    rules.templates = {{"t", {"v1"}}};
    reopen();
  }

  void setScaling(const std::string& mode, const std::string& worker_mode,
                  std::int64_t min_workers = 0) {
    PoolSettings settings;
    settings.template_name = "t";
    settings.scaling_mode = mode;
    settings.worker_mode = worker_mode;
    settings.min_workers = min_workers;
    setPool(settings);
  }
  void setTarget(std::int64_t number) {
    PoolSettings settings;
    settings.template_name = "t";
    settings.scaling_mode = "target";
    settings.worker_mode = "loop";
    settings.target_workers = number;
    setPool(settings);
  }
  std::string launchLoopWorker() {
    return write([](Store& s) {
      const LaunchOrder order = s.launches().order(*pool(s), Seconds(30));
      NewWorker worker;
      worker.id = order.worker;
      worker.pool = "p";
      worker.mode = "loop";
      s.launches().admit(worker, order.token).value();
      return order.worker.str();
    });
  }
  ScaleState state() {
    return write([](Store& s) { return s.scaling().state(*pool(s)); });
  }
  // A check as the checker makes it, without the launches.
  ScaleDecision check() {
    return write([](Store& s) {
      auto scaling = s.scaling();
      const ScaleDecision decision =
          decideScale(scaling.state(*pool(s)), {}, scaling.config(*pool(s)));
      scaling.apply(*pool(s), decision);
      return decision;
    });
  }
  void moveTo(Time time) { clock.advance(time - clock.now()); }
  std::string statusOf(const std::string& worker) {
    return read([&](Store& s) { return s.workers().find(WorkerId(worker))->status; });
  }
  static std::shared_ptr<const Pool> pool(Store& s) { return s.pools().find(PoolId("p")); }
};
MUSTER_ON_EVERY_BACKEND(ScalingTest);

TEST_P(ScalingTest, theCooldownRunsFromTheLastActionAndIsKept) {
  setScaling("adaptive", "loop", 1);
  EXPECT_FALSE(state().last_scale_age);
  EXPECT_EQ(check().to_launch, 1) << "below min_workers";
  clock.advance(Millis(700));
  EXPECT_EQ(state().last_scale_age, Millis(700));
  launchLoopWorker();
  for (int i = 0; i < 60; ++i) push();
  EXPECT_EQ(check().binding_limit, binding_limit::kCooldown);
  EXPECT_EQ(state().last_scale_age, Millis(700)) << "a hold is no action";
  if (GetParam().keeps_data) {
    reopen();
    EXPECT_EQ(state().last_scale_age, Millis(700)) << "so is a restart";
  }
  clock.advance(Millis(800));
  EXPECT_EQ(check().to_launch, 2);
  EXPECT_EQ(state().last_scale_age, Millis(0));
}

TEST_P(ScalingTest, queueModeKeepsNoCooldown) {
  setScaling("queue", "once");
  push();
  EXPECT_EQ(check().to_launch, 1);
  EXPECT_FALSE(state().last_scale_age);
}

TEST_P(ScalingTest, loopWorkersToSpareAreStoppedByTheFewestSeenForAMinute) {
  setScaling("queue", "loop");
  const std::string oldest = launchLoopWorker();
  clock.advance(Millis(10));
  const std::string second = launchLoopWorker(), third = launchLoopWorker();
  EXPECT_EQ(check().spare, 3);
  const Job job = push();
  clock.advance(Seconds(20));
  EXPECT_EQ(check().spare, 2) << "one has a job to take";
  write([&](Store& s) { return s.jobs().cancel(job.id, ""); }).value();
  clock.advance(Seconds(39));
  EXPECT_EQ(check().to_drain, 0) << "not a minute yet";
  clock.advance(Seconds(1));
  write([&](Store& s) {  // they are alive
    for (const auto& id : {oldest, second, third}) s.workers().heartbeat(WorkerId(id), {}).value();
    return 0;
  });
  const auto down = check();
  EXPECT_EQ(down.to_drain, 2) << down.reason;
  EXPECT_EQ(statusOf(oldest), "terminating") << "the longest idle first";
  EXPECT_EQ(state().terminating, 2);
  EXPECT_EQ(check().to_drain, 0) << "a new minute begins";
}

TEST_P(ScalingTest, workers_that_hold_resources_are_stopped_last) {
  setScaling("target", "loop");
  setTarget(3);
  const std::string holding = launchLoopWorker();
  clock.advance(Millis(10));
  const std::string busy = launchLoopWorker();
  clock.advance(Millis(10));
  const std::string idle = launchLoopWorker();
  write([&](Store& s) {
    NewResource made;
    made.type = "session";
    made.holder = {Holder::Kind::kWorker, holding};
    run(RegisterResource{made}, s).value();
  });
  push();
  ASSERT_EQ(claim(1, busy).size(), 1U);
  setTarget(2);
  EXPECT_EQ(check().to_drain, 1);
  EXPECT_EQ(statusOf(idle), "terminating");
  setTarget(1);
  EXPECT_EQ(check().to_drain, 1);
  EXPECT_EQ(statusOf(busy), "terminating") << "it ends its job";
  setTarget(0);
  EXPECT_EQ(check().to_drain, 1);
  EXPECT_EQ(statusOf(holding), "terminating");
}

TEST_P(ScalingTest, nobody_is_launched_on_a_host_over_its_disk_limit) {
  setScaling("queue", "once");
  push();
  const auto report = [&](const std::string& host, std::int64_t in_use) {
    clock.advance(Seconds(1));
    write([&](Store& s) {
      SyncHost op{.host = host, .folder_id = "f-" + host, .data_dir = "/d"};
      op.complete = true;
      op.disk_bytes_in_use = in_use;
      run(op, s).value();
    });
  };
  const auto decide = [this] {
    return write([](Store& s) {
      auto scaling = s.scaling();
      const ScaleState now = scaling.state(*pool(s));
      return decideScale(now, scaling.limits(*pool(s), now), scaling.config(*pool(s)));
    });
  };
  const std::int64_t limit = rules.resources.max_disk_bytes;
  report("there", limit + 1);
  report("here", limit);
  EXPECT_EQ(decide().to_launch, 1) << "it is another that has too much";
  report("here", limit + 1);
  const ScaleDecision held_back = decide();
  EXPECT_EQ(held_back.to_launch, 0);
  EXPECT_EQ(held_back.binding_limit, binding_limit::kResourcePressure) << held_back.reason;
  report("here", 0);
  EXPECT_EQ(decide().to_launch, 1);
}

TEST_P(ScalingTest, aMinuteWithAMomentOfNeedBeginsAnew) {
  setScaling("queue", "loop");
  launchLoopWorker();
  EXPECT_EQ(check().spare, 1);
  clock.advance(Seconds(50));
  const Job job = push();
  EXPECT_EQ(check().spare, 0);
  write([&](Store& s) { return s.jobs().cancel(job.id, ""); }).value();
  clock.advance(Seconds(15));
  EXPECT_EQ(check().to_drain, 0);
}

TEST_P(ScalingTest, workersStartedByHandAreNotOursToStop) {
  setScaling("queue", "loop");
  write([](Store& s) {
    NewWorker worker;
    worker.id = WorkerId("by-hand");
    worker.pool = "p";
    worker.mode = "loop";
    return s.workers().registerWorker(worker);
  });
  EXPECT_EQ(state().idle, 1);
  EXPECT_EQ(state().drainable, 0);
  EXPECT_EQ(check().spare, 0);
}

TEST_P(ScalingTest, theScheduleThatWasDueLastSetsTheFloor) {
  PoolSettings settings;
  settings.template_name = "t";
  settings.worker_mode = "loop";
  settings.schedules = {{{"0 8 * * *", "", 5}, {"0 18 * * *", "", 1}}};
  setPool(settings);
  moveTo(*parseTime("2026-03-02T07:59:00Z"));
  EXPECT_EQ(state().scheduled_floor, 1) << "since yesterday evening";
  moveTo(*parseTime("2026-03-02T08:00:00Z"));
  EXPECT_EQ(state().scheduled_floor, 5);
  EXPECT_EQ(check().to_launch, 5);
  moveTo(*parseTime("2026-03-02T18:00:00Z"));
  EXPECT_EQ(state().scheduled_floor, 1);
}

TEST_P(ScalingTest, aPredictionIsWhatTheSameHourOfEarlierWeeksKeptBusy) {
  PoolSettings settings;
  settings.template_name = "t";
  settings.worker_mode = "loop";
  settings.predictive = true;
  setPool(settings);
  EXPECT_EQ(state().predicted_floor, 0) << "nothing on record";
  const Time now = clock.now();
  clock.advance(-Millis(std::chrono::weeks(1)));
  LoadCounts hour;
  hour.added = hour.done = 90;
  hour.run_time = std::chrono::hours(3);
  write([&](Store& s) {
    s.load().add({{{"p", loadStepOf(s.now())}, hour}});
    return 0;
  });
  moveTo(now);
  EXPECT_EQ(state().predicted_floor, 3);
  const auto decision = check();
  EXPECT_EQ(decision.to_launch, 3);
  EXPECT_NE(decision.reason.find("by prediction"), std::string::npos) << decision.reason;
}

TEST_P(ScalingTest, latencyIsOfTheSignalThePoolChose) {
  setScaling("adaptive", "loop", 0);
  LoadCounts counts;
  counts.waits.add(Millis(30));
  counts.runs.add(Millis(50));
  counts.totals.add(Millis(60));
  write([&](Store& s) {
    s.load().add({{{"p", loadStepOf(s.now())}, counts}});
    return 0;
  });
  EXPECT_EQ(state().p95_latency_ms, 30);
  write([](Store& s) {
    PoolSettings change;
    change.latency_signal = "total";
    return s.pools().patch(PoolId("p"), change);
  }).value();
  EXPECT_EQ(state().p95_latency_ms, 60);
}

TEST_P(ScalingTest, aScheduleThatCannotBeReadIsRefused) {
  PoolSettings settings;
  settings.schedules = {{{"0 8 * * *", "", 5}, {"never", "", 1}, {"0 8 * * *", "Mars/Base", 1}}};
  const auto saved = write([&](Store& s) { return s.pools().put(PoolId("p"), settings); });
  ASSERT_FALSE(saved);
  ASSERT_EQ(saved.error().fields.size(), 2U);
  EXPECT_EQ(saved.error().fields[0].pointer, "/scaling/schedules/1/cron");
  EXPECT_EQ(saved.error().fields[1].pointer, "/scaling/schedules/2/timezone");
}

TEST_P(ScalingTest, whatIsRememberedGoesWithThePool) {
  setScaling("adaptive", "loop", 1);
  check();
  ASSERT_TRUE(state().last_scale_age);
  ASSERT_TRUE(write([](Store& s) { return s.pools().remove(PoolId("p")); }));
  setScaling("adaptive", "loop", 1);
  EXPECT_FALSE(state().last_scale_age);
}

}  // namespace
}  // namespace muster::test
