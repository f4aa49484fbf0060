#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class ClaimTest : public StoreTest {
 protected:
  static NewJob forCapability(const std::string& capability) {
    NewJob job{.data = "1"};
    job.placement.capabilities = {capability};
    return job;
  }
};
MUSTER_ON_EVERY_BACKEND(ClaimTest);

TEST_P(ClaimTest, aThousandPushesComeOutInOrder) {
  Names pushed;
  write([&](Store& store) {
    pushed.clear();
    const auto pool = store.pools().findOrCreate(PoolId("p")).value();
    for (int i = 0; i < 500; ++i) {
      pushed.push_back(store.jobs().push(*pool, {.data = "1"}).job.id.str());
    }
  });
  for (int i = 0; i < 500; ++i) pushed.push_back(push().id.str());
  Names claimed;
  for (int max = 1; claimed.size() < pushed.size(); max = max % 7 + 1) {
    for (const Job& job : claim(max)) claimed.push_back(job.id.str());
  }
  EXPECT_EQ(claimed, pushed);
  EXPECT_TRUE(claim().empty());
}

TEST_P(ClaimTest, higherPriorityGoesFirstThenTheOlder) {
  std::vector<Job> jobs;
  for (const int priority : {0, 5, -5, 5, 2147483647, 0}) {
    jobs.push_back(push({.data = "1", .priority = priority}));
  }
  EXPECT_EQ(idsOf(claim(10)), idsOf({jobs[4], jobs[1], jobs[3], jobs[0], jobs[5], jobs[2]}));
}

TEST_P(ClaimTest, orderHoldsAcrossTenantsAndPlacements) {
  registerWorker(newWorker("w", "", {"gpu"}));
  NewJob tenant{.data = "1", .tenant = "acme"};
  const Job first = push(tenant), second = push(forCapability("gpu")), third = push();
  NewJob urgent = forCapability("gpu");
  urgent.priority = 1;
  const Job fourth = push(urgent);
  EXPECT_EQ(idsOf(claim(10)), idsOf({fourth, first, second, third}));
}

TEST_P(ClaimTest, aClaimIsALeaseOfOneTry) {
  setPool(with<PoolSettings>([](auto& s) { s.lease_seconds = 10; }));
  const Job pushed = push();
  clock.advance(3s);
  const Job claimed = claim(1, "w7").at(0);
  EXPECT_EQ(claimed.status, JobStatus::kClaimed);
  EXPECT_EQ(claimed.attempts, 1);
  EXPECT_EQ(claimed.claimed_by, "w7");
  EXPECT_EQ(claimed.claimed_at, clock.now());
  EXPECT_EQ(claimed.lease_expires_at, clock.now() + 10s);
  EXPECT_EQ(claimed.lease_token.size(), 32U);
  EXPECT_EQ(claimed.created_at, pushed.created_at);
  EXPECT_EQ(claimed.version, pushed.version + 1);
  const Job found = job(pushed.id);
  EXPECT_EQ(found.lease_token, claimed.lease_token);
  EXPECT_EQ(found.version, claimed.version);
  EXPECT_EQ(found.lease_expires_at, claimed.lease_expires_at);
}

TEST_P(ClaimTest, theNextLeaseOfAJobHasAnotherToken) {
  const Job first = pushAndClaim();
  release(first).value();
  const Job second = claim().at(0);
  EXPECT_EQ(second.id, first.id);
  EXPECT_NE(second.lease_token, first.lease_token);
}

TEST_P(ClaimTest, onAPoolNeverSeenThereIsNothing) {
  EXPECT_TRUE(claim(5, "w", "never-seen").empty());
  EXPECT_EQ(read([](Store& store) { return store.pools().find(PoolId("never-seen")); }), nullptr);
}

TEST_P(ClaimTest, poolsAreApart) {
  push({.data = "1"}, "q");
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(claim(1, "w", "q").size(), 1U);
}

