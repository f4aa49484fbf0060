#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Leases last 60 seconds in these tests, the default.
class LeaseTest : public StoreTest {
 protected:
  Result<Job> renew(const Job& job, std::optional<Millis> extend = {}) {
    return write([&](Store& s) { return s.jobs().renew(job.id, job.lease_token, extend); });
  }
  std::int64_t expireLeases(int limit = 100) {
    return write([limit](Store& s) { return s.jobs().expireLeases(limit); });
  }
  std::int64_t releaseByWorker(const std::string& worker) {
    return write([&](Store& s) { return s.jobs().releaseByWorker(worker, "released_by_worker"); });
  }
};
MUSTER_ON_EVERY_BACKEND(LeaseTest);

TEST_P(LeaseTest, runsOutStrictlyAfterItsDeadline) {
  const Job claimed = pushAndClaim();
  clock.advance(60s);
  EXPECT_EQ(expireLeases(), 0);
  EXPECT_TRUE(renew(claimed));
  clock.advance(60s + 1ms);
  EXPECT_EQ(codeOf(renew(claimed)), ErrorCode::kLeaseLost);
  EXPECT_EQ(expireLeases(), 1);
  EXPECT_EQ(expireLeases(), 0);
}

TEST_P(LeaseTest, anExpiredLeaseReassignsTheJobAndCountsTheTry) {
  const Job claimed = pushAndClaim({.data = "1", .max_retries = 2});
  clock.advance(61s);
  const auto before = lastEvent();
  ASSERT_EQ(expireLeases(), 1);
  const Job found = job(claimed.id);
  EXPECT_EQ(found.status, JobStatus::kPending);
  EXPECT_EQ(found.attempts, 1);
  EXPECT_EQ(found.crashes, 1);
  EXPECT_EQ(found.reason, "lease_expired");
  EXPECT_EQ(found.available_at, clock.now() + 400ms) << "the same back-off as a failure";
  EXPECT_TRUE(found.claimed_by.empty());
  EXPECT_EQ(eventTypesAfter(before), Names{"job.reassigned"});
  EXPECT_EQ(eventsAfter(before).at(0).worker, "w");
  EXPECT_EQ(attempts(claimed.id).at(0).outcome, "lease_expired");
}

TEST_P(LeaseTest, aJobThatKillsItsWorkersIsPoisoned) {
  const Job pushed = push({.data = "1", .max_retries = 2});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(claimOne(pushed.id));
    clock.advance(10min);
    ASSERT_EQ(expireLeases(), 1);
    clock.advance(10min);
  }
  const Job found = job(pushed.id);
  EXPECT_EQ(found.status, JobStatus::kPoisoned);
  EXPECT_EQ(found.reason, "lease_expired");
  EXPECT_EQ(found.crashes, 2);
}

TEST_P(LeaseTest, expiryHasALimitAndTakesTheOldestFirst) {
  const Job first = pushAndClaim();
  clock.advance(1s);
  const Job second = pushAndClaim();
  clock.advance(2min);
  EXPECT_EQ(expireLeases(1), 1);
  EXPECT_EQ(job(first.id).status, JobStatus::kPending);
  EXPECT_EQ(job(second.id).status, JobStatus::kClaimed);
}

TEST_P(LeaseTest, betweenExpiryAndCompletionExactlyOneWins) {
  const Job early = pushAndClaim(), late = pushAndClaim();
  clock.advance(61s);
  EXPECT_TRUE(complete(early)) << "nobody took it back yet";
  EXPECT_EQ(expireLeases(), 1);
  EXPECT_EQ(job(early.id).status, JobStatus::kDone);
  const auto before = lastEvent();
  EXPECT_EQ(codeOf(complete(late)), ErrorCode::kLeaseLost);
  EXPECT_EQ(eventTypesAfter(before), Names{"job.late_result_dropped"});
  EXPECT_EQ(job(late.id).status, JobStatus::kPending);
}

TEST_P(LeaseTest, inOneUnitToo) {
  const Job claimed = pushAndClaim();
  clock.advance(61s);
  const auto lost = write([&](Store& s) {
    s.jobs().expireLeases(10);
    return s.jobs().complete(claimed.id, {claimed.lease_token, ""}, {}, "");
  });
  EXPECT_EQ(codeOf(lost), ErrorCode::kLeaseLost);
}

