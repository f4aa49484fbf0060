// Flows, and jobs of flows, are tried again.
#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowRetryTest : public FlowTest {
 protected:
  // Of the pool, whatever is poisoned or cancelled.
  std::int64_t retryPool(const std::string& pool = "p") {
    const BulkFilter ended{.statuses = {JobStatus::kPoisoned, JobStatus::kCancelled}};
    return write([&](Store& s) { return s.jobs().retryMany(PoolId(pool), ended, {}, 1000, 1000); })
        .count;
  }
};
MUSTER_ON_EVERY_BACKEND(FlowRetryTest);

TEST_P(FlowRetryTest, a_failed_flow_goes_on_where_it_failed) {
  start("fetch; left after fetch; right after fetch; merge after left right; alarm failure merge");
  done("fetch", "1"), poison("left"), done("right");
  settle();
  done("alarm");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
  const auto before = lastEvent();
  clock.advance(1min);
  const auto retried = retryFlow().value();
  EXPECT_EQ(retried.count, 2);
  EXPECT_EQ(retried.flow.status, FlowStatus::kRunning);
  EXPECT_EQ(retried.flow.round, 2);
  EXPECT_EQ(retried.flow.reason, "");
  EXPECT_EQ(retried.flow.ended_at, std::nullopt);
  EXPECT_EQ(states(), "fetch=done left=pending right=done merge=blocked alarm=done");
  settle();
  const Job left = find("left");
  EXPECT_EQ(left.attempts, 0);
  EXPECT_EQ(left.error, "");
  EXPECT_EQ(left.available_at, clock.now());
  EXPECT_EQ(count("flow.retried", before), 1);
  EXPECT_EQ(count("job.retried", before), 2);
  EXPECT_EQ(find("merge").flow->blocked_by, 1);
  EXPECT_EQ(find("merge").flow->round, 2);
  done("left"), done("merge");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
  EXPECT_EQ(state("alarm"), "done") << "a handler that ran stays done";
  EXPECT_EQ(flow().round, 2);
}

TEST_P(FlowRetryTest, what_cannot_be_met_is_cancelled_again) {
  start("a; alarm failure a; b after a; after after alarm");
  done("a"), poison("b");
  settle();
  EXPECT_EQ(states(), "a=done alarm=cancelled:not_needed b=poisoned after=cancelled:not_needed");
  EXPECT_EQ(flowState(), "failed:job_failed");
  retryFlow().value();
  settle();
  EXPECT_EQ(states(), "a=done alarm=cancelled:not_needed b=pending after=cancelled:not_needed");
  EXPECT_EQ(flowState(), "running");
  done("b");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, a_handler_that_has_not_run_waits_again) {
  start("a; alarm failure a; alarm2 after alarm");
  poison("a");
  cancel("alarm");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
  retryFlow().value();
  settle();
  EXPECT_EQ(states(), "a=pending alarm=blocked alarm2=blocked");
  done("a");
  settle();
  EXPECT_EQ(states(), "a=done alarm=cancelled:not_needed alarm2=cancelled:not_needed");
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, a_cancelled_flow_runs_again) {
  start("a; b after a; c after b");
  done("a");
  cancelFlow("oops").value();
  settle();
  EXPECT_EQ(flowState(), "cancelled:oops");
  EXPECT_EQ(retryFlow()->count, 2);
  settle();
  EXPECT_EQ(states(), "a=done b=pending c=blocked");
  EXPECT_EQ(flowState(), "running");
  EXPECT_TRUE(flow().closed) << "it stays closed";
  done("b"), done("c");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, rounds_are_counted) {
  start("a");
  for (int round = 1; round < 5; ++round) {
    EXPECT_EQ(flow().round, round);
    poison("a");
    settle();
    EXPECT_EQ(flowState(), "failed:job_failed");
    retryFlow().value();
    settle();
  }
  take("a");
  EXPECT_EQ(held("a").flow->round, 5);
  EXPECT_EQ(held("a").attempts, 1) << "all its tries are before it again";
}

TEST_P(FlowRetryTest, what_runs_or_succeeded_is_not_retried) {
  start("a; b");
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kFlowRunning);
  poison("a");
  settle();
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kFlowRunning) << "b has not ended";
  done("b");
  settle();
  EXPECT_EQ(codeOf(retryFlow()), std::nullopt);
  settle();
  done("a");
  settle();
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kNotRetryable);
  start("c?");
  poison("c");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kNotRetryable);
  flow_ = FlowId("none");
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kNotFound);
}

TEST_P(FlowRetryTest, the_deadline_is_dropped_unless_there_is_a_new_one) {
  CreateFlow due;
  due.deadline = 1min;
  start("a", due);
  clock.advance(1min);
  EXPECT_EQ(endOverdue(), 1);
  settle();
  EXPECT_EQ(retryFlow()->flow.deadline_at, std::nullopt);
  settle();
  EXPECT_EQ(endOverdue(), 0);
  EXPECT_EQ(flowState(), "running");
  poison("a");
  settle();
  EXPECT_EQ(retryFlow({}, 5min)->flow.deadline_at, clock.now() + 5min);
  settle();
  clock.advance(5min);
  EXPECT_EQ(endOverdue(), 1);
  settle();
  EXPECT_EQ(flowState(), "failed:deadline");
  EXPECT_EQ(state("a"), "cancelled:deadline");
}

