// Jobs add jobs below them.
#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowChildrenTest : public FlowTest {
 protected:
  // As the job's worker does it, with the token that belongs to it.
  static AddChildren byWorker(const std::string& line) {
    AddChildren op;
    op.by_worker = true;
    op.jobs = flowJobs(line);
    return op;
  }
};
MUSTER_ON_EVERY_BACKEND(FlowChildrenTest);

TEST_P(FlowChildrenTest, a_job_without_a_flow_gets_one) {
  const Job plain = pushAndClaim({.data = "1", .priority = 3, .tenant = "t"});
  AddChildren op{plain.id, plain.lease_token, false, flowJobs("x; y after x")};
  const auto added = write([&](Store& s) { return run(op, s); }).value();
  EXPECT_TRUE(added.added);
  EXPECT_TRUE(added.flow.closed);
  EXPECT_EQ(added.flow.counts.total, 3);
  EXPECT_EQ(added.flow.counts.live(), 2);
  flow_ = added.flow.id;
  const Job parent = job(plain.id), child = job(added.jobs.at(0).id);
  ASSERT_TRUE(parent.flow);
  EXPECT_EQ(parent.flow->id, flow_);
  EXPECT_EQ(parent.flow->name, plain.id.str());
  EXPECT_EQ(child.flow->parent, plain.id.str());
  EXPECT_EQ(child.tenant, "t");
  EXPECT_EQ(child.priority, 3);
  const auto again = write([&](Store& s) { return run(op, s); }).value();
  EXPECT_FALSE(again.added);
  EXPECT_EQ(again.flow.id, flow_) << "the same flow";
  complete(plain).value();
  settle();
  EXPECT_EQ(flowState(), "running");
  complete(claimOne(added.jobs[0].id, "w").value()).value();
  fail(claimOne(added.jobs[1].id, "w").value(),
       with<FailureReport>([](auto& r) { r.retryable = false; }))
      .value();
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
}

TEST_P(FlowChildrenTest, a_plain_job_with_children_is_retried_with_them) {
  const Job plain = pushAndClaim();
  AddChildren op{plain.id, plain.lease_token, false, flowJobs("x")};
  const auto added = write([&](Store& s) { return run(op, s); }).value();
  flow_ = added.flow.id;
  write([&](Store& s) { return s.jobs().cancel(added.jobs[0].id, ""); }).value();
  complete(plain).value();
  settle();
  EXPECT_EQ(flowState(), "cancelled:job_cancelled");
  EXPECT_EQ(retryFlow()->count, 1);
  settle();
  EXPECT_EQ(job(added.jobs[0].id).status, JobStatus::kPending);
  EXPECT_EQ(job(plain.id).status, JobStatus::kDone);
}

TEST_P(FlowChildrenTest, the_lease_of_the_parent_must_be_held) {
  start("a");
  const Job a = take("a");
  AddChildren op;
  op.jobs = flowJobs("x");
  op.lease_token = "another";
  EXPECT_EQ(codeOf(addChildren("a", op)), ErrorCode::kLeaseLost);
  op.lease_token = a.lease_token;
  done("a");
  op.parent = a.id;
  const auto ask = [&] { return write([&](Store& s) { return run(op, s); }); };
  EXPECT_EQ(codeOf(ask()), ErrorCode::kLeaseLost) << "it has ended";
  op.parent = JobId("none");
  EXPECT_EQ(codeOf(ask()), ErrorCode::kNotFound);
  settle();
  EXPECT_EQ(flow().counts.total, 1);
}

TEST_P(FlowChildrenTest, a_lease_that_ran_out_and_was_taken_back_adds_nothing) {
  setPool(with<PoolSettings>([](auto& s) { s.retry_base_ms = 0; }));
  start("a");
  const Job old = take("a");
  clock.advance(1h);
  write([](Store& s) { return s.jobs().expireLeases(10); });
  take("a", "w2");
  AddChildren op;
  op.jobs = flowJobs("x");
  op.lease_token = old.lease_token;
  EXPECT_EQ(codeOf(addChildren("a", op)), ErrorCode::kLeaseLost);
  EXPECT_TRUE(addChildren("a", "x"));
}

TEST_P(FlowChildrenTest, a_worker_adds_only_where_the_pool_lets_it) {
  start("a; b @q");
  take("a");
  EXPECT_TRUE(addChildren("a", byWorker("x"))) << "its own pool";
  EXPECT_EQ(codeOf(addChildren("a", byWorker("y; z @q"))), ErrorCode::kForbidden);
  EXPECT_EQ(flow().counts.total, 3) << "not y either";
  AddChildren by_person = byWorker("z @q");
  by_person.by_worker = false;
  EXPECT_TRUE(addChildren("a", by_person));
}

TEST_P(FlowChildrenTest, a_child_takes_the_place_of_no_other_job_in_the_order) {
  start("a; b");
  addChildren("a", "x").value();
  addChildren("a/x", "y").value();
  push();
  done("a/x");
  const auto order = claimable();
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(order[0], "b");
  EXPECT_EQ(order[1], "a/x/y");
}

TEST_P(FlowChildrenTest, children_that_ended_before_their_parent_count) {
  start("a; b after a");
  addChildren("a", "x; y").value();
  poison("a/x"), done("a/y");
  settle();
  EXPECT_EQ(state("b"), "blocked");
  done("a");
  EXPECT_EQ(unsettled() || state("b") != "blocked", true);
  settle();
  EXPECT_EQ(state("b"), "cancelled:upstream_failed");
}

TEST_P(FlowChildrenTest, a_parent_that_adds_more_after_its_first_children_ended_waits_anew) {
  start("a; b after a");
  addChildren("a", "x").value();
  done("a/x");
  settle();
  addChildren("a", "y after x").value();
  EXPECT_EQ(state("a/y"), "pending");
  done("a");
  settle();
  EXPECT_EQ(state("b"), "blocked");
  done("a/y");
  settle();
  EXPECT_EQ(state("b"), "pending");
}

TEST_P(FlowChildrenTest, the_end_of_the_last_child_and_of_its_parent_may_be_one_transaction) {
  for (const bool parent_first : {true, false}) {
    start("a; b after a");
    addChildren("a", "x").value();
    const Job a = take("a/x"), parent = held("a");
    share([&](Store& s) {
      const auto complete = [&](const Job& job) {
        s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
      };
      complete(parent_first ? parent : a);
      complete(parent_first ? a : parent);
    });
    settle();
    EXPECT_EQ(states(), "a=done b=pending a/x=done");
    cancelFlow().value();
  }
}

}  // namespace
}  // namespace muster::test
