// The table of verdicts: whatever way a job ends, those that wait for it are told alike.
#include <functional>

#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowVerdictTest : public FlowTest {
 protected:
  // One way in which the job `u` can end.
  struct Way {
    std::string name;
    std::string jobs;  // `u` and what it needs
    std::function<void(FlowVerdictTest&)> end;
    Verdict verdict;
  };
  static std::vector<Way> ways();

  // What `x` waits for `u` under each condition has come to.
  static std::string told(EdgeCondition when, Verdict verdict) {
    const auto cancelled = judgeEdge(when, verdict);
    return cancelled ? "cancelled:" + std::string(reasonOf(*cancelled)) : "pending";
  }
  void lose(const std::string& job) {
    registerWorker(newWorker("lost"));
    take(job, "lost");
    clock.advance(1h);
    EXPECT_EQ(write([](Store& s) { return s.workers().stale("", 1s, true, 10); }).jobs_released, 1);
  }
  void expireLease(const std::string& job) {
    take(job);
    clock.advance(1h);
    EXPECT_EQ(write([](Store& s) { return s.jobs().expireLeases(10); }), 1);
  }
  void expire(const std::string& job) {
    clock.advance(1h);
    EXPECT_EQ(write([](Store& s) { return s.jobs().expirePending(10); }), 1);
    EXPECT_EQ(state(job), "cancelled:expired");
  }
  void askToStop(const std::string& job) {
    take(job);
    cancel(job);
    EXPECT_TRUE(find(job).cancel_requested);
    EXPECT_EQ(find(job).status, JobStatus::kClaimed);
  }
};
MUSTER_ON_EVERY_BACKEND(FlowVerdictTest);

std::vector<FlowVerdictTest::Way> FlowVerdictTest::ways() {
  using T = FlowVerdictTest;
  const auto kDone = Verdict::kSucceeded, kFailed = Verdict::kFailed,
             kCancelled = Verdict::kCancelled, kSkipped = Verdict::kSkipped;
  return {
      {"done", "u", [](T& t) { t.done("u", "7"); }, kDone},
      {"not retryable", "u", [](T& t) { t.poison("u"); }, kFailed},
      {"no tries left", "u", [](T& t) { t.fail(t.take("u"), failure("boom")).value(); }, kFailed},
      {"worker lost", "u", [](T& t) { t.lose("u"); }, kFailed},
      {"lease expired", "u", [](T& t) { t.expireLease("u"); }, kFailed},
      {"worker gone by itself", "u",
       [](T& t) {
         t.take("u");
         t.write([](Store& s) { return s.jobs().releaseByWorker("w", "released_by_worker"); });
       },
       kFailed},
      {"cancelled before it began", "u", [](T& t) { t.cancel("u", "enough"); }, kCancelled},
      {"stopped when asked", "u", [](T& t) { t.askToStop("u"), t.stop("u"); }, kCancelled},
      {"given back when asked to stop", "u", [](T& t) { t.askToStop("u"), t.giveBack("u"); },
       kCancelled},
      {"lost when asked to stop", "u",
       [](T& t) {
         t.askToStop("u");
         t.clock.advance(1h);
         t.write([](Store& s) { return s.jobs().expireLeases(10); });
       },
       kCancelled},
      {"done though asked to stop", "u", [](T& t) { t.askToStop("u"), t.done("u"); }, kDone},
      {"expired", "u", [](T& t) { t.expire("u"); }, kCancelled},
      {"expired while blocked", "z; u after z", [](T& t) { t.expire("u"); }, kCancelled},
      {"cancelled while blocked", "z; u after z", [](T& t) { t.cancel("u"); }, kCancelled},
      {"upstream failed", "z; u after z", [](T& t) { t.poison("z"); }, kFailed},
      {"upstream cancelled", "z; u after z", [](T& t) { t.cancel("z"); }, kCancelled},
      {"upstream cancelled, failure waited for", "z; u failure z", [](T& t) { t.cancel("z"); },
       kCancelled},
      {"not needed", "z; u failure z", [](T& t) { t.done("z"); }, kSkipped},
      {"not needed any more", "y; z failure y; u after z", [](T& t) { t.done("y"); }, kSkipped},
      {"two steps from the failure", "y; z after y; u after z", [](T& t) { t.poison("y"); },
       kFailed},
      {"done, and its children too", "u",
       [](T& t) {
         t.addChildren("u", "c; d after c").value();
         t.done("u"), t.done("u/c"), t.done("u/d");
       },
       kDone},
      {"done, and a child poisoned", "u",
       [](T& t) {
         t.addChildren("u", "c; d").value();
         t.poison("u/c"), t.done("u"), t.done("u/d");
       },
       kFailed},
      {"done, and the last child poisoned", "u",
       [](T& t) {
         t.addChildren("u", "c").value();
         t.done("u"), t.poison("u/c");
       },
       kFailed},
      {"done, and a child cancelled", "u",
       [](T& t) {
         t.addChildren("u", "c; d after c").value();
         t.done("u"), t.cancel("u/c");
       },
       kCancelled},
      {"done, and of two children one failed, one was cancelled", "u",
       [](T& t) {
         t.addChildren("u", "c; d").value();
         t.cancel("u/c"), t.poison("u/d"), t.done("u");
       },
       kFailed},
      {"done, and a child that may fail poisoned", "u",
       [](T& t) {
         t.addChildren("u", "c?; d after c; e failure c").value();
         t.done("u"), t.poison("u/c"), t.settle(), t.done("u/e");
       },
       kDone},
      {"done, and a child that may fail cancelled", "u",
       [](T& t) {
         t.addChildren("u", "c?").value();
         t.done("u"), t.cancel("u/c");
       },
       kDone},
      {"done, and a grandchild poisoned", "u",
       [](T& t) {
         t.addChildren("u", "c").value();
         t.addChildren("u/c", "g").value();
         t.done("u"), t.done("u/c"), t.poison("u/c/g");
       },
       kFailed},
      {"done, and the parent of a poisoned grandchild may fail", "u",
       [](T& t) {
         t.addChildren("u", "c?").value();
         t.addChildren("u/c", "g").value();
         t.poison("u/c/g"), t.done("u/c"), t.done("u");
       },
       kDone},
      {"poisoned, and its child done", "u",
       [](T& t) {
         t.addChildren("u", "c").value();
         t.poison("u"), t.done("u/c");
       },
       kFailed},
      {"cancelled, and its child poisoned", "u",
       [](T& t) {
         t.addChildren("u", "c").value();
         t.cancel("u"), t.stop("u"), t.poison("u/c");
       },
       kCancelled},
      {"its pool removed while it waited", "u @q", [](T& t) { t.removePool("q"); }, kCancelled},
      {"its pool removed while it was blocked", "z; u after z @q", [](T& t) { t.removePool("q"); },
       kCancelled},
      {"its pool removed while it ran", "u @q", [](T& t) { t.take("u"), t.removePool("q"); },
       kCancelled},
      {"its pool removed after it had its verdict", "u @q",
       [](T& t) { t.done("u"), t.settle(), t.removePool("q"); }, kDone},
  };
}