TEST_P(ClaimTest, aDelayedJobIsClaimedWhenItIsDueAndNotBefore) {
  NewJob given{.data = "1"};
  given.delay = 5s;
  const Job delayed = push(given);
  EXPECT_EQ(read([](Store& store) { return store.jobs().nextDue(PoolId("p")); }), clock.now() + 5s);
  EXPECT_TRUE(claim().empty());
  clock.advance(4999ms);
  EXPECT_TRUE(claim().empty());
  clock.advance(1ms);
  EXPECT_EQ(idsOf(claim()), idsOf({delayed}));
  EXPECT_FALSE(read([](Store& store) { return store.jobs().nextDue(PoolId("p")); }));
}

TEST_P(ClaimTest, aDelayedJobThatIsDueTakesItsPlaceByCreation) {
  NewJob given{.data = "1"};
  given.delay = 5s;
  const Job delayed = push(given), plain = push();
  clock.advance(5s);
  EXPECT_EQ(idsOf(claim(2)), idsOf({delayed, plain}));
}

TEST_P(ClaimTest, aFailedJobKeepsItsPlaceByCreation) {
  const Job first = pushAndClaim();
  const Job second = push();
  fail(first).value();
  clock.advance(1min);
  const auto claimed = claim(2);
  EXPECT_EQ(idsOf(claimed), idsOf({first, second}));
  EXPECT_EQ(claimed[0].created_at, first.created_at);
  EXPECT_EQ(claimed[0].attempts, 2);
}

TEST_P(ClaimTest, promotingDueJobsIsAlsoADutyOfTheTick) {
  NewJob given{.data = "1"};
  given.delay = 5s;
  push(given), push(given);
  const auto promote = [this](int limit) {
    return write([limit](Store& store) { return store.jobs().promoteDue(limit); });
  };
  EXPECT_EQ(promote(10), 0);
  clock.advance(5s);
  EXPECT_EQ(promote(1), 1);
  EXPECT_EQ(promote(10), 1);
  EXPECT_EQ(promote(10), 0);
}

TEST_P(ClaimTest, aHeadOfDelayedJobsHidesNothing) {
  for (int i = 0; i < 100; ++i) {
    NewJob later{.data = "1", .priority = 9};
    later.delay = 1h;
    push(later);
  }
  const Job open = push();
  EXPECT_EQ(idsOf(claim(5)), idsOf({open}));
}

TEST_P(ClaimTest, aHeadOfJobsForOthersHidesNothing) {
  for (int i = 0; i < 100; ++i) {
    NewJob job = forCapability("gpu" + std::to_string(i % 20));
    job.priority = 9;
    push(job);
  }
  const Job open = push();
  EXPECT_EQ(idsOf(claim(5)), idsOf({open}));
}

TEST_P(ClaimTest, aHeadOfExpiredJobsHidesNothing) {
  for (int i = 0; i < 100; ++i) {
    NewJob job{.data = "1", .priority = 9};
    job.expires_at = clock.now() + 1s;
    push(job);
  }
  const Job open = push();
  clock.advance(1s);
  EXPECT_EQ(idsOf(claim(5)), idsOf({open}));
}

TEST_P(ClaimTest, anExpiredJobIsCancelledAndNeverClaimed) {
  NewJob given{.data = "1"};
  given.expires_at = clock.now() + 10s;
  const Job expiring = push(given);
  clock.advance(9999ms);
  const auto expire = [this] {
    return write([](Store& store) { return store.jobs().expirePending(100); });
  };
  EXPECT_EQ(expire(), 0);
  clock.advance(1ms);
  const auto before = lastEvent();
  EXPECT_EQ(expire(), 1);
  EXPECT_EQ(expire(), 0);
  const Job found = job(expiring.id);
  EXPECT_EQ(found.status, JobStatus::kCancelled);
  EXPECT_EQ(found.reason, "expired");
  EXPECT_EQ(found.finished_at, clock.now());
  EXPECT_EQ(eventTypesAfter(before), Names{"job.expired"});
}

