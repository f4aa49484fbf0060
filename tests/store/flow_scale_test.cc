// Flows that are wide, long, deep or large: whatever there is to settle, one commit does so much
// of it and no more.
#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowScaleTest : public FlowTest {
 protected:
  // An open flow; its jobs are named n0, n1 … and come a thousand at a time.
  template <class Make>
  void grow(int jobs, Make make) {
    for (int begin = 0; begin < jobs; begin += 1000) {
      std::vector<NewFlowJob> batch;
      for (int i = begin; i < std::min(jobs, begin + 1000); ++i) {
        NewFlowJob job;
        job.name = "n" + std::to_string(i);
        job.pool = PoolId("p");
        job.job.data = "1";
        make(i, job);
        batch.push_back(std::move(job));
      }
      const AddFlowJobs op{flow_, std::move(batch)};
      write([&](Store& s) { return run(op, s); }).value();
    }
  }
  void startOpen(const std::string& jobs) {
    CreateFlow open;
    open.open = true;
    start(jobs, open);
  }
  static NewFlowJob::Edge after(const std::string& name) {
    return {name, EdgeCondition::kAfter, 0};
  }
  static void chained(int i, NewFlowJob& job) {
    if (i > 0) job.edges = {after("n" + std::to_string(i - 1))};
  }

  // Settles to the end, and sees to it that no unit changes more jobs than it was allowed to.
  void settleInPieces(int most) {
    const auto changes = [](const Event& event) {
      return event.type == "job.unblocked" || event.type == "job.cancelled" ||
             event.type == "job.retried";
    };
    for (int units = 0; units < 10'000; ++units) {
      const auto before = lastEvent();
      const bool more = settleOnce(most).more;
      const auto events = eventsAfter(before);
      EXPECT_LE(std::count_if(events.begin(), events.end(), changes), most);
      if (!more) return;
    }
    FAIL() << "settling comes to no end";
  }
  std::int64_t cancelledAs(const std::string& reason) {
    constexpr Sql kCount{"SELECT count(*) FROM jobs WHERE status = 'cancelled' AND reason = $1"};
    return read([&](Store& s) {
      auto rows = s.session.db.query(kCount, reason);
      rows.next();
      return rows->integer(0);
    });
  }
};
MUSTER_ON_EVERY_BACKEND(FlowScaleTest);

TEST_P(FlowScaleTest, a_job_with_many_downstream_jobs_tells_them_bit_by_bit) {
  startOpen("a");
  grow(3000, [](int, NewFlowJob& job) { job.edges = {after("a")}; });
  EXPECT_EQ(stats().blocked, 3000);
  const auto before = lastEvent();
  done("a");
  EXPECT_LE(count("job.unblocked", before), 1000) << "in the commit of the end itself";
  EXPECT_TRUE(unsettled());
  settleInPieces(300);
  EXPECT_EQ(stats().blocked, 0);
  EXPECT_EQ(stats().pending, 3000);
  EXPECT_EQ(count("job.unblocked", before), 3000);
}

TEST_P(FlowScaleTest, a_job_with_many_upstream_jobs_waits_for_all_of_them) {
  startOpen("");
  grow(3000, [](int, NewFlowJob&) {});
  NewFlowJob join = flowJobs("join")[0];
  for (int i = 0; i < 3000; ++i) join.edges.push_back(after("n" + std::to_string(i)));
  add({join}).value();
  int left = 3000;
  for (int together = 1; left > 0; together = std::min(left, together * 3)) {
    EXPECT_EQ(find("join").flow->blocked_by, left);
    const auto jobs = claim(together);
    ASSERT_EQ(jobs.size(), static_cast<std::size_t>(together));
    share([&](Store& s) {
      for (const Job& job : jobs) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
    });
    settleInPieces(500);
    left -= together;
  }
  EXPECT_EQ(state("join"), "pending");
  EXPECT_EQ(count("job.unblocked"), 1);
}

TEST_P(FlowScaleTest, a_long_chain_is_worked_on_link_by_link) {
  startOpen("");
  grow(2000, chained);
  close().value();
  std::int64_t done_before = 0;
  while (done_before < 2000) {
    share([](Store& s) {
      const auto pool = s.pools().find(PoolId("p"));
      for (int i = 0; i < 100; ++i) {
        const auto jobs = s.jobs().claim(*pool, "w", {}, 5);
        if (jobs.size() != 1) throw std::runtime_error("one job at a time can be claimed");
        s.jobs().complete(jobs[0].id, {jobs[0].lease_token, ""}, "1", "").value();
        s.settleEnded();
      }
    });
    ASSERT_EQ(stats().done, done_before + 100);
    done_before += 100;
  }
  settle();
  EXPECT_EQ(flowState(), "succeeded");
}

