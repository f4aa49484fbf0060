#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class OutcomeTest : public StoreTest {
 protected:
  Result<Job> completeBy(const Job& job, const Reporter& by, std::optional<std::string> result = {},
                         const std::string& artifacts = "") {
    return write([&](Store& s) { return s.jobs().complete(job.id, by, result, artifacts); });
  }
  Result<Job> failBy(const Job& job, const Reporter& by) {
    return write([&](Store& s) { return s.jobs().fail(job.id, by, {}); });
  }
  void expectUnchanged(const Job& before) {
    const Job after = job(before.id);
    EXPECT_EQ(after.version, before.version);
    EXPECT_EQ(after.status, before.status);
  }
};
MUSTER_ON_EVERY_BACKEND(OutcomeTest);

TEST_P(OutcomeTest, aCompletedJobIsDoneWithItsResult) {
  const Job claimed = pushAndClaim();
  const auto before = lastEvent();
  clock.advance(2s);
  const Job answer =
      completeBy(claimed, {claimed.lease_token, ""}, R"({"ok":true})", "[{}]").value();
  for (const Job& seen : {answer, job(claimed.id)}) {
    EXPECT_EQ(seen.status, JobStatus::kDone);
    EXPECT_EQ(seen.finished_at, clock.now());
    EXPECT_EQ(seen.result, R"({"ok":true})");
    EXPECT_EQ(seen.artifacts, "[{}]");
    EXPECT_EQ(seen.claimed_by, "w");
    EXPECT_FALSE(seen.lease_expires_at);
    EXPECT_EQ(seen.version, claimed.version + 1);
    EXPECT_EQ(seen.data, "1");
  }
  const auto events = eventsAfter(before);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, "job.completed");
  EXPECT_EQ(events[0].job, claimed.id.str());
  EXPECT_EQ(events[0].worker, "w");
  EXPECT_EQ(events[0].attempt, 1);
}

TEST_P(OutcomeTest, aResultMayBeNullOrAbsent) {
  EXPECT_EQ(job(complete(pushAndClaim(), "null")->id).result, "null");
  EXPECT_EQ(job(complete(pushAndClaim())->id).result, std::nullopt);
}

TEST_P(OutcomeTest, completingAgainWithTheSameTokenAndBodyAnswersTheSame) {
  const Job claimed = pushAndClaim();
  const Job first = complete(claimed, "1").value();
  const auto events = lastEvent();
  clock.advance(1h);
  const Job again = complete(claimed, "1").value();
  EXPECT_EQ(again.finished_at, first.finished_at);
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(again.result, "1");
  EXPECT_EQ(lastEvent(), events);
}

TEST_P(OutcomeTest, completingAgainWithAnotherBodyIsRefused) {
  const Job claimed = pushAndClaim();
  complete(claimed, "1").value();
  const Job done = job(claimed.id);
  EXPECT_EQ(codeOf(complete(claimed, "2")), ErrorCode::kAlreadyFinished);
  EXPECT_EQ(codeOf(complete(claimed)), ErrorCode::kAlreadyFinished);
  EXPECT_EQ(codeOf(completeBy(claimed, {claimed.lease_token, ""}, "1", "[{}]")),
            ErrorCode::kAlreadyFinished);
  expectUnchanged(done);
  EXPECT_EQ(job(claimed.id).result, "1");
}

TEST_P(OutcomeTest, replaysAreJudgedTheSameWithoutTheData) {
  const Job claimed = pushAndClaim();
  const auto report = [&](std::optional<std::string> result) {
    return write([&](Store& s) {
      return s.jobs().complete(claimed.id, {claimed.lease_token, ""}, result, "", false);
    });
  };
  EXPECT_TRUE(report("1"));
  EXPECT_TRUE(report("1"));
  EXPECT_EQ(codeOf(report("2")), ErrorCode::kAlreadyFinished);
}

TEST_P(OutcomeTest, anotherTokenIsALostLeaseAndLeavesATrace) {
  const Job claimed = pushAndClaim();
  const auto before = lastEvent();
  EXPECT_EQ(codeOf(completeBy(claimed, {"stolen", "thief"}, "1")), ErrorCode::kLeaseLost);
  expectUnchanged(claimed);
  const auto events = eventsAfter(before);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].type, "job.late_result_dropped");
  EXPECT_EQ(events[0].job, claimed.id.str());
  EXPECT_EQ(events[0].worker, "thief");
  complete(claimed, "1").value();
  EXPECT_EQ(codeOf(completeBy(claimed, {"stolen", ""}, "1")), ErrorCode::kLeaseLost);
}

TEST_P(OutcomeTest, aLateReportFindsTheJobWithItsNextHolder) {
  const Job first = pushAndClaim();
  release(first).value();
  const Job second = claim(1, "w2").at(0);
  const auto before = lastEvent();
  EXPECT_EQ(codeOf(complete(first, "1")), ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(fail(first, failure("late"))), ErrorCode::kLeaseLost);
  EXPECT_EQ(eventTypesAfter(before), (Names{"job.late_result_dropped", "job.late_result_dropped"}));
  EXPECT_TRUE(complete(second, "2"));
}

