#include "models/policy/recorded_load.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const Time kStart = fromMillis(1'700'000'000'000);
const Time kNow = kStart + Seconds(1000);
constexpr RetryPolicy kRetry{Millis(400), 0.2, Millis(60'000)};

Time at(int seconds) { return kStart + Seconds(seconds); }

JobHistory history(JobStatus status, Time created, std::optional<Time> claimed = {},
                   std::optional<Time> finished = {}) {
  JobHistory job;
  job.seq = 7;
  job.status = status;
  job.priority = 3;
  job.created_at = job.available_at = created;
  job.claimed_at = claimed;
  job.finished_at = finished;
  return job;
}

TEST(RecordedLoad, aJobThatIsDoneHasOneTry) {
  RecordedLoad load(kNow, kRetry);
  const auto job = load.add(history(JobStatus::kDone, at(0), at(5), at(8)));
  ASSERT_TRUE(job);
  EXPECT_EQ(job->at, at(0));
  EXPECT_EQ(job->run, Seconds(3));
  EXPECT_EQ(job->order, 7);
  EXPECT_EQ(job->priority, 3);
  EXPECT_TRUE(job->retries.empty());
  const LoadFigures figures = load.figures();
  EXPECT_EQ(load.jobs(), 1);
  EXPECT_EQ(load.tries(), 1);
  EXPECT_EQ(figures.max_wait, Seconds(5));
  EXPECT_EQ(figures.p50_wait, Seconds(5)) << "never above the longest";
  EXPECT_EQ(figures.finished_at, at(8));
  EXPECT_EQ(figures.unfinished, 0);
}

TEST(RecordedLoad, aDelayIsNoWait) {
  RecordedLoad load(kNow, kRetry);
  JobHistory job = history(JobStatus::kDone, at(0), at(62), at(63));
  job.available_at = at(60);
  EXPECT_EQ(load.add(job)->at, at(60));
  EXPECT_EQ(load.figures().max_wait, Seconds(2));
}

TEST(RecordedLoad, a_job_counts_from_when_it_was_unblocked) {
  RecordedLoad load(kNow, kRetry);
  JobHistory job = history(JobStatus::kDone, at(0), at(65), at(70));
  job.unblocked_at = job.available_at = at(60);
  EXPECT_EQ(load.add(job)->at, at(60));
  EXPECT_EQ(load.figures().max_wait, Seconds(5)) << "not from its creation";
  job.tries = {{at(61), at(62)}};
  job.available_at = at(64);
  const auto replay = load.add(job);
  EXPECT_EQ(replay->at, at(60)) << "the first try, however many followed";
  EXPECT_EQ(replay->retries.at(0).after, Seconds(2));
}

TEST(RecordedLoad, a_job_that_a_retry_blocked_again_has_its_tries_and_is_not_open) {
  RecordedLoad load(kNow, kRetry);
  JobHistory job = history(JobStatus::kBlocked, at(0));
  EXPECT_FALSE(load.add(job)) << "it was never work";
  job.tries = {{at(61), at(62)}};
  job.unblocked_at = at(60);
  EXPECT_EQ(load.add(job)->at, at(60));
  EXPECT_EQ(load.tries(), 1);
  EXPECT_EQ(load.stillOpen(), 0);
}

TEST(RecordedLoad, eachTryIsARun) {
  RecordedLoad load(kNow, kRetry);
  JobHistory job = history(JobStatus::kDone, at(0), at(50), at(60));
  job.tries = {{at(1), at(3)}, {at(10), at(14)}};
  job.available_at = at(20);
  const auto replay = load.add(job);
  ASSERT_TRUE(replay);
  EXPECT_EQ(replay->at, at(0));
  EXPECT_EQ(replay->run, Seconds(2));
  ASSERT_EQ(replay->retries.size(), 2U);
  EXPECT_EQ(replay->retries[0].after, Millis(400)) << "the usual pause: the record does not say";
  EXPECT_EQ(replay->retries[0].run, Seconds(4));
  EXPECT_EQ(replay->retries[1].after, Seconds(6)) << "known of the last";
  EXPECT_EQ(replay->retries[1].run, Seconds(10));
  EXPECT_EQ(load.jobs(), 1);
  EXPECT_EQ(load.tries(), 3);
  EXPECT_EQ(load.figures().max_wait, Seconds(30)) << "of the last try";
}

TEST(RecordedLoad, aTryThatWasGivenBackIsFollowedAtOnce) {
  RecordedLoad load(kNow, kRetry);
  JobHistory job = history(JobStatus::kPoisoned, at(0), {}, at(30));
  job.tries = {{at(1), at(3), true}, {at(3), at(14)}, {at(20), at(30)}};
  job.available_at = at(15);
  const auto replay = load.add(job);
  ASSERT_EQ(replay->retries.size(), 2U);
  EXPECT_EQ(replay->retries[0].after, Millis(0));
  EXPECT_EQ(replay->retries[1].after, Seconds(1));
  EXPECT_EQ(load.figures().finished_at, at(30));
}

TEST(RecordedLoad, aPauseIsNotLongerThanItWas) {
  RecordedLoad load(kNow, kRetry);
  JobHistory job = history(JobStatus::kPoisoned, at(0), {}, at(30));
  job.tries = {{at(1), at(3)}, {at(3), at(14)}, {at(20), at(30)}};
  EXPECT_EQ(load.add(job)->retries[0].after, Millis(0));
}

TEST(RecordedLoad, whatHasNotEndedCountsWithTheTimeKnown) {
  RecordedLoad load(kNow, kRetry);
  const auto running = load.add(history(JobStatus::kClaimed, at(0), at(900)));
  EXPECT_EQ(running->run, Seconds(100));
  const auto pending = load.add(history(JobStatus::kPending, at(0)));
  ASSERT_TRUE(pending);
  EXPECT_FALSE(pending->run);
  EXPECT_EQ(load.tries(), 2);
  EXPECT_EQ(load.stillOpen(), 2);
  EXPECT_EQ(load.figures().unfinished, 2);
  EXPECT_EQ(load.figures().max_wait, Seconds(1000)) << "and goes on";
  EXPECT_FALSE(load.figures().finished_at);
}

TEST(RecordedLoad, aFailedJobThatWaitsForItsNextTry) {
  JobHistory job = history(JobStatus::kPending, at(0));
  job.tries = {{at(1), at(2)}};
  job.available_at = at(3);
  const auto due = RecordedLoad(kNow, kRetry).add(job);
  ASSERT_EQ(due->retries.size(), 1U);
  EXPECT_EQ(due->retries[0].after, Seconds(1));
  EXPECT_FALSE(due->retries[0].run);
  job.available_at = kNow + Seconds(1);
  const auto later = RecordedLoad(kNow, kRetry).add(job);
  EXPECT_TRUE(later->retries.empty());
  EXPECT_EQ(later->at, at(0));
}

TEST(RecordedLoad, jobsThatNeverCouldRunAreLeftOut) {
  RecordedLoad load(kNow, kRetry);
  EXPECT_FALSE(load.add(history(JobStatus::kCancelled, at(0), {}, at(5))));
  EXPECT_FALSE(load.add(history(JobStatus::kPending, kNow + Seconds(1))));
  EXPECT_EQ(load.leftOut(), 2);
  EXPECT_EQ(load.jobs(), 0);
  JobHistory begun = history(JobStatus::kCancelled, at(0), {}, at(5));
  begun.tries = {{at(1), at(5)}};
  EXPECT_TRUE(load.add(begun)) << "it ran until it was cancelled";
}

TEST(RecordedLoad, clocksThatDisagreeMakeNoNegativeTimes) {
  RecordedLoad load(kNow, kRetry);
  const auto job = load.add(history(JobStatus::kDone, at(10), at(5), at(3)));
  EXPECT_EQ(job->at, at(5));
  EXPECT_EQ(job->run, Millis(0));
  EXPECT_EQ(load.figures().max_wait, Millis(0));
}

TEST(RecordedLoad, workersMakeThePeakAndTheTime) {
  RecordedLoad load(kNow, kRetry);
  load.add(WorkerHistory{at(0), at(1), at(10), true, "a"});
  load.add(WorkerHistory{at(5), at(8), at(20), true, "b"});
  load.add(WorkerHistory{at(10), {}, at(11), false, "a"});
  load.add(WorkerHistory{at(990), at(991), {}, false, "a"});
  const LoadFigures figures = load.figures();
  EXPECT_EQ(figures.launches, 4);
  EXPECT_EQ(figures.peak_workers, 2) << "one ended when the third was launched";
  EXPECT_EQ(figures.worker_time, Seconds(10 + 15 + 1 + 10));
  EXPECT_EQ(figures.wasted_starts, 1) << "one that is still there may yet take a job";
  EXPECT_EQ(load.bootTimes(), (std::vector<Millis>{Seconds(1), Seconds(3), Seconds(1)}));
  EXPECT_EQ(load.hosts(), 2U);
}

TEST(RecordedLoad, bootTimesAreASampleInTheirOrder) {
  RecordedLoad load(kNow, kRetry);
  for (int i = 0; i < 100'000; ++i) load.add(WorkerHistory{at(0), at(0) + Millis(i), at(0), true});
  const auto& boots = load.bootTimes();
  ASSERT_GE(boots.size(), 500U);
  ASSERT_LE(boots.size(), 1000U);
  const Millis step = boots[1] - boots[0];
  for (std::size_t i = 1; i < boots.size(); ++i) EXPECT_EQ(boots[i] - boots[i - 1], step) << i;
  EXPECT_GT(boots.back() + step, Millis(99'000)) << "up to the end";
}

}  // namespace
}  // namespace muster
