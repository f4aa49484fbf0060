// How flows end: by themselves, by a person, by their deadline, by fail_fast.
#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowEndingTest : public FlowTest {
 protected:
  static CreateFlow failFast() {
    CreateFlow flow;
    flow.fail_fast = true;
    return flow;
  }
  static CreateFlow dueIn(Millis time) {
    CreateFlow flow;
    flow.deadline = time;
    return flow;
  }
  std::string lastFlowEvent() {
    const auto events = flowEvents();
    return events.empty() ? "" : events.back().type + " " + events.back().details;
  }
};
MUSTER_ON_EVERY_BACKEND(FlowEndingTest);

TEST_P(FlowEndingTest, the_diamond_of_the_contract) {
  const std::string diamond =
      "fetch; left after fetch; right after fetch; merge after left right; alarm failure merge";
  const auto made = start(diamond);
  EXPECT_EQ(made.flow.status, FlowStatus::kRunning);
  EXPECT_TRUE(made.flow.closed);
  EXPECT_EQ(made.flow.round, 1);
  EXPECT_EQ(made.flow.counts.total, 5);
  EXPECT_EQ(made.flow.counts.blocked, 4);
  EXPECT_EQ(made.flow.counts.live(), 1);
  done("fetch"), done("left"), done("right"), done("merge");
  settle();
  EXPECT_EQ(states(), "fetch=done left=done right=done merge=done alarm=cancelled:not_needed");
  EXPECT_EQ(flowState(), "succeeded");
  EXPECT_EQ(flow().ended_at, clock.now());
  EXPECT_EQ(flow().counts.done, 4);
  EXPECT_EQ(flow().counts.cancelled, 1);

  start(diamond);
  done("fetch"), poison("left");
  settle();
  EXPECT_EQ(states(),
            "fetch=done left=poisoned right=pending merge=cancelled:upstream_failed alarm=pending");
  done("alarm");
  settle();
  EXPECT_EQ(flowState(), "running") << "the other branch goes on";
  done("right");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
}

TEST_P(FlowEndingTest, a_flow_ends_as_its_top_level_did) {
  const auto end = [&](const std::string& jobs, const Names& poisoned, const Names& cancelled) {
    start(jobs);
    for (const std::string& job : cancelled) cancel(job);
    for (const std::string& job : poisoned) poison(job);
    settle();
    return flowState();
  };
  EXPECT_EQ(end("a", {"a"}, {}), "failed:job_failed");
  EXPECT_EQ(end("a", {}, {"a"}), "cancelled:job_cancelled");
  EXPECT_EQ(end("a; b", {"a"}, {"b"}), "failed:job_failed") << "failed is worse";
  EXPECT_EQ(end("a?; b", {"a"}, {"b"}), "cancelled:job_cancelled");
  EXPECT_EQ(end("a?; b?", {"a"}, {"b"}), "succeeded");
  EXPECT_EQ(end("a; b after a; c after b", {"a"}, {}), "failed:job_failed");
  EXPECT_EQ(end("a; b after a; c failure a", {}, {"a"}), "cancelled:job_cancelled");
  EXPECT_EQ(end("a?; b after a; c after b", {}, {"a"}), "succeeded");
}

TEST_P(FlowEndingTest, an_open_flow_waits_to_be_closed) {
  CreateFlow open;
  open.open = true;
  start("a", open);
  EXPECT_FALSE(flow().closed);
  done("a");
  settle();
  EXPECT_EQ(flowState(), "running");
  EXPECT_EQ(close()->closed, true);
  settle();
  EXPECT_EQ(flowState(), "succeeded");
  EXPECT_EQ(close()->status, FlowStatus::kSucceeded) << "again is the same";
  EXPECT_EQ(count("flow.closed"), 1);
}

TEST_P(FlowEndingTest, an_empty_flow_succeeds_when_it_is_closed) {
  CreateFlow open;
  open.open = true;
  start(open);
  settle();
  EXPECT_EQ(flowState(), "running");
  close().value();
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowEndingTest, a_closed_flow_waits_for_the_jobs_that_run) {
  CreateFlow open;
  open.open = true;
  start("a; b", open);
  close().value();
  done("a");
  settle();
  EXPECT_EQ(flowState(), "running");
  done("b");
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowEndingTest, a_person_cancels_a_flow) {
  start("a; b after a; c; d after c; e failure d; f?");
  registerWorker(newWorker("w"));
  take("c");
  addChildren("c", "x; y after x").value();
  const Flow answer = cancelFlow("not any more").value();
  EXPECT_EQ(answer.status, FlowStatus::kCancelling);
  EXPECT_TRUE(answer.closed);
  settle();
  EXPECT_EQ(states(),
            "a=cancelled:flow_cancelled b=cancelled:flow_cancelled c=claimed "
            "d=cancelled:flow_cancelled e=cancelled:flow_cancelled f=cancelled:flow_cancelled "
            "c/x=cancelled:flow_cancelled c/y=cancelled:flow_cancelled");
  EXPECT_EQ(flowState(), "cancelling:not any more");
  const auto beat =
      write([](Store& s) { return s.workers().heartbeat(WorkerId("w"), {}); }).value();
  ASSERT_EQ(beat.leases.size(), 1U);
  EXPECT_TRUE(beat.leases[0].cancel_requested);
  stop("c");
  settle();
  EXPECT_EQ(state("c"), "cancelled:flow_cancelled") << "the same reason as the others";
  EXPECT_EQ(flowState(), "cancelled:not any more");
  EXPECT_EQ(count("flow.cancelled"), 1);
  EXPECT_EQ(codeOf(cancelFlow()), ErrorCode::kAlreadyFinished);
}

