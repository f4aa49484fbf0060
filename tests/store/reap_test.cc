#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// The default: a heartbeat every 30 seconds, stale after 60.
class ReapTest : public StoreTest {
 protected:
  Reaped stale(bool reap, const std::string& pool = "", std::optional<Millis> threshold = {},
               int limit = 100) {
    return write([&](Store& s) { return s.workers().stale(pool, threshold, reap, limit); });
  }
  Reaped reap(const std::string& pool = "", std::optional<Millis> threshold = {}) {
    return stale(true, pool, threshold);
  }
  std::string statusOf(const std::string& id) {
    return read([&](Store& s) { return s.workers().find(WorkerId(id)); })->status;
  }
};
MUSTER_ON_EVERY_BACKEND(ReapTest);

TEST_P(ReapTest, exactlyAtTheThresholdAWorkerIsStillFresh) {
  registerWorker(newWorker("w"));
  clock.advance(60s);
  EXPECT_TRUE(reap().workers.empty());
  clock.advance(1ms);
  EXPECT_EQ(reap().workers, Names{"w"});
  EXPECT_EQ(statusOf("w"), "lost");
}

TEST_P(ReapTest, aSecondRunReapsNothing) {
  registerWorker(newWorker("w"));
  clock.advance(61s);
  EXPECT_EQ(reap().workers.size(), 1U);
  const auto before = lastEvent();
  EXPECT_TRUE(reap().workers.empty());
  EXPECT_EQ(lastEvent(), before);
}

TEST_P(ReapTest, theJobsOfALostWorkerGoBackInAllPools) {
  registerWorker(newWorker("w"));
  setPool(with<PoolSettings>([](auto& s) { s.lease_seconds = 3600; }));
  const Job here = pushAndClaim();
  const Job last = pushAndClaim({.data = "1", .max_retries = 1});
  const Job there = push({.data = "1"}, "q");
  ASSERT_EQ(claim(1, "w", "q").size(), 1U);
  clock.advance(61s);
  const auto before = lastEvent();
  const Reaped reaped = reap();
  EXPECT_EQ(reaped.jobs_released, 3);
  EXPECT_EQ(job(here.id).status, JobStatus::kPending);
  EXPECT_EQ(job(here.id).reason, "worker_lost");
  EXPECT_EQ(job(here.id).crashes, 1);
  EXPECT_EQ(job(here.id).attempts, 1);
  EXPECT_EQ(attempts(here.id).at(0).outcome, "worker_lost");
  EXPECT_EQ(job(last.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(there.id).status, JobStatus::kPending);
  EXPECT_EQ(eventTypesAfter(before),
            (Names{"job.reassigned", "job.poisoned", "job.reassigned", "worker.lost"}));
  EXPECT_EQ(codeOf(complete(here)), ErrorCode::kLeaseLost);
}

TEST_P(ReapTest, aPreviewChangesNothing) {
  registerWorker(newWorker("w"));
  const Job held = pushAndClaim();
  clock.advance(61s);
  const auto before = lastEvent();
  const Reaped preview = stale(false);
  EXPECT_EQ(preview.workers, Names{"w"});
  EXPECT_EQ(preview.jobs_released, 1);
  EXPECT_EQ(lastEvent(), before);
  EXPECT_EQ(statusOf("w"), "active");
  EXPECT_EQ(job(held.id).version, held.version);
  const Reaped real = reap();
  EXPECT_EQ(real.workers, preview.workers);
  EXPECT_EQ(real.jobs_released, preview.jobs_released);
}

TEST_P(ReapTest, aHeartbeatBetweenTheLookAndTheReapingSavesTheWorker) {
  registerWorker(newWorker("w")), registerWorker(newWorker("x"));
  clock.advance(61s);
  EXPECT_EQ(stale(false).workers.size(), 2U);
  write([](Store& s) { return s.workers().heartbeat(WorkerId("w"), {}); }).value();
  EXPECT_EQ(reap().workers, Names{"x"});
  EXPECT_EQ(statusOf("w"), "active");
}

TEST_P(ReapTest, eachWorkerIsJudgedByItsOwnPool) {
  setPool(with<PoolSettings>([](auto& s) { s.stale_threshold_seconds = 200; }), "patient");
  setPool(with<PoolSettings>([](auto& s) { s.heartbeat_interval_seconds = 5; }), "nervous");
  registerWorker(newWorker("plain"));
  registerWorker(newWorker("none", "", {}, ""));
  registerWorker(newWorker("slow", "", {}, "patient"));
  registerWorker(newWorker("quick", "", {}, "nervous"));
  clock.advance(10s + 1ms);
  EXPECT_EQ(reap().workers, Names{"quick"});
  clock.advance(50s);
  EXPECT_EQ(reap().workers.size(), 2U) << "the defaults, with or without a pool";
  EXPECT_EQ(statusOf("slow"), "active");
  clock.advance(140s);
  EXPECT_EQ(reap().workers, Names{"slow"});
}

TEST_P(ReapTest, aPoolReapsItsOwnWorkers) {
  registerWorker(newWorker("mine")), registerWorker(newWorker("other", "", {}, "q"));
  clock.advance(61s);
  EXPECT_EQ(reap("p").workers, Names{"mine"});
  EXPECT_EQ(reap("never-seen").workers, Names{});
  EXPECT_EQ(statusOf("other"), "active");
}

TEST_P(ReapTest, aGivenThresholdBeatsTheWorkersOwn) {
  registerWorker(newWorker("w"));
  clock.advance(10s);
  EXPECT_TRUE(reap("", 10s).workers.empty());
  EXPECT_EQ(reap("", 9999ms).workers, Names{"w"});
}

TEST_P(ReapTest, aTerminatingWorkerThatFallsSilentIsLostToo) {
  registerWorker(newWorker("w"));
  write([](Store& s) {
    return s.workers().change(WorkerId("w"),
                              with<WorkerChange>([](auto& c) { c.status = "terminating"; }));
  }).value();
  clock.advance(61s);
  EXPECT_EQ(reap().workers, Names{"w"});
}

TEST_P(ReapTest, anEndedWorkerIsNotReaped) {
  registerWorker(newWorker("w"));
  write([](Store& s) {
    return s.workers().change(WorkerId("w"),
                              with<WorkerChange>([](auto& c) { c.status = "terminated"; }));
  }).value();
  clock.advance(1h);
  EXPECT_TRUE(reap().workers.empty());
}

TEST_P(ReapTest, goesOnWhereTheLimitStoppedIt) {
  for (int i = 0; i < 5; ++i) registerWorker(newWorker("w" + std::to_string(i)));
  clock.advance(61s);
  EXPECT_EQ(stale(true, "", {}, 3).workers.size(), 3U);
  EXPECT_EQ(stale(true, "", {}, 3).workers.size(), 2U);
}

}  // namespace
}  // namespace muster::test