TEST_P(FlowScaleTest, a_cascade_of_cancels_goes_down_in_pieces) {
  startOpen("");
  grow(3000, chained);
  close().value();
  const auto first = claim(1).at(0);
  fail(first, with<FailureReport>([](auto& r) { r.retryable = false; })).value();
  settleInPieces(700);
  EXPECT_EQ(cancelledAs("upstream_failed"), 2999);
  EXPECT_EQ(flowState(), "failed:job_failed");
}

TEST_P(FlowScaleTest, a_wide_cancel_goes_in_pieces) {
  startOpen("a");
  grow(2500, [](int i, NewFlowJob& job) {
    job.edges = {after("a")};
    if (i % 2 == 1) job.edges[0].when = EdgeCondition::kAfterAny;
  });
  cancel("a");
  EXPECT_LE(count("job.cancelled") + count("job.unblocked"), 1001);
  settleInPieces(300);
  EXPECT_EQ(cancelledAs("upstream_cancelled"), 1250);
  EXPECT_EQ(stats().pending, 1250);
}

TEST_P(FlowScaleTest, many_children_are_waited_for) {
  start("a; b after a");
  take("a");
  for (int begin = 0; begin < 2000; begin += 1000) {
    AddChildren op;
    for (int i = begin; i < begin + 1000; ++i) {
      op.jobs.push_back(flowJobs("c" + std::to_string(i))[0]);
    }
    addChildren("a", op).value();
  }
  done("a");
  for (int i = 0; i < 20; ++i) {
    const auto jobs = claim(100);
    share([&](Store& s) {
      for (const Job& job : jobs) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
    });
    EXPECT_EQ(state("b"), i < 19 || unsettled() ? "blocked" : "pending");
  }
  settleInPieces(10);
  EXPECT_EQ(state("b"), "pending");
}

TEST_P(FlowScaleTest, a_large_flow_is_cancelled_retried_and_removed_in_steps) {
  constexpr int kJobs = 12'000;
  startOpen("");
  grow(kJobs, [](int i, NewFlowJob& job) {
    if (i % 1000 >= 500) job.edges = {after("n" + std::to_string(i - 500))};
  });
  EXPECT_EQ(stats().pending, kJobs / 2);
  const auto before = lastEvent();
  EXPECT_EQ(cancelFlow().value().status, FlowStatus::kCancelling);
  EXPECT_EQ(count("job.cancelled", before), 10'000) << "in the call itself";
  settleInPieces(1000);
  EXPECT_EQ(cancelledAs("flow_cancelled"), kJobs);
  EXPECT_EQ(flowState(), "cancelled:requested");
  EXPECT_EQ(stats().cancelled, kJobs);

  const auto ended = lastEvent();
  const auto retried = retryFlow().value();
  EXPECT_EQ(retried.count, kJobs);
  EXPECT_EQ(count("job.retried", ended), 10'000) << "in the call itself";
  settleInPieces(1000);
  EXPECT_EQ(stats().pending, kJobs / 2);
  EXPECT_EQ(stats().blocked, kJobs / 2);
  EXPECT_EQ(count("job.retried", ended), kJobs);
  EXPECT_EQ(flowState(), "running");
  expectNoCounterFaults();

  cancelFlow().value();
  settle();
  EXPECT_TRUE(removeFlow());
  settle(1000);
  EXPECT_EQ(stats().cancelled, 0);
  EXPECT_EQ(cancelledAs("flow_cancelled"), 0);
}

// What comes while a large flow is put back meets it half-way.
TEST_P(FlowScaleTest, jobs_that_end_while_others_are_put_back_are_told_too) {
  constexpr int kJobs = 11'000;
  startOpen("");
  grow(kJobs, [](int i, NewFlowJob& job) {
    if (i >= kJobs - 500) job.edges = {after("n" + std::to_string(i - (kJobs - 500)))};
  });
  cancelFlow().value();
  settle();
  retryFlow().value();
  settleOnce(5);
  const auto jobs = claim(500);  // upstream of the last ones, which are not put back yet
  ASSERT_EQ(jobs.size(), 500U);
  share([&](Store& s) {
    for (const Job& job : jobs) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
  });
  settleInPieces(400);
  EXPECT_EQ(stats().blocked, 0);
  EXPECT_EQ(stats().pending, kJobs - 500);
}

TEST_P(FlowScaleTest, a_cancel_comes_while_a_large_flow_is_put_back) {
  constexpr int kJobs = 11'000;
  startOpen("");
  grow(kJobs, [](int i, NewFlowJob& job) {
    if (i % 2 == 1) job.edges = {after("n" + std::to_string(i - 1))};
  });
  cancelFlow("one").value();
  settle();
  retryFlow().value();
  settleOnce(5);
  EXPECT_TRUE(cancelFlow("two"));
  settleInPieces(500);
  EXPECT_EQ(flowState(), "cancelled:two");
  EXPECT_EQ(stats().cancelled, kJobs);
  EXPECT_EQ(cancelledAs("flow_cancelled"), kJobs);
  EXPECT_EQ(flow().round, 2);
}

}  // namespace
}  // namespace muster::test