TEST_P(OutcomeTest, aReportWithoutATokenIsTakenWhileTheJobIsClaimed) {
  EXPECT_EQ(completeBy(pushAndClaim(), {"", ""})->status, JobStatus::kDone);
  EXPECT_EQ(completeBy(pushAndClaim(), {"", "w"})->status, JobStatus::kDone);
  EXPECT_EQ(failBy(pushAndClaim(), {"", "w"})->status, JobStatus::kPending);
}

TEST_P(OutcomeTest, aReportWithoutATokenIsTakenOnlyFromTheHolder) {
  const Job claimed = pushAndClaim();
  EXPECT_EQ(codeOf(completeBy(claimed, {"", "somebody"})), ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(failBy(claimed, {"", "somebody"})), ErrorCode::kLeaseLost);
  expectUnchanged(claimed);
}

TEST_P(OutcomeTest, aReportWithoutATokenIsRefusedWhenNobodyHoldsTheJob) {
  const Job pending = push();
  EXPECT_EQ(codeOf(completeBy(pending, {"", ""})), ErrorCode::kNotClaimed);
  EXPECT_EQ(codeOf(failBy(pending, {"", "w"})), ErrorCode::kNotClaimed);
  const Job done = complete(pushAndClaim()).value();
  const auto before = lastEvent();
  EXPECT_EQ(codeOf(completeBy(done, {"", ""})), ErrorCode::kAlreadyFinished);
  EXPECT_EQ(codeOf(failBy(done, {"", "w"})), ErrorCode::kAlreadyFinished);
  EXPECT_EQ(lastEvent(), before);
}

TEST_P(OutcomeTest, reportsOnAnUnknownJobFindNothing) {
  Job nowhere;
  nowhere.id = JobId("never-seen");
  nowhere.lease_token = "t";
  EXPECT_EQ(codeOf(complete(nowhere)), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(fail(nowhere)), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(release(nowhere)), ErrorCode::kNotFound);
}

TEST_P(OutcomeTest, aFailedJobWaitsLongerEachTimeAndIsThenPoisoned) {
  Job claimed = pushAndClaim();
  for (const auto wait : {400ms, 800ms}) {
    const auto before = lastEvent();
    const Job failed = fail(claimed, failure("boom")).value();
    EXPECT_EQ(failed.status, JobStatus::kPending);
    EXPECT_EQ(failed.available_at, clock.now() + wait);
    EXPECT_EQ(failed.error, "boom");
    EXPECT_TRUE(failed.lease_token.empty());
    EXPECT_EQ(eventTypesAfter(before), Names{"job.failed"});
    EXPECT_TRUE(claim().empty());
    clock.advance(wait);
    claimed = claim().at(0);
    EXPECT_TRUE(claimed.error.empty()) << "a new try has no error yet";
  }
  EXPECT_EQ(claimed.attempts, 3);
  const auto before = lastEvent();
  fail(claimed, failure("boom")).value();
  const Job poisoned = job(claimed.id);
  EXPECT_EQ(poisoned.status, JobStatus::kPoisoned);
  EXPECT_EQ(poisoned.attempts, 3);
  EXPECT_EQ(poisoned.reason, "max_retries");
  EXPECT_EQ(poisoned.error, "boom");
  EXPECT_EQ(poisoned.finished_at, clock.now());
  EXPECT_EQ(eventTypesAfter(before), Names{"job.poisoned"});
}

TEST_P(OutcomeTest, theFirstFailurePoisonsAJobWithoutRetries) {
  EXPECT_EQ(fail(pushAndClaim({.data = "1", .max_retries = 0}))->status, JobStatus::kPoisoned);
  EXPECT_EQ(fail(pushAndClaim({.data = "1", .max_retries = 1}))->status, JobStatus::kPoisoned);
}

TEST_P(OutcomeTest, aFailureMaySayWhatToDo) {
  const Job hopeless =
      fail(pushAndClaim(), with<FailureReport>([](auto& r) { r.retryable = false; })).value();
  EXPECT_EQ(hopeless.status, JobStatus::kPoisoned);
  EXPECT_EQ(hopeless.reason, "not_retryable");

  const Job limited =
      fail(pushAndClaim({.data = "1", .max_retries = 1}), with<FailureReport>([](auto& r) {
             r.no_penalty = true;
             r.retry_after = 30s;
           }))
          .value();
  EXPECT_EQ(limited.status, JobStatus::kPending);
  EXPECT_EQ(limited.attempts, 0) << "the try is given back";
  EXPECT_EQ(limited.available_at, clock.now() + 30s);
}