TEST_P(ClaimTest, aJobThatBeganInTimeDoesNotExpire) {
  NewJob given{.data = "1"};
  given.expires_at = clock.now() + 10s;
  const Job claimed = pushAndClaim(given);
  clock.advance(11s);
  EXPECT_EQ(write([](Store& store) { return store.jobs().expirePending(100); }), 0);
  EXPECT_TRUE(complete(claimed));
}

TEST_P(ClaimTest, aJobGivenBackAfterItsExpiryIsNotClaimedAgain) {
  NewJob given{.data = "1"};
  given.expires_at = clock.now() + 10s;
  const Job claimed = pushAndClaim(given);
  clock.advance(11s);
  EXPECT_TRUE(claim().empty()) << "what is due was looked after for this moment";
  release(claimed).value();
  EXPECT_TRUE(claim().empty());
}

TEST_P(ClaimTest, moreExpiredJobsThanOneClaimEndsAreNotClaimedEither) {
  const Time soon = clock.now() + 1s;
  write([&](Store& store) {
    const auto pool = store.pools().findOrCreate(PoolId("p")).value();
    for (int i = 0; i < 2100; ++i) {
      NewJob job{.data = "1", .priority = 9};
      job.expires_at = soon;
      store.jobs().push(*pool, job);
    }
  });
  const Job open = push();
  clock.advance(1s);
  EXPECT_EQ(idsOf(claim(5)), idsOf({open}));
}

TEST_P(ClaimTest, aPausedPoolGivesNothing) {
  push();
  setPool(with<PoolSettings>([](auto& s) { s.paused = true; }));
  EXPECT_TRUE(claim().empty());
  setPool(with<PoolSettings>([](auto& s) { s.paused = false; }));
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(ClaimTest, capabilitiesMatchExactlyAndCaseSensitively) {
  const Job job = push(forCapability("GPU=a"));
  registerWorker(newWorker("lower", "", {"gpu=a", "GPU", "GPU=A"}));
  registerWorker(newWorker("exact", "", {"GPU=a"}));
  EXPECT_TRUE(claim(1, "lower").empty());
  EXPECT_TRUE(claim(1, "unregistered").empty());
  EXPECT_EQ(idsOf(claim(1, "exact")), idsOf({job}));
}

TEST_P(ClaimTest, aNodeRunsNoMoreThanItsShareAtOnce) {
  for (const char* id : {"a1", "a2"}) registerWorker(newWorker(id, "a"));
  registerWorker(newWorker("b1", "b"));
  NewJob limited{.data = "1"};
  limited.placement.max_parallel_per_node = 2;
  for (int i = 0; i < 6; ++i) push(limited);
  const auto on_a = claim(5, "a1");
  EXPECT_EQ(on_a.size(), 2U);
  EXPECT_TRUE(claim(5, "a2").empty()) << "the node is full, whoever asks";
  EXPECT_EQ(claim(1, "b1").size(), 1U);
  EXPECT_EQ(claim(5, "b1").size(), 1U);
  ASSERT_TRUE(complete(on_a[0]));
  EXPECT_EQ(claim(5, "a2").size(), 1U);
}

TEST_P(ClaimTest, aNodesShareCountsAllJobsOfThePoolThatHaveOne) {
  registerWorker(newWorker("w", "a"));
  for (const char* tenant : {"", "acme", "brick"}) {
    NewJob limited{.data = "1", .tenant = tenant};
    limited.placement.max_parallel_per_node = 1;
    push(limited);
  }
  EXPECT_EQ(claim(10).size(), 1U);
  EXPECT_TRUE(claim(10).empty());
  push();
  EXPECT_EQ(claim(10).size(), 1U) << "jobs without a share are not held up";
}

}  // namespace
}  // namespace muster::test
