#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class PoolTest : public StoreTest {
 protected:
  using Settings = PoolSettings;
  Result<Pools::Saved> put(const Settings& settings, std::optional<std::int64_t> if_version = {}) {
    return write([&](Store& s) { return s.pools().put(PoolId("p"), settings, if_version); });
  }
  Result<Pools::Saved> patch(const Settings& changes, std::optional<std::int64_t> if_version = {}) {
    return write([&](Store& s) { return s.pools().patch(PoolId("p"), changes, if_version); });
  }
  Status remove(std::optional<std::int64_t> if_version = {}) {
    return write([&](Store& s) { return s.pools().remove(PoolId("p"), if_version); });
  }
  std::shared_ptr<const Pool> pool() {
    return read([](Store& s) { return s.pools().find(PoolId("p")); });
  }
  static Settings lease(int seconds) {
    return with<Settings>([&](auto& s) { s.lease_seconds = seconds; });
  }
};
MUSTER_ON_EVERY_BACKEND(PoolTest);

TEST_P(PoolTest, putMakesOrReplacesAndPatchMerges) {
  const auto made = put(lease(5)).value();
  EXPECT_TRUE(made.created);
  EXPECT_EQ(made.pool->version, 1);
  EXPECT_EQ(pool()->settings.lease_seconds, 5);
  EXPECT_EQ(pool()->settings.max_retries, 3) << "defaults fill the rest";

  clock.advance(1s);
  const auto patched = patch(with<Settings>([](auto& s) { s.max_retries = 9; })).value();
  EXPECT_FALSE(patched.created);
  EXPECT_EQ(patched.pool->version, 2);
  EXPECT_EQ(patched.pool->settings.lease_seconds, 5);
  EXPECT_EQ(patched.pool->settings.max_retries, 9);

  put(with<Settings>([](auto& s) { s.max_retries = 8; })).value();
  EXPECT_EQ(pool()->settings.lease_seconds, 60) << "what is absent gets its default";
  EXPECT_EQ(pool()->version, 3);
  EXPECT_EQ(pool()->updated_at - pool()->created_at, 1s);
}

TEST_P(PoolTest, theSameSettingsAgainAreNoChange) {
  put(lease(5)).value();
  const auto before = lastEvent();
  EXPECT_EQ(put(lease(5))->pool->version, 1);
  EXPECT_EQ(patch({})->pool->version, 1);
  EXPECT_EQ(lastEvent(), before);
}

TEST_P(PoolTest, eachChangeHasItsEvent) {
  const auto paused = [](bool flag) { return with<Settings>([&](auto& s) { s.paused = flag; }); };
  put({}).value();
  patch(lease(5)).value();
  patch(paused(true)).value();
  patch(paused(false)).value();
  ASSERT_TRUE(remove());
  EXPECT_EQ(eventTypesAfter(0),
            (Names{"pool.created", "pool.updated", "pool.paused", "pool.resumed", "pool.deleted"}));
}

TEST_P(PoolTest, changesAreGuardedByTheVersion) {
  EXPECT_EQ(codeOf(put({}, 1)), ErrorCode::kVersionMismatch) << "there is none yet";
  put(lease(5)).value();
  EXPECT_EQ(codeOf(put(lease(6), 2)), ErrorCode::kVersionMismatch);
  EXPECT_EQ(codeOf(patch(lease(6), 2)), ErrorCode::kVersionMismatch);
  EXPECT_EQ(codeOf(remove(2)), ErrorCode::kVersionMismatch);
  EXPECT_EQ(pool()->settings.lease_seconds, 5);
  EXPECT_TRUE(put(lease(6), 1));
  EXPECT_TRUE(patch(lease(7), 2));
  EXPECT_TRUE(remove(3));
}

TEST_P(PoolTest, aContradictionChangesNothing) {
  put(lease(5)).value();
  const auto refused = patch(with<Settings>([](auto& s) { s.min_workers = 99; }));
  ASSERT_EQ(codeOf(refused), ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().fields.at(0).pointer, "/scaling/min_workers");
  EXPECT_EQ(pool()->version, 1);
}

