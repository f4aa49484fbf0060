#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Jobs that name a tenant share a limit of claims; the default is 3.
class TenantTest : public StoreTest {
 protected:
  static NewJob of(const std::string& tenant, int priority = 0) {
    return {.data = "1", .priority = priority, .tenant = tenant};
  }
  void fill(const std::string& tenant, int jobs) {
    for (int i = 0; i < jobs; ++i) push(of(tenant));
  }
  std::size_t placesOf(const std::string& tenant) {
    fill(tenant, 5);
    return claim(5).size();
  }
};
MUSTER_ON_EVERY_BACKEND(TenantTest);

TEST_P(TenantTest, holdsNoMoreThanItsLimitAndTheRestWaits) {
  fill("acme", 5);
  EXPECT_EQ(claim(10).size(), 3U);
  EXPECT_TRUE(claim(10).empty());
  EXPECT_EQ(stats().pending, 2);
}

TEST_P(TenantTest, theLimitIsSetByThePool) {
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  fill("acme", 5);
  EXPECT_EQ(claim(10).size(), 1U);
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 4; }));
  EXPECT_EQ(claim(10).size(), 3U);
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 2; }));
  EXPECT_TRUE(claim(10).empty()) << "over a limit that was lowered";
}

TEST_P(TenantTest, isNoTenantWithoutAName) {
  for (int i = 0; i < 10; ++i) push();
  EXPECT_EQ(claim(10).size(), 10U);
}

TEST_P(TenantTest, doesNotHoldUpOthers) {
  for (int i = 0; i < 100; ++i) push(of("acme", 9));
  const Job brick = push(of("brick")), open = push();
  EXPECT_EQ(claim(3).size(), 3U);
  EXPECT_EQ(idsOf(claim(10)), idsOf({brick, open}));
}

TEST_P(TenantTest, isCountedOverAllItsLanes) {
  registerWorker(newWorker("w", "", {"gpu", "ssd"}));
  for (int i = 0; i < 3; ++i) {
    push(of("acme"));
    for (const char* capability : {"gpu", "ssd"}) {
      NewJob placed = of("acme");
      placed.placement.capabilities = {capability};
      push(placed);
    }
  }
  EXPECT_EQ(claim(2).size(), 2U);
  EXPECT_EQ(claim(10).size(), 1U);
  EXPECT_TRUE(claim(10).empty());
  EXPECT_EQ(stats().runnable, 0);
}

TEST_P(TenantTest, theBestOfItsJobsTakeItsPlaces) {
  registerWorker(newWorker("w", "", {"gpu"}));
  fill("acme", 3);
  NewJob urgent = of("acme", 5);
  urgent.placement.capabilities = {"gpu"};
  const Job first = push(urgent);
  const auto claimed = claim(10);
  ASSERT_EQ(claimed.size(), 3U);
  EXPECT_EQ(claimed[0].id, first.id);
}

TEST_P(TenantTest, countsPoolByPool) {
  fill("acme", 4);
  for (int i = 0; i < 4; ++i) push(of("acme"), "q");
  EXPECT_EQ(claim(10).size(), 3U);
  EXPECT_EQ(claim(10, "w", "q").size(), 3U);
}

TEST_P(TenantTest, claimByIdKeepsTheLimitToo) {
  fill("acme", 3);
  const Job fourth = push(of("acme"));
  EXPECT_EQ(claim(3).size(), 3U);
  EXPECT_EQ(codeOf(claimOne(fourth.id)), ErrorCode::kNotClaimable);
}

struct WayOut {
  std::string name;
  std::function<void(Store&, const Job&)> take;
};

// However a claimed job ends, its tenant's place is free again.
TEST_P(TenantTest, everyWayOutFreesThePlace) {
  const auto by = [](const Job& job) { return Reporter{job.lease_token, ""}; };
  const auto with_flag = [](auto flag) {
    return [flag](FailureReport& report) { report.*flag = !(report.*flag); };
  };
  const WayOut ways[] = {
      {"done", [&](Store& s, const Job& j) { s.jobs().complete(j.id, by(j), {}, "").value(); }},
      {"failed", [&](Store& s, const Job& j) { s.jobs().fail(j.id, by(j), {}).value(); }},
      {"poisoned",
       [&](Store& s, const Job& j) {
         s.jobs()
             .fail(j.id, by(j), with<FailureReport>(with_flag(&FailureReport::retryable)))
             .value();
       }},
      {"failed without penalty",
       [&](Store& s, const Job& j) {
         s.jobs()
             .fail(j.id, by(j), with<FailureReport>(with_flag(&FailureReport::no_penalty)))
             .value();
       }},
      {"cancelled",
       [&](Store& s, const Job& j) {
         s.jobs().cancel(j.id, "").value();
         s.jobs()
             .fail(j.id, by(j), with<FailureReport>(with_flag(&FailureReport::cancelled)))
             .value();
       }},
      {"released", [&](Store& s, const Job& j) { s.jobs().release(j.id, by(j)).value(); }},
      {"released by worker",
       [](Store& s, const Job& j) {
         s.jobs().releaseByWorker(j.claimed_by, "released_by_worker");
       }},
      {"re-registered",
       [](Store& s, const Job& j) { s.workers().registerWorker(newWorker(j.claimed_by)); }},
      {"worker lost",
       [](Store& s, const Job& j) {
         s.workers()
             .change(WorkerId(j.claimed_by), with<WorkerChange>([](auto& c) { c.status = "lost"; }))
             .value();
       }},
      {"lease expired",
       [this](Store& s, const Job&) {
         s.session.now = clock.now() + 61s;
         s.jobs().expireLeases(10);
       }},
      {"purged",
       [](Store& s, const Job& j) {
         s.jobs().purgeMany(j.pool, {.statuses = {JobStatus::kClaimed}}, {}, 10, 10);
       }},
  };
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  for (const WayOut& way : ways) {
    const std::string tenant = "tenant " + way.name, worker = "worker-of";
    registerWorker(newWorker(worker));
    const Job held = pushAndClaim(of(tenant), worker);
    push(of(tenant));
    ASSERT_TRUE(claim(5, "other").empty()) << way.name;
    write([&](Store& store) { way.take(store, held); });
    push(of(tenant));
    const auto after = claim(5, "other");
    EXPECT_EQ(after.size(), 1U) << way.name;
    for (const Job& job : after) complete(job).value();
    purge({JobStatus::kPending, JobStatus::kDone, JobStatus::kPoisoned, JobStatus::kCancelled});
  }
}

TEST_P(TenantTest, aReplayFreesNothingTwice) {
  fill("acme", 8);
  const auto held = claim(3);
  for (int i = 0; i < 3; ++i) complete(held[0]).value();
  EXPECT_EQ(claim(10).size(), 1U);
  for (int i = 0; i < 3; ++i) release(held[1]).value();
  EXPECT_EQ(claim(10).size(), 1U);
}

TEST_P(TenantTest, aForgottenTenantStartsAnew) {
  EXPECT_EQ(placesOf("acme"), 3U);
  for (const Job& job : allJobs()) {
    if (job.status == JobStatus::kClaimed) complete(job).value();
  }
  purge({JobStatus::kPending, JobStatus::kDone});
  write([](Store& store) { store.pools().removeEmptyLanes(100); });
  EXPECT_EQ(placesOf("acme"), 3U);
}

}  // namespace
}  // namespace muster::test