TEST_P(LeaseTest, renewalIsForTheLeaseOfThePoolOrAsLongAsAsked) {
  const Job claimed = pushAndClaim();
  clock.advance(30s);
  EXPECT_EQ(renew(claimed)->lease_expires_at, clock.now() + 60s);
  EXPECT_EQ(renew(claimed, 5min)->lease_expires_at, clock.now() + 5min);
  EXPECT_EQ(job(claimed.id).lease_expires_at, clock.now() + 5min);
}

TEST_P(LeaseTest, onlyTheHolderRenews) {
  Job claimed = pushAndClaim();
  const std::string token = claimed.lease_token;
  for (const char* other : {"other", ""}) {
    claimed.lease_token = other;
    EXPECT_EQ(codeOf(renew(claimed)), ErrorCode::kLeaseLost) << '"' << other << '"';
  }
  claimed.lease_token = token;
  complete(claimed).value();
  EXPECT_EQ(codeOf(renew(claimed)), ErrorCode::kLeaseLost);
  claimed.id = JobId("never-seen");
  EXPECT_EQ(codeOf(renew(claimed)), ErrorCode::kNotFound);
}

TEST_P(LeaseTest, aHeartbeatRenewsAllLeasesOfTheWorkerInAllPools) {
  registerWorker(newWorker("w"));
  setPool(with<PoolSettings>([](auto& s) { s.lease_seconds = 100; }), "q");
  const Job here = pushAndClaim();
  const Job there = push({.data = "1"}, "q");
  ASSERT_EQ(claim(1, "w", "q").size(), 1U);
  const Job other = pushAndClaim({.data = "1"}, "somebody");
  clock.advance(50s);
  const auto beat =
      write([](Store& s) { return s.workers().heartbeat(WorkerId("w"), {}); }).value();
  EXPECT_EQ(beat.status, "active");
  ASSERT_EQ(beat.leases.size(), 2U);
  EXPECT_EQ(job(here.id).lease_expires_at, clock.now() + 60s);
  EXPECT_EQ(job(there.id).lease_expires_at, clock.now() + 100s);
  EXPECT_EQ(job(other.id).lease_expires_at, clock.now() + 10s);
}

TEST_P(LeaseTest, aHeartbeatDoesNotRenewWhatRanOut) {
  registerWorker(newWorker("w"));
  const Job claimed = pushAndClaim();
  clock.advance(60s + 1ms);
  EXPECT_TRUE(
      write([](Store& s) { return s.workers().heartbeat(WorkerId("w"), {}); })->leases.empty());
  EXPECT_EQ(job(claimed.id).lease_expires_at, claimed.lease_expires_at);
}

TEST_P(LeaseTest, aHeartbeatNeverShortensALease) {
  registerWorker(newWorker("w"));
  const Job claimed = pushAndClaim();
  renew(claimed, 1h).value();
  const auto beat =
      write([](Store& s) { return s.workers().heartbeat(WorkerId("w"), {}); }).value();
  EXPECT_EQ(beat.leases.at(0).expires_at, clock.now() + 1h);
}

TEST_P(LeaseTest, releaseByWorkerGivesBackItsJobsInAllPoolsWithTheTryCounted) {
  const Job here = pushAndClaim({.data = "1", .max_retries = 2});
  const Job last = pushAndClaim({.data = "1", .max_retries = 1});
  const Job there = push({.data = "1"}, "q");
  ASSERT_EQ(claim(1, "w", "q").size(), 1U);
  const Job other = pushAndClaim({.data = "1"}, "somebody");
  const auto before = lastEvent();
  EXPECT_EQ(releaseByWorker("w"), 3);
  EXPECT_EQ(releaseByWorker("w"), 0);
  EXPECT_EQ(job(here.id).status, JobStatus::kPending);
  EXPECT_EQ(job(here.id).attempts, 1);
  EXPECT_EQ(job(here.id).crashes, 0) << "it was let go, not lost";
  EXPECT_EQ(job(last.id).status, JobStatus::kPoisoned);
  EXPECT_EQ(job(there.id).status, JobStatus::kPending);
  EXPECT_EQ(job(other.id).status, JobStatus::kClaimed);
  EXPECT_EQ(eventTypesAfter(before), (Names{"job.reassigned", "job.poisoned", "job.reassigned"}));
  EXPECT_EQ(attempts(here.id).at(0).outcome, "released_by_worker");
  EXPECT_EQ(codeOf(complete(here)), ErrorCode::kLeaseLost);
}

TEST_P(LeaseTest, releaseByWorkerOfAnIdThatHoldsNothingIsNothing) {
  EXPECT_EQ(releaseByWorker("never-seen"), 0);
}

}  // namespace
}  // namespace muster::test