TEST_P(FlowRetryTest, only_the_chosen_jobs_and_what_is_downstream_of_them) {
  start("a; b after a; c after b; x; y after x; z failure x; end any c y");
  poison("a"), poison("x"), poison("z");
  settle();
  done("end");
  settle();
  EXPECT_EQ(states(),
            "a=poisoned b=cancelled:upstream_failed c=cancelled:upstream_failed x=poisoned "
            "y=cancelled:upstream_failed z=poisoned end=done");
  EXPECT_EQ(retryFlow(Names{"a"})->count, 3);
  settle();
  EXPECT_EQ(states(),
            "a=pending b=blocked c=blocked x=poisoned y=cancelled:upstream_failed z=poisoned "
            "end=done");
  EXPECT_EQ(flow().round, 2);
  done("a"), done("b"), done("c");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed") << "for x";
  retryFlow(Names{"b", "z"}).value();
  settle();
  EXPECT_EQ(state("z"), "pending") << "x has failed, as it asks for";
  EXPECT_EQ(state("b"), "done");
}

TEST_P(FlowRetryTest, a_job_of_another_flow_cannot_be_chosen) {
  start("other");
  start("a");
  poison("a");
  settle();
  EXPECT_EQ(codeOf(retryFlow(Names{"a", "other"})), ErrorCode::kInvalid);
  EXPECT_EQ(state("a"), "poisoned") << "nothing was changed";
  EXPECT_EQ(flow().round, 1);
}

TEST_P(FlowRetryTest, a_job_is_retried_with_what_is_downstream_of_it) {
  start("a; b after a; c after b; d; e after d");
  poison("a"), poison("d");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
  const Job answer = retry("a").value();
  EXPECT_EQ(answer.status, JobStatus::kPending);
  EXPECT_EQ(answer.attempts, 0);
  settle();
  EXPECT_EQ(states(), "a=pending b=blocked c=blocked d=poisoned e=cancelled:upstream_failed");
  EXPECT_EQ(flowState(), "running");
  EXPECT_EQ(flow().round, 2) << "it had ended";
  retry("d").value();
  settle();
  EXPECT_EQ(states(), "a=pending b=blocked c=blocked d=pending e=blocked");
  EXPECT_EQ(flow().round, 2) << "it had not";
  for (const char* name : {"a", "b", "c", "d", "e"}) done(name);
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, a_job_that_waits_for_another_waits_again) {
  start("a; b; c after a b; d any c");
  poison("a");
  settle();
  EXPECT_EQ(state("c"), "cancelled:upstream_failed");
  EXPECT_EQ(state("d"), "pending");
  EXPECT_EQ(retry("c")->status, JobStatus::kCancelled) << "a has failed still";
  settle();
  retry("a").value();
  settle();
  EXPECT_EQ(states(), "a=pending b=pending c=blocked d=pending");
  EXPECT_EQ(find("c").flow->blocked_by, 2);
  done("b"), done("a"), done("c"), done("d");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, a_job_that_is_done_or_runs_is_not_retried) {
  start("a; b after a");
  EXPECT_EQ(codeOf(retry("a")), ErrorCode::kNotRetryable);
  EXPECT_EQ(codeOf(retry("b")), ErrorCode::kNotRetryable) << "it is blocked";
  done("a");
  EXPECT_EQ(codeOf(retry("a")), ErrorCode::kNotRetryable);
}

TEST_P(FlowRetryTest, retrying_a_child_reopens_what_waited_for_its_parent) {
  start("a; b after a; c failure a");
  addChildren("a", "x; y after x; z").value();
  poison("a/x"), done("a/z"), done("a");
  settle();
  EXPECT_EQ(states(),
            "a=done b=cancelled:upstream_failed c=pending a/x=poisoned "
            "a/y=cancelled:upstream_failed a/z=done");
  done("c");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
  retry("a/x").value();
  settle();
  EXPECT_EQ(states(), "a=done b=blocked c=done a/x=pending a/y=blocked a/z=done");
  done("a/x"), done("a/y");
  settle();
  EXPECT_EQ(state("b"), "pending");
  done("b");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, a_parent_is_retried_with_its_children) {
  start("a; b after a");
  addChildren("a", "x; y; z after y").value();
  done("a/x"), poison("a/y"), poison("a");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
  retry("a").value();
  settle();
  EXPECT_EQ(states(), "a=pending b=blocked a/x=done a/y=pending a/z=blocked");
  take("a");
  EXPECT_FALSE(addChildren("a", "x; y; z after y")->added) << "they are there already";
  done("a"), done("a/y"), done("a/z");
  settle();
  EXPECT_EQ(state("b"), "pending");
}