TEST_P(PoolTest, whatIsNotThereIsNotFound) {
  EXPECT_EQ(pool(), nullptr);
  EXPECT_EQ(codeOf(patch({})), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(remove()), ErrorCode::kNotFound);
}

TEST_P(PoolTest, aPoolWithJobsIsNotRemoved) {
  const Job done = complete(pushAndClaim()).value();
  EXPECT_EQ(codeOf(remove()), ErrorCode::kPoolNotEmpty);
  const auto in_one_unit = write([&](Store& s) {
    EXPECT_TRUE(s.jobs().remove(done.id));
    return s.pools().remove(PoolId("p"));
  });
  EXPECT_TRUE(in_one_unit);
  EXPECT_EQ(pool(), nullptr);
}

TEST_P(PoolTest, aPushInTheSameUnitKeepsThePool) {
  put({}).value();
  const auto refused = write([](Store& s) {
    s.jobs().push(*s.pools().find(PoolId("p")), {.data = "1"});
    return s.pools().remove(PoolId("p"));
  });
  EXPECT_EQ(codeOf(refused), ErrorCode::kPoolNotEmpty);
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(PoolTest, aPoolMadeAnewKnowsNothingOfTheOld) {
  put(lease(5)).value();
  EXPECT_EQ(pool()->settings.lease_seconds, 5);
  complete(pushAndClaim({.data = "1", .tenant = "acme"})).value();
  purge({JobStatus::kDone});
  ASSERT_TRUE(remove());
  EXPECT_EQ(pool(), nullptr);
  put(lease(7)).value();
  EXPECT_EQ(pool()->settings.lease_seconds, 7);
  EXPECT_EQ(stats().done, 0);
}

TEST_P(PoolTest, listIsInOrderOfTheNames) {
  for (const char* id : {"b", "a", "d", "c"}) setPool({}, id);
  const auto names = [this](const std::string& after, int limit) {
    Names ids;
    for (const auto& each : read([&](Store& s) { return s.pools().list(after, limit); })) {
      ids.push_back(each->id.str());
    }
    return ids;
  };
  EXPECT_EQ(names("", 10), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(names("", 2), (Names{"a", "b"}));
  EXPECT_EQ(names("b", 2), (Names{"c", "d"}));
}

TEST_P(PoolTest, newDefaultsOfTheServiceReachPoolsThatSetNothing) {
  rules.pool_defaults.lease_seconds = 17;
  reopen();
  put({}).value();
  EXPECT_EQ(pool()->settings.lease_seconds, 17);
  EXPECT_EQ(pool()->given, Settings{});
}

class PoolStatsTest : public StoreTest {};
MUSTER_ON_EVERY_BACKEND(PoolStatsTest);

TEST_P(PoolStatsTest, areZerosForAPoolNeverSeen) {
  const PoolStats none = stats("never-seen");
  EXPECT_EQ(none.pending + none.runnable + none.claimed + none.done + none.active_workers, 0);
  EXPECT_EQ(none.oldest_pending_seconds, 0);
}

TEST_P(PoolStatsTest, countEveryState) {
  const Job first = push();
  clock.advance(1500ms);
  push();
  pushAndClaim({.data = "1", .priority = 1});
  complete(pushAndClaim()).value();
  fail(pushAndClaim({.data = "1", .max_retries = 0})).value();
  const Job stopped = push();
  write([&](Store& s) { return s.jobs().cancel(stopped.id, ""); }).value();
  NewJob later{.data = "1"};
  later.delay = 1h;
  push(later);
  const PoolStats now = stats();
  EXPECT_EQ(now.pending, 3);
  EXPECT_EQ(now.delayed, 1);
  EXPECT_EQ(now.runnable, 2);
  EXPECT_EQ(now.claimed, 1);
  EXPECT_EQ(now.done, 1);
  EXPECT_EQ(now.poisoned, 1);
  EXPECT_EQ(now.cancelled, 1);
  EXPECT_EQ(now.oldest_pending_seconds, 1.5);
}

TEST_P(PoolStatsTest, countWhatTheSameUnitDid) {
  EXPECT_EQ(write([](Store& s) {
              s.jobs().push(*s.pools().findOrCreate(PoolId("p")).value(), {.data = "1"});
              return s.pools().stats(PoolId("p"));
            }).pending,
            1);
}

TEST_P(PoolStatsTest, runnableCountsADelayedJobOnceItIsDue) {
  NewJob later{.data = "1"};
  later.delay = 1s;
  push(later);
  EXPECT_EQ(stats().runnable, 0);
  EXPECT_EQ(stats().delayed, 1);
  clock.advance(1s);
  EXPECT_EQ(stats().runnable, 1);
  EXPECT_EQ(stats().delayed, 0);
}

TEST_P(PoolStatsTest, runnableCountsWhatAWorkerThatCouldBeLaunchedHereMayRun) {
  rules.host = "here";
  rules.templates = {{"echo", {"1"}}};
  reopen();
  NewJob job{.data = "1"};
  job.placement.allowed_nodes = {"here"};
  push(job);
  EXPECT_EQ(stats().runnable, 0) << "the pool has no template, and nobody works for it";
  setPool(with<PoolSettings>([](auto& s) { s.template_name = "echo"; }));
  EXPECT_EQ(stats().runnable, 1);
  job.placement.allowed_nodes = {"elsewhere"};
  push(job);
  job.placement = {};
  job.placement.capabilities = {"gpu"};
  push(job);
  EXPECT_EQ(stats().runnable, 1) << "no worker from here could run the others";
}

TEST_P(PoolStatsTest, runnableLeavesOutWhatPauseTenantsAndPlacementHoldBack) {
  push();
  for (int i = 0; i < 5; ++i) push({.data = "1", .tenant = "acme"});
  NewJob placed{.data = "1"};
  placed.placement.capabilities = {"gpu"};
  push(placed);
  EXPECT_EQ(stats().runnable, 1 + 3);
  registerWorker(newWorker("w", "", {"gpu"}));
  EXPECT_EQ(stats().runnable, 1 + 3 + 1);
  ASSERT_EQ(claim(3).size(), 3U);
  EXPECT_EQ(stats().runnable, 1 + 1) << "one place of the tenant is free";
  setPool(with<PoolSettings>([](auto& s) { s.paused = true; }));
  EXPECT_EQ(stats().runnable, 0);
  EXPECT_EQ(stats().pending, 4);
}

TEST_P(PoolStatsTest, runnableLeavesOutWhatHasExpired) {
  NewJob expiring{.data = "1"};
  expiring.expires_at = clock.now() + 1s;
  push(expiring);
  EXPECT_EQ(stats().runnable, 1);
  clock.advance(1s);
  EXPECT_EQ(stats().runnable, 0);
}

TEST_P(PoolStatsTest, countWorkersByWhatTheyDo) {
  for (const char* id : {"idle", "busy", "leaving", "gone"}) registerWorker(newWorker(id));
  registerWorker(newWorker("elsewhere", "", {}, "q"));
  pushAndClaim({.data = "1"}, "busy"), pushAndClaim({.data = "1"}, "busy");
  for (const auto& [id, status] : {std::pair{"leaving", "terminating"}, {"gone", "lost"}}) {
    write([&](Store& s) {
      return s.workers().change(WorkerId(id),
                                with<WorkerChange>([&](auto& c) { c.status = status; }));
    }).value();
  }
  const PoolStats now = stats();
  EXPECT_EQ(now.active_workers, 2);
  EXPECT_EQ(now.busy_workers, 1);
  EXPECT_EQ(now.idle_workers, 1);
  EXPECT_EQ(now.terminating_workers, 1);
  EXPECT_EQ(now.lost_workers, 1);
  EXPECT_EQ(now.starting_workers, 0);
}

}  // namespace
}  // namespace muster::test