TEST_P(FlowEndingTest, the_jobs_of_a_cancelled_flow_are_cancelled_in_the_call) {
  start("a; b after a; c after b; d any c");
  const auto before = lastEvent();
  cancelFlow().value();
  EXPECT_EQ(count("job.cancelled", before), 4);
  EXPECT_TRUE(claimable().empty());
  settle();
  EXPECT_EQ(flowState(), "cancelled:requested") << "without a text";
}

TEST_P(FlowEndingTest, a_cancelled_flow_ends_cancelled_however_its_last_jobs_end) {
  for (const char* end : {"done", "poisoned", "given back", "lost"}) {
    SCOPED_TRACE(end);
    start("a; b after a; c failure a; d any a");
    take("a");
    cancelFlow().value();
    settle();
    EXPECT_EQ(flowState(), "cancelling:requested");
    EXPECT_EQ(codeOf(cancelFlow("again")), std::nullopt) << "it has not ended";
    if (end == std::string("done")) done("a");
    if (end == std::string("poisoned")) poison("a");
    if (end == std::string("given back")) giveBack("a");
    if (end == std::string("lost")) {
      write([](Store& s) { return s.jobs().releaseByWorker("w", "worker_lost"); });
    }
    settle();
    EXPECT_EQ(flowState(), "cancelled:requested");
    for (const char* other : {"b", "c", "d"}) EXPECT_EQ(state(other), "cancelled:flow_cancelled");
  }
}

TEST_P(FlowEndingTest, a_job_that_is_given_back_by_a_cancelled_flow_has_its_reason) {
  start("a; b");
  take("a"), take("b");
  cancelFlow("x").value();
  giveBack("a");
  clock.advance(1h);
  EXPECT_EQ(write([](Store& s) { return s.jobs().expireLeases(10); }), 1);
  settle();
  EXPECT_EQ(states(), "a=cancelled:flow_cancelled b=cancelled:flow_cancelled");
}

TEST_P(FlowEndingTest, a_cancelled_flow_waits_for_children_that_run) {
  start("a");
  addChildren("a", "x").value();
  done("a");
  take("a/x");
  cancelFlow().value();
  settle();
  EXPECT_EQ(flowState(), "cancelling:requested");
  done("a/x");
  settle();
  EXPECT_EQ(flowState(), "cancelled:requested");
}

TEST_P(FlowEndingTest, a_flow_that_is_being_cancelled_takes_no_more_jobs) {
  CreateFlow open;
  open.open = true;
  start("a", open);
  take("a");
  cancelFlow().value();
  settle();
  EXPECT_EQ(codeOf(add("b")), ErrorCode::kFlowClosed);
  EXPECT_EQ(codeOf(addChildren("a", "x")), ErrorCode::kFlowClosed);
  EXPECT_EQ(codeOf(retryFlow()), ErrorCode::kFlowRunning);
  EXPECT_EQ(codeOf(removeFlow()), ErrorCode::kFlowRunning);
}

TEST_P(FlowEndingTest, the_deadline_fails_a_flow) {
  start("a; b after a; c; d; e", dueIn(10min));
  EXPECT_EQ(flow().deadline_at, clock.now() + 10min);
  take("c");
  done("d");
  poison("e");
  clock.advance(10min - 1ms);
  EXPECT_EQ(endOverdue(), 0);
  clock.advance(1ms);
  EXPECT_EQ(endOverdue(), 1);
  settle();
  EXPECT_EQ(states(), "a=cancelled:deadline b=cancelled:deadline c=claimed d=done e=poisoned");
  EXPECT_EQ(flowState(), "cancelling:deadline");
  EXPECT_EQ(endOverdue(), 0) << "once";
  EXPECT_TRUE(find("c").cancel_requested);
  stop("c");
  settle();
  EXPECT_EQ(state("c"), "cancelled:deadline");
  EXPECT_EQ(flowState(), "failed:deadline");
  EXPECT_EQ(count("flow.failed"), 1);
}

TEST_P(FlowEndingTest, the_deadline_closes_an_open_flow) {
  CreateFlow open = dueIn(1min);
  open.open = true;
  start(open);
  clock.advance(1min);
  EXPECT_EQ(endOverdue(), 1);
  settle();
  EXPECT_EQ(flowState(), "failed:deadline");
  EXPECT_TRUE(flow().closed);
}