TEST_P(FlowVerdictTest, each_way_to_end_is_told_to_each_kind_of_edge) {
  setPool(with<PoolSettings>([](auto& s) { s.max_retries = 0; }));
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    CreateFlow flow;
    flow.jobs = flowJobs(way.jobs);
    // In an order in which the upstream job is neither the first nor the last.
    for (NewFlowJob& job : flowJobs("x1 after u")) flow.jobs.insert(flow.jobs.begin(), job);
    for (NewFlowJob& job : flowJobs("x2 failure u; x3 any u")) flow.jobs.push_back(job);
    if (way.name.starts_with("expired")) {
      for (NewFlowJob& job : flow.jobs) {
        if (job.name == "u") job.job.expires_at = clock.now() + 10min;
      }
    }
    start(flow);
    for (const char* waits : {"x1", "x2", "x3"}) EXPECT_EQ(state(waits), "blocked");
    const auto before = lastEvent();
    way.end(*this);
    settle();
    EXPECT_EQ(state("x1"), told(EdgeCondition::kAfter, way.verdict));
    EXPECT_EQ(state("x2"), told(EdgeCondition::kAfterFailure, way.verdict));
    EXPECT_EQ(state("x3"), told(EdgeCondition::kAfterAny, way.verdict));
    for (const char* waits : {"x1", "x2", "x3"}) {
      EventFilter of_job;
      of_job.job = id(waits).str();
      const bool runs = state(waits) == "pending";
      EXPECT_EQ(eventTypesAfter(before, of_job), Names{runs ? "job.unblocked" : "job.cancelled"})
          << waits;
    }
    expectNoCounterFaults();
    cancelFlow().value();
    settle();
    if (HasFailure()) break;  // the rest says the same
  }
}

// The last edge is told in the same commit, so no settle unit lies between an end and what follows.
TEST_P(FlowVerdictTest, a_job_can_be_claimed_as_soon_as_its_edges_are_met) {
  start("a; b; c after a b; d any a; e failure b");
  done("a");
  EXPECT_EQ(states(), "a=done b=pending c=blocked d=pending e=blocked");
  EXPECT_EQ(find("c").flow->blocked_by, 1);
  poison("b");
  settle();
  EXPECT_EQ(states(), "a=done b=poisoned c=cancelled:upstream_failed d=pending e=pending");
  start("f; g; h after f g");
  done("f"), done("g");
  EXPECT_EQ(state("h"), "pending");
  EXPECT_EQ(claimable(), (Names{"d", "e", "h"}));
}