TEST_P(FlowRetryTest, a_job_that_expired_gets_another_life) {
  CreateFlow flow;
  flow.jobs = flowJobs("a; b after a");
  flow.jobs[0].job.expires_at = clock.now() + 1min;
  flow.jobs[1].job.expires_at = clock.now() + 1min;
  start(flow);
  clock.advance(1min);
  EXPECT_GE(write([](Store& s) { return s.jobs().expirePending(10); }), 1);
  settle();
  EXPECT_EQ(flowState(), "cancelled:job_cancelled");
  retryFlow().value();
  settle();
  EXPECT_EQ(states(), "a=pending b=blocked");
  EXPECT_EQ(claimable(), Names{"a"});
  EXPECT_EQ(find("b").expires_at, std::nullopt);
}

TEST_P(FlowRetryTest, the_pool_is_retried_flow_by_flow) {
  start("a; b after a; c");
  const auto first = flow_;
  poison("a"), done("c");
  settle();
  const auto one = find("a").id, two = find("b").id;
  start("d; e after d; f");
  poison("d");
  settle();
  const Job plain = pushAndClaim();
  fail(plain, with<FailureReport>([](auto& r) { r.retryable = false; })).value();
  EXPECT_GE(retryPool(), 3);
  settle();
  EXPECT_EQ(job(one).status, JobStatus::kPending);
  EXPECT_EQ(job(two).status, JobStatus::kBlocked);
  EXPECT_EQ(job(plain.id).status, JobStatus::kPending);
  EXPECT_EQ(states(), "d=pending e=blocked f=pending");
  EXPECT_EQ(flow().round, 1);
  flow_ = first;
  EXPECT_EQ(flowState(), "running");
  EXPECT_EQ(flow().round, 2);
}

TEST_P(FlowRetryTest, a_living_twin_is_in_the_way) {
  CreateFlow flow;
  flow.jobs = flowJobs("a; b after a");
  flow.jobs[1].job.unique_key = "k";
  start(flow);
  poison("a");
  settle();
  const Job twin = push({.data = "1", .unique_key = "k"});
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kUniqueKeyTaken);
  settle();
  EXPECT_EQ(states(), "a=poisoned b=cancelled:upstream_failed") << "nothing was changed";
  EXPECT_EQ(flowState(), "failed:job_failed");
  EXPECT_EQ(this->flow().round, 1);
  EXPECT_TRUE(codeOf(retry("a")));
  EXPECT_EQ(state("a"), "poisoned");
  write([&](Store& s) { return s.jobs().cancel(twin.id, ""); }).value();
  EXPECT_EQ(codeOf(retryFlow()), std::nullopt);
  settle();
  EXPECT_EQ(states(), "a=pending b=blocked");
}

TEST_P(FlowRetryTest, what_is_gone_with_its_pool_stays_gone) {
  start("a @q; b after a; c; d after c");
  poison("c");
  removePool("q");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
  retryFlow().value();
  settle();
  EXPECT_EQ(states(), "a=gone b=cancelled:upstream_cancelled c=pending d=blocked");
  done("c"), done("d");
  settle();
  EXPECT_EQ(flowState(), "cancelled:job_cancelled");
}

TEST_P(FlowRetryTest, what_was_cancelled_for_another_job_and_is_gone_stays_gone) {
  start("a; b @q after a; c after b; d any b");
  poison("a");
  settle();
  EXPECT_EQ(state("b"), "cancelled:upstream_failed");
  removePool("q");
  settle();
  done("d");
  settle();
  EXPECT_EQ(retryFlow()->count, 1);
  settle();
  EXPECT_EQ(states(), "a=pending b=gone c=cancelled:upstream_failed d=done");
  const auto upstream = read([&](Store& s) { return run(ListUpstream{id("d")}, s); })->items;
  ASSERT_EQ(upstream.size(), 1U);
  EXPECT_EQ(upstream[0].status, JobStatus::kCancelled);
  EXPECT_EQ(upstream[0].verdict, Verdict::kFailed);
  done("a");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowRetryTest, a_retry_that_was_undone_has_changed_nothing) {
  start("a; b after a");
  poison("a");
  settle();
  const auto seen = states();
  EXPECT_FALSE(storage->writeAndWait([&](Store& s) {
    run(RetryFlow{flow_}, s).value();
    throw std::runtime_error("undo it all");
  }));
  EXPECT_EQ(states(), seen);
  EXPECT_EQ(flowState(), "failed:job_failed");
  EXPECT_EQ(flow().round, 1);
}

TEST_P(FlowRetryTest, a_flow_that_failed_fast_is_retried_whole) {
  CreateFlow fast;
  fast.fail_fast = true;
  start("a; b; c after b", fast);
  poison("a");
  settle();
  EXPECT_EQ(flowState(), "failed:fail_fast");
  EXPECT_EQ(retryFlow()->count, 3);
  settle();
  EXPECT_EQ(states(), "a=pending b=pending c=blocked");
  done("b");
  poison("a");
  settle();
  EXPECT_EQ(flowState(), "failed:fail_fast") << "in the second round too";
  EXPECT_EQ(state("c"), "cancelled:fail_fast");
}

}  // namespace
}  // namespace muster::test