TEST_P(FlowEndingTest, a_flow_that_has_ended_has_no_deadline) {
  start("a", dueIn(1min));
  done("a");
  settle();
  clock.advance(1h);
  EXPECT_EQ(endOverdue(), 0);
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowEndingTest, the_deadline_may_be_a_point_in_time) {
  CreateFlow flow;
  flow.deadline_at = clock.now() + 1min;
  start("a", flow);
  start("b", flow);
  clock.advance(2min);
  EXPECT_EQ(endOverdue(), 2);
  settle();
  EXPECT_EQ(state("a"), "cancelled:deadline");
  EXPECT_EQ(state("b"), "cancelled:deadline");
}

TEST_P(FlowEndingTest, the_first_poisoned_job_ends_a_flow_that_fails_fast) {
  start("a; b; c after b; d failure a; e; f after e", failFast());
  take("e");
  poison("a");
  settle();
  EXPECT_EQ(state("b"), "cancelled:fail_fast");
  EXPECT_EQ(state("c"), "cancelled:fail_fast");
  EXPECT_EQ(state("d"), "cancelled:fail_fast") << "what waits for the failure is not run either";
  EXPECT_EQ(state("f"), "cancelled:fail_fast");
  EXPECT_TRUE(find("e").cancel_requested);
  EXPECT_EQ(flowState(), "cancelling:fail_fast");
  stop("e");
  settle();
  EXPECT_EQ(state("e"), "cancelled:fail_fast");
  EXPECT_EQ(flowState(), "failed:fail_fast");
}

TEST_P(FlowEndingTest, what_may_fail_or_is_cancelled_ends_no_flow_fast) {
  start("a?; b; c; d after b", failFast());
  poison("a");
  cancel("c");
  settle();
  EXPECT_EQ(flowState(), "running");
  EXPECT_EQ(state("d"), "blocked");
  done("b");
  done("d");
  settle();
  EXPECT_EQ(flowState(), "cancelled:job_cancelled");
}

TEST_P(FlowEndingTest, a_poisoned_child_ends_a_flow_fast_too) {
  start("a; b after a; c", failFast());
  addChildren("a", "x; y after x; z?").value();
  poison("a/z");
  settle();
  EXPECT_EQ(flowState(), "running");
  poison("a/x");
  settle();
  EXPECT_EQ(state("c"), "cancelled:fail_fast");
  EXPECT_TRUE(find("a").cancel_requested);
  done("a");
  settle();
  EXPECT_EQ(flowState(), "failed:fail_fast");
}

TEST_P(FlowEndingTest, a_lost_worker_ends_a_flow_fast_like_any_failure) {
  setPool(with<PoolSettings>([](auto& s) { s.max_retries = 0; }));
  start("a; b", failFast());
  take("a");
  write([](Store& s) { return s.jobs().releaseByWorker("w", "worker_lost"); });
  settle();
  EXPECT_EQ(states(), "a=poisoned b=cancelled:fail_fast");
  EXPECT_EQ(flowState(), "failed:fail_fast");
}

TEST_P(FlowEndingTest, a_removed_pool_cancels_its_jobs_and_the_counts_keep_them) {
  start("a @q; b after a; c any a; d @q; e @q; f after e");
  done("e");
  take("d");
  removePool("q");
  settle();
  EXPECT_EQ(states(), "a=gone b=cancelled:upstream_cancelled c=pending d=gone e=gone f=pending");
  EXPECT_EQ(flow().counts.total, 6);
  EXPECT_EQ(flow().counts.done, 1);
  EXPECT_EQ(flow().counts.cancelled, 3);
  done("c"), done("f");
  settle();
  EXPECT_EQ(flowState(), "cancelled:job_cancelled");
  EXPECT_EQ(codeOf(retryFlow()), std::nullopt) << "what is gone stays gone";
  settle();
  EXPECT_EQ(state("b"), "cancelled:upstream_cancelled");
}

// A store may give the number of a job that is gone to another one.
TEST_P(FlowEndingTest, pools_are_removed_again_and_again) {
  for (int round = 0; round < 3; ++round) {
    start("a @q; b after a @q; c any b @q");
    addChildren("a", "x @q; y after x @q").value();
    removePool("q");
    settle();
    EXPECT_EQ(flow().counts.total, 5);
    EXPECT_EQ(flow().counts.cancelled, 5);
    EXPECT_EQ(flowState(), "cancelled:job_cancelled");
  }
}

TEST_P(FlowEndingTest, an_end_is_told_with_its_details) {
  CreateFlow flow;
  flow.name = "nightly";
  start("a", flow);
  const std::string begin = R"({"flow_id":")" + flow_.str() + R"(","name":"nightly","round":1)";
  EXPECT_EQ(lastFlowEvent(), "flow.created " + begin + "}");
  poison("a");
  settle();
  EXPECT_EQ(lastFlowEvent(), "flow.failed " + begin + R"(,"reason":"job_failed"})");
}

}  // namespace
}  // namespace muster::test
