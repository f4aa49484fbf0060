#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class CancelRetryTest : public StoreTest {
 protected:
  Result<Job> cancel(const JobId& id, const std::string& reason = "") {
    return write([&](Store& s) { return s.jobs().cancel(id, reason); });
  }
  Result<Job> retry(const JobId& id) {
    return write([&](Store& s) { return s.jobs().retry(id); });
  }
  Status remove(const JobId& id, std::optional<std::int64_t> if_version = {}) {
    return write([&](Store& s) { return s.jobs().remove(id, if_version); });
  }
  Job poisoned(NewJob job = {.data = "1"}) {
    job.max_retries = 0;
    return fail(pushAndClaim(job), failure("boom")).value();
  }
  static FailureReport stopped() {
    return with<FailureReport>([](auto& r) { r.cancelled = true; });
  }
};
MUSTER_ON_EVERY_BACKEND(CancelRetryTest);

TEST_P(CancelRetryTest, aPendingJobIsCancelledAtOnce) {
  const Job pending = push();
  const auto before = lastEvent();
  const Job answer = cancel(pending.id, "not needed").value();
  for (const Job& seen : {answer, job(pending.id)}) {
    EXPECT_EQ(seen.status, JobStatus::kCancelled);
    EXPECT_EQ(seen.reason, "not needed");
    EXPECT_EQ(seen.finished_at, clock.now());
  }
  EXPECT_EQ(eventTypesAfter(before), Names{"job.cancelled"});
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(cancel(pending.id)->version, answer.version) << "again is the same";
  EXPECT_EQ(eventTypesAfter(before), Names{"job.cancelled"});
}

TEST_P(CancelRetryTest, aDelayedJobCanBeCancelled) {
  NewJob later{.data = "1"};
  later.delay = 1h;
  cancel(push(later).id).value();
  clock.advance(2h);
  EXPECT_TRUE(claim().empty());
}

TEST_P(CancelRetryTest, theHolderOfAClaimedJobIsAskedToStop) {
  registerWorker(newWorker("w"));
  const Job claimed = pushAndClaim();
  const Job asked = cancel(claimed.id, "enough").value();
  EXPECT_EQ(asked.status, JobStatus::kClaimed);
  EXPECT_TRUE(asked.cancel_requested);
  EXPECT_EQ(cancel(claimed.id)->version, asked.version) << "again is the same";
  const auto beat =
      write([](Store& s) { return s.workers().heartbeat(WorkerId("w"), {}); }).value();
  ASSERT_EQ(beat.leases.size(), 1U);
  EXPECT_TRUE(beat.leases[0].cancel_requested);

  const auto before = lastEvent();
  EXPECT_EQ(fail(claimed, stopped())->status, JobStatus::kCancelled);
  EXPECT_EQ(eventTypesAfter(before), Names{"job.cancelled"});
  EXPECT_EQ(attempts(claimed.id).at(0).outcome, "cancelled");
  EXPECT_TRUE(fail(claimed, stopped())) << "a replay";
  EXPECT_FALSE(job(claimed.id).cancel_requested);
}

TEST_P(CancelRetryTest, whoeverEndsTheTryOfAJobToBeCancelledCancelsIt) {
  const Job failed = pushAndClaim(), released = pushAndClaim(), expired = pushAndClaim(),
            lost = pushAndClaim({.data = "1"}, "w2");
  for (const Job& each : {failed, released, expired, lost}) cancel(each.id).value();
  fail(failed, failure("boom")).value();
  release(released).value();
  write([](Store& s) { s.jobs().releaseByWorker("w2", "worker_lost"); });
  clock.advance(61s);
  write([](Store& s) { s.jobs().expireLeases(10); });
  for (const Job& each : {failed, released, expired, lost}) {
    EXPECT_EQ(job(each.id).status, JobStatus::kCancelled);
    EXPECT_EQ(eventTypesAfter(0, with<EventFilter>([&](auto& f) { f.job = each.id.str(); })).back(),
              "job.cancelled");
  }
}

TEST_P(CancelRetryTest, aJobThatFinishesBeforeItStopsIsDone) {
  const Job claimed = pushAndClaim();
  cancel(claimed.id).value();
  EXPECT_EQ(complete(claimed)->status, JobStatus::kDone);
  EXPECT_EQ(codeOf(cancel(claimed.id)), ErrorCode::kAlreadyFinished);
}