TEST_P(OutcomeTest, zeroBackoffIsImmediate) {
  setPool(with<PoolSettings>([](auto& s) { s.retry_base_ms = 0; }));
  fail(pushAndClaim()).value();
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(OutcomeTest, failingAgainWithTheSameReportAnswersTheSame) {
  const Job claimed = pushAndClaim();
  const Job first = fail(claimed, failure("boom")).value();
  const auto before = lastEvent();
  const Job again = fail(claimed, failure("boom")).value();
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(again.status, JobStatus::kPending);
  EXPECT_EQ(lastEvent(), before);
  EXPECT_EQ(codeOf(fail(claimed, failure("other"))), ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(complete(claimed)), ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(release(claimed)), ErrorCode::kLeaseLost);
}

TEST_P(OutcomeTest, aReleasedJobGetsItsTryBackAndIsFreeAtOnce) {
  const Job claimed = pushAndClaim({.data = "1", .max_retries = 1});
  const auto before = lastEvent();
  const Job released = release(claimed).value();
  EXPECT_EQ(released.status, JobStatus::kPending);
  EXPECT_EQ(released.attempts, 0);
  EXPECT_EQ(released.available_at, clock.now());
  EXPECT_EQ(eventTypesAfter(before), Names{"job.released"});
  EXPECT_EQ(release(claimed)->version, released.version) << "a replay";
  EXPECT_EQ(claim().at(0).attempts, 1);
}

TEST_P(OutcomeTest, attemptsTellTheStoryOfAJob) {
  const Job first = pushAndClaim({.data = "1", .max_retries = 9}, "w1");
  EXPECT_EQ(attempts(first.id).at(0).outcome, "running");
  EXPECT_FALSE(attempts(first.id).at(0).ended_at);
  auto report = failure("boom");
  report.exit_code = 3;
  report.exit_signal = 9;
  report.max_rss_bytes = 4096;
  report.output_tail = "last words";
  clock.advance(1s);
  fail(first, report).value();
  clock.advance(1min);
  const Job second = claimOne(first.id, "w2").value();
  release(second).value();
  const Job third = claimOne(first.id, "w3").value();
  clock.advance(1s);
  complete(third).value();

  const auto tries = attempts(first.id);
  ASSERT_EQ(tries.size(), 3U);
  EXPECT_EQ(tries[0].attempt, 1);
  EXPECT_EQ(tries[0].worker, "w1");
  EXPECT_EQ(tries[0].outcome, "failed");
  EXPECT_EQ(tries[0].error, "boom");
  EXPECT_EQ(tries[0].exit_code, 3);
  EXPECT_EQ(tries[0].exit_signal, 9);
  EXPECT_EQ(tries[0].max_rss_bytes, 4096);
  EXPECT_EQ(tries[0].output_tail, "last words");
  EXPECT_EQ(*tries[0].ended_at - tries[0].claimed_at, 1s);
  EXPECT_EQ(tries[1].outcome, "released");
  EXPECT_EQ(tries[1].worker, "w2");
  EXPECT_EQ(tries[2].outcome, "done");
  EXPECT_EQ(tries[2].worker, "w3");
  EXPECT_EQ(tries[2].attempt, 2) << "the released try was given back";
  EXPECT_EQ(tries[2].ended_at, clock.now());
  EXPECT_TRUE(attempts(JobId("never-seen")).empty());
}

TEST_P(OutcomeTest, workersAreCreditedWithWhatTheyDid) {
  registerWorker(newWorker("w"));
  complete(pushAndClaim()).value();
  complete(pushAndClaim()).value();
  fail(pushAndClaim()).value();
  release(pushAndClaim()).value();
  const auto worker = read([](Store& s) { return s.workers().find(WorkerId("w")); }).value();
  EXPECT_EQ(worker.jobs_done, 2);
  EXPECT_EQ(worker.jobs_failed, 1);
}

TEST_P(OutcomeTest, progressIsShownUntilTheTryEnds) {
  const Job claimed = pushAndClaim();
  const auto tell = [&](const std::string& token, double share) {
    return write([&](Store& s) { return s.jobs().progress(claimed.id, token, share, "half way"); });
  };
  const auto before = lastEvent();
  EXPECT_EQ(tell(claimed.lease_token, 0.5)->progress, 0.5);
  EXPECT_EQ(job(claimed.id).progress, 0.5);
  EXPECT_EQ(job(claimed.id).progress_message, "half way");
  EXPECT_EQ(codeOf(tell("other", 0.6)), ErrorCode::kLeaseLost);
  EXPECT_EQ(codeOf(tell("", 0.6)), ErrorCode::kLeaseLost);
  EXPECT_EQ(job(claimed.id).progress, 0.5);
  EXPECT_EQ(eventTypesAfter(before), Names{"job.progress"});
  release(claimed).value();
  EXPECT_FALSE(job(claimed.id).progress);
  EXPECT_EQ(codeOf(tell(claimed.lease_token, 0.7)), ErrorCode::kLeaseLost);
}

}  // namespace
}  // namespace muster::test