TEST_P(FlowVerdictTest, a_claim_in_the_unit_of_the_report_may_get_the_job_that_it_unblocked) {
  start("a; b after a");
  const Job a = take("a");
  const auto next = share([&](Store& s) {
    s.jobs().complete(a.id, {a.lease_token, ""}, "1", "").value();
    s.settleEnded();
    return s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 1);
  });
  EXPECT_EQ(idsOf(next), Names{id("b").str()});
}

TEST_P(FlowVerdictTest, many_upstream_jobs_of_one_transaction_unblock_once) {
  start("a; b; c; d; x after a b c d; y failure a b");
  std::vector<Job> jobs;
  for (const char* name : {"d", "a", "c", "b"}) jobs.push_back(take(name));
  const std::int64_t version = find("x").version;
  const auto before = lastEvent();
  share([&](Store& s) {
    for (const Job& job : jobs) s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
  });
  EXPECT_EQ(state("x"), "pending");
  EXPECT_EQ(find("x").version, version + 1);
  EXPECT_EQ(count("job.unblocked", before), 1);
  settle();
  EXPECT_EQ(state("y"), "cancelled:not_needed");
  EXPECT_EQ(count("job.cancelled", before), 1);
}

TEST_P(FlowVerdictTest, one_edge_that_cannot_be_met_cancels_whatever_the_others_say) {
  start("a; b; c; x after a b; y after a; z after x; v any a x; w after c x");
  poison("a");
  settle();
  EXPECT_EQ(state("x"), "cancelled:upstream_failed");
  EXPECT_EQ(state("z"), "cancelled:upstream_failed") << "through two jobs";
  EXPECT_EQ(state("v"), "pending");
  EXPECT_EQ(state("w"), "cancelled:upstream_failed") << "c has not even begun";
  done("b");
  settle();
  EXPECT_EQ(state("x"), "cancelled:upstream_failed") << "the rest comes too late";
  EXPECT_EQ(count("job.cancelled"), 4);
}

TEST_P(FlowVerdictTest, what_was_undone_was_not_told) {
  start("a; b after a; c failure a");
  const Job a = take("a");
  const auto before = lastEvent();
  const auto seen = states();
  EXPECT_FALSE(storage->writeAndWait([&](Store& s) {
    s.jobs().complete(a.id, {a.lease_token, ""}, "1", "").value();
    s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 10);
    throw std::runtime_error("undo it all");
  }));
  EXPECT_EQ(states(), seen);
  EXPECT_EQ(lastEvent(), before);
  EXPECT_FALSE(unsettled());
  done("a");
  EXPECT_EQ(state("b"), "pending");
}

TEST_P(FlowVerdictTest, children_run_on_and_the_verdict_waits_for_them) {
  start("a; b after a; c failure a; d any a");
  addChildren("a", "x; y after x; z? any y").value();
  poison("a");
  settle();
  EXPECT_EQ(states(),
            "a=poisoned b=blocked c=blocked d=blocked a/x=pending a/y=blocked a/z=blocked");
  done("a/x");
  done("a/y");
  settle();
  EXPECT_EQ(state("d"), "blocked") << "one child is left";
  poison("a/z");
  settle();
  EXPECT_EQ(state("b"), "cancelled:upstream_failed");
  EXPECT_EQ(state("c"), "pending");
  EXPECT_EQ(state("d"), "pending");
  EXPECT_EQ(flowState(), "running");
}

TEST_P(FlowVerdictTest, a_level_inside_a_level_is_waited_for) {
  start("a; after after a; failed failure a");
  addChildren("a", "b; c after b").value();
  addChildren("a/b", "d; e after d").value();
  addChildren("a/b/d", "f").value();
  done("a"), done("a/b"), done("a/b/d");
  settle();
  EXPECT_EQ(state("a/b/e"), "blocked");
  done("a/b/d/f");
  settle();
  EXPECT_EQ(state("a/b/e"), "pending");
  EXPECT_EQ(state("a/c"), "blocked");
  poison("a/b/e");
  settle();
  EXPECT_EQ(state("a/c"), "cancelled:upstream_failed");
  EXPECT_EQ(state("after"), "cancelled:upstream_failed");
  EXPECT_EQ(state("failed"), "pending");
  done("failed");
  settle();
  EXPECT_EQ(flowState(), "failed:job_failed");
}

TEST_P(FlowVerdictTest, a_consequence_does_not_count_in_its_level) {
  start("a?; b after a; c failure b; d failure c");
  poison("a");
  settle();
  EXPECT_EQ(states(), "a=poisoned b=cancelled:upstream_failed c=pending d=blocked");
  done("c");
  settle();
  EXPECT_EQ(state("d"), "cancelled:not_needed");
  EXPECT_EQ(flowState(), "succeeded") << "a may fail, and all else was its consequence";
}

}  // namespace
}  // namespace muster::test