TEST_P(CancelRetryTest, whatIsFinishedCannotBeCancelled) {
  EXPECT_EQ(codeOf(cancel(complete(pushAndClaim())->id)), ErrorCode::kAlreadyFinished);
  EXPECT_EQ(codeOf(cancel(poisoned().id)), ErrorCode::kAlreadyFinished);
  EXPECT_EQ(codeOf(cancel(JobId("never-seen"))), ErrorCode::kNotFound);
}

TEST_P(CancelRetryTest, retryGivesAPoisonedOrCancelledJobAllItsTriesAgain) {
  const JobId bad = poisoned().id;
  const JobId stopped_early = push().id;
  cancel(stopped_early).value();
  clock.advance(1h);
  for (const JobId& id : {bad, stopped_early}) {
    const auto before = lastEvent();
    const Job answer = retry(id).value();
    for (const Job& seen : {answer, job(id)}) {
      EXPECT_EQ(seen.status, JobStatus::kPending);
      EXPECT_EQ(seen.attempts, 0);
      EXPECT_EQ(seen.available_at, clock.now());
      EXPECT_FALSE(seen.finished_at);
      EXPECT_TRUE(seen.error.empty());
      EXPECT_TRUE(seen.reason.empty());
      EXPECT_EQ(seen.version, answer.version);
    }
    EXPECT_EQ(eventTypesAfter(before), Names{"job.retried"});
  }
  EXPECT_EQ(claim(5).size(), 2U);
}

TEST_P(CancelRetryTest, aJobThatExpiredCanBeRetried) {
  NewJob given{.data = "1"};
  given.expires_at = clock.now() + 1s;
  const Job expired = push(given);
  clock.advance(1s);
  write([](Store& s) { s.jobs().expirePending(10); });
  ASSERT_TRUE(retry(expired.id));
  EXPECT_EQ(idsOf(claim()), idsOf({expired}));
}

TEST_P(CancelRetryTest, onlyPoisonedAndCancelledJobsAreRetried) {
  EXPECT_EQ(codeOf(retry(push().id)), ErrorCode::kNotRetryable);
  EXPECT_EQ(codeOf(retry(pushAndClaim().id)), ErrorCode::kNotRetryable);
  EXPECT_EQ(codeOf(retry(complete(pushAndClaim())->id)), ErrorCode::kNotRetryable);
  EXPECT_EQ(codeOf(retry(JobId("never-seen"))), ErrorCode::kNotFound);
}

TEST_P(CancelRetryTest, aJobIsNotRetriedBesideALivingOneWithItsUniqueKey) {
  const Job old = poisoned({.data = "1", .unique_key = "k"});
  const Job living = push({.data = "1", .unique_key = "k"});
  const auto refused = retry(old.id);
  ASSERT_EQ(codeOf(refused), ErrorCode::kNotRetryable);
  EXPECT_NE(refused.error().detail.find(living.id.str()), std::string::npos);
  cancel(living.id).value();
  EXPECT_TRUE(retry(old.id));
}

TEST_P(CancelRetryTest, aJobNobodyHoldsCanBeRemovedForGood) {
  const Job done = complete(pushAndClaim(), "1").value();
  const Job failed = fail(pushAndClaim()).value();
  for (const JobId& id : {push().id, done.id, failed.id, poisoned().id}) {
    EXPECT_TRUE(remove(id));
    EXPECT_FALSE(read([&](Store& s) { return s.jobs().find(id); }));
    EXPECT_TRUE(attempts(id).empty());
    EXPECT_EQ(codeOf(remove(id)), ErrorCode::kNotFound);
  }
  EXPECT_TRUE(allJobs().empty());
}

TEST_P(CancelRetryTest, aClaimedJobIsNotRemoved) {
  const Job claimed = pushAndClaim();
  EXPECT_EQ(codeOf(remove(claimed.id)), ErrorCode::kJobActive);
  EXPECT_TRUE(complete(claimed));
}

TEST_P(CancelRetryTest, removalIsGuardedByTheVersion) {
  const Job pending = push();
  EXPECT_EQ(codeOf(remove(pending.id, pending.version + 1)), ErrorCode::kVersionMismatch);
  EXPECT_TRUE(remove(pending.id, pending.version));
}

}  // namespace
}  // namespace muster::test
