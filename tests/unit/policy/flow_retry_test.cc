#include "models/policy/flow_retry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/policy/drawn_flow.h"

namespace muster::test {
namespace {

Lines retried(const Lines& lines, const std::optional<Lines>& chosen = std::nullopt) {
  const DrawnFlow flow = draw(lines);
  std::optional<std::vector<std::int64_t>> numbers;
  if (chosen) {
    numbers.emplace();
    for (const std::string& name : *chosen) numbers->push_back(flow.numbers.at(name));
  }
  return described(planFlowRetry(flow.jobs, flow.edges, numbers), flow);
}

TEST(FlowRetry, puts_back_what_ended_otherwise_than_done) {
  EXPECT_EQ(retried({"fetch done", "left poisoned: fetch", "right done: fetch",
                     "merge upstream_failed: left right", "alarm done: !merge"}),
            (Lines{"left pending", "merge blocked by 1", "top: 2 open, 0 failed, 0 cancelled"}))
      << "the handler ran, and stays done";
  EXPECT_EQ(retried({"a cancelled", "b cancelled: a", "c claimed", "d pending", "e poisoned: d"}),
            (Lines{"a pending", "b blocked by 1", "e blocked by 1",
                   "top: 5 open, 0 failed, 0 cancelled"}));
  EXPECT_EQ(retried({}), Lines{});
}

TEST(FlowRetry, edges_may_point_both_ways_in_the_order_of_numbers) {
  EXPECT_EQ(retried({"merge upstream_failed: left right", "left upstream_failed: fetch",
                     "right not_needed: !fetch", "fetch done"}),
            (Lines{"merge again not_needed", "left pending", "right again not_needed",
                   "top: 1 open, 0 failed, 0 cancelled"}));
}

TEST(FlowRetry, an_edge_that_cannot_be_met_cancels_again) {
  EXPECT_EQ(retried({"a done", "handler not_needed: !a", "after not_needed: handler",
                     "any not_needed: ~handler", "bad poisoned"}),
            (Lines{"handler again not_needed", "after again not_needed", "any pending",
                   "bad pending", "top: 2 open, 0 failed, 0 cancelled"}));
  EXPECT_EQ(
      retried({"p gone_poisoned", "c gone_cancelled", "d gone_done", "after_p upstream_failed: p",
               "after_c upstream_cancelled: c", "after_d cancelled: d", "handler cancelled: !p",
               "deep upstream_failed: after_p"}),
      (Lines{"after_p again upstream_failed", "after_c again upstream_cancelled", "after_d pending",
             "handler pending", "deep again upstream_failed",
             "top: 2 open, 1 failed, 1 cancelled"}))
      << "what is gone cannot be tried again";
}

TEST(FlowRetry, the_first_edge_that_cannot_be_met_gives_the_reason) {
  EXPECT_EQ(retried({"c gone_cancelled", "p gone_poisoned", "d done", "x cancelled: p c",
                     "y cancelled: !d p", "z cancelled: !d c p"}),
            (Lines{"x again upstream_cancelled", "y again upstream_failed",
                   "z again upstream_cancelled", "top: 0 open, 1 failed, 1 cancelled"}));
}

TEST(FlowRetry, takes_only_what_is_chosen_and_downstream_of_it) {
  const Lines flow = {"a poisoned", "b upstream_failed: a", "c poisoned", "d upstream_failed: c",
                      "join upstream_failed: b d"};
  EXPECT_EQ(retried(flow, Lines{"a"}),
            (Lines{"a pending", "b blocked by 1", "join again upstream_failed",
                   "top: 2 open, 1 failed, 0 cancelled"}))
      << "d keeps its verdict";
  EXPECT_EQ(retried(flow, Lines{"a", "c"}),
            (Lines{"a pending", "b blocked by 1", "c pending", "d blocked by 1",
                   "join blocked by 2", "top: 5 open, 0 failed, 0 cancelled"}));
  EXPECT_EQ(retried(flow, Lines{"d"}),
            (Lines{"d again upstream_failed", "join again upstream_failed",
                   "top: 0 open, 2 failed, 0 cancelled"}));
  EXPECT_EQ(retried(flow, Lines{}), (Lines{"top: 0 open, 2 failed, 0 cancelled"}));
}

TEST(FlowRetry, goes_on_downstream_through_done_jobs) {
  EXPECT_EQ(retried({"x poisoned", "handler done: !x", "next poisoned: handler"}, Lines{"x"}),
            (Lines{"x pending", "next pending", "top: 2 open, 0 failed, 0 cancelled"}));
}

TEST(FlowRetry, a_done_parent_waits_for_its_child_again) {
  const Lines flow = {
      "p done", "p/a poisoned",          "p/b done", "p/c poisoned", "q upstream_failed: p",
      "r done", "s upstream_failed: q r"};
  EXPECT_EQ(retried(flow, Lines{"p/a"}),
            (Lines{"p/a pending", "q blocked by 1", "s blocked by 1",
                   "top: 3 open, 0 failed, 0 cancelled", "p: 1 open, 1 failed, 0 cancelled"}))
      << "p/c was not chosen";
  EXPECT_EQ(retried(flow),
            (Lines{"p/a pending", "p/c pending", "q blocked by 1", "s blocked by 1",
                   "top: 3 open, 0 failed, 0 cancelled", "p: 2 open, 0 failed, 0 cancelled"}));
  EXPECT_EQ(retried({"p gone_done", "p/a poisoned", "q upstream_failed: p"}, Lines{"p/a"}),
            (Lines{"p/a pending", "q blocked by 1", "top: 2 open, 0 failed, 0 cancelled",
                   "p: 1 open, 0 failed, 0 cancelled"}));
}

TEST(FlowRetry, a_parent_that_is_not_done_has_its_verdict_without_its_children) {
  EXPECT_EQ(retried({"p poisoned", "p/a poisoned", "q upstream_failed: p"}, Lines{"p/a"}),
            (Lines{"p/a pending", "top: 1 open, 0 failed, 0 cancelled",
                   "p: 1 open, 0 failed, 0 cancelled"}))
      << "what it is waits for the child again, and can only be what it was";
}

TEST(FlowRetry, what_is_below_a_job_that_is_put_back_goes_with_it) {
  EXPECT_EQ(retried({"p poisoned", "p/a done", "p/b poisoned", "p/a/x poisoned", "p/a/y done",
                     "other done", "other/o poisoned"},
                    Lines{"p"}),
            (Lines{"p pending", "p/b pending", "p/a/x pending",
                   "top: 1 open, 1 failed, 0 cancelled", "p: 2 open, 0 failed, 0 cancelled",
                   "p/a: 1 open, 0 failed, 0 cancelled", "other: 0 open, 1 failed, 0 cancelled"}));
  EXPECT_EQ(
      retried({"x poisoned", "p done: ~x", "p/b poisoned", "q upstream_failed: p"}, Lines{"x"}),
      (Lines{"x pending", "q again upstream_failed", "top: 1 open, 1 failed, 0 cancelled",
             "p: 0 open, 1 failed, 0 cancelled"}))
      << "a job that stays done keeps its children";
}

TEST(FlowRetry, a_job_that_is_cancelled_again_still_waits_for_its_children) {
  EXPECT_EQ(retried({"d done", "h not_needed: !d", "h/x poisoned", "any cancelled: ~h"}),
            (Lines{"h again not_needed", "h/x pending", "any blocked by 1",
                   "top: 2 open, 0 failed, 0 cancelled", "h: 1 open, 0 failed, 0 cancelled"}));
}

TEST(FlowRetry, a_blocked_job_waits_again_for_what_had_ended) {
  EXPECT_EQ(retried({"u poisoned", "v claimed", "j blocked remaining=1: ~u v"}),
            (Lines{"u pending", "j still blocked, by 2", "top: 3 open, 0 failed, 0 cancelled"}));
  EXPECT_EQ(retried({"u poisoned", "j pending: ~u", "k claimed: !u"}),
            (Lines{"u pending", "top: 3 open, 0 failed, 0 cancelled"}))
      << "what was unblocked stays so";
}

TEST(FlowRetry, an_edge_that_is_not_told_is_told_later) {
  EXPECT_EQ(
      retried({"u gone_poisoned told_to=a", "a upstream_failed: u", "b cancelled: u",
               "c blocked remaining=1: !u"}),
      (Lines{"a again upstream_failed", "b blocked by 1", "top: 2 open, 1 failed, 0 cancelled"}));
  EXPECT_EQ(retried({"u done tells_verdict", "a cancelled: u"}),
            (Lines{"a blocked by 1", "top: 2 open, 0 failed, 0 cancelled"}));
  EXPECT_EQ(retried({"u poisoned told_to=a", "a blocked remaining=1: !u v",
                     "b blocked remaining=2: !u v", "v claimed"}),
            (Lines{"u pending", "a still blocked, by 2", "top: 4 open, 0 failed, 0 cancelled"}));
}

TEST(FlowRetry, a_level_does_not_know_of_a_verdict_that_is_not_told) {
  EXPECT_EQ(retried({"p done", "p/a poisoned tells_verdict", "p/b poisoned", "q cancelled: p"},
                    Lines{"q"}),
            (Lines{"q blocked by 1", "top: 2 open, 0 failed, 0 cancelled",
                   "p: 1 open, 1 failed, 0 cancelled"}));
}

TEST(FlowRetry, what_an_earlier_retry_is_still_to_put_back_is_in_the_plan) {
  EXPECT_EQ(
      retried({"a poisoned put_back", "b cancelled put_back: a", "c poisoned", "d poisoned"},
              Lines{"c"}),
      (Lines{"a pending", "b blocked by 1", "c pending", "top: 3 open, 1 failed, 0 cancelled"}));
}

TEST(FlowRetry, jobs_that_may_fail_do_not_count_in_their_level) {
  EXPECT_EQ(retried({"a poisoned may_fail", "b cancelled may_fail", "c poisoned", "d cancelled",
                     "e upstream_failed: c", "f poisoned"},
                    Lines{"f"}),
            (Lines{"f pending", "top: 1 open, 1 failed, 1 cancelled"}));
}

TEST(FlowRetry, a_number_that_is_no_job_is_passed_over) {
  const DrawnFlow flow = draw({"a poisoned", "b upstream_failed: a"});
  std::vector<FlowEdgeState> edges = {{77, 1, {}}, {1, 2, {}}, {2, 99, {}}};
  const auto plan = planFlowRetry(flow.jobs, edges, std::vector<std::int64_t>{5, 1, 1});
  EXPECT_EQ(described(plan, flow),
            (Lines{"a pending", "b blocked by 1", "top: 2 open, 0 failed, 0 cancelled"}));
}

// Each job after ten of the layer before it; the first layer has failed.
TEST(FlowRetry, takes_a_flow_of_a_hundred_thousand_jobs_and_a_million_edges) {
  constexpr std::int64_t kLayer = 1000, kLayers = 100, kWidth = 10;
  std::vector<FlowJobState> jobs;
  std::vector<FlowEdgeState> edges;
  for (std::int64_t seq = 1; seq <= kLayer * kLayers; ++seq) {
    const bool is_first = seq <= kLayer;
    jobs.push_back({.seq = seq,
                    .status = is_first ? JobStatus::kPoisoned : JobStatus::kCancelled,
                    .ended_as = is_first ? EndedAs::kItself : EndedAs::kUpstreamFailed});
    for (std::int64_t i = 0; !is_first && i < kWidth; ++i) {
      edges.push_back({seq - kLayer - (seq - 1) % kLayer + i * 97 % kLayer, seq, {}});
    }
    std::sort(edges.end() - (is_first ? 0 : kWidth), edges.end(),
              [](const auto& a, const auto& b) { return a.upstream < b.upstream; });
  }
  const auto all = planFlowRetry(jobs, edges, std::nullopt);
  ASSERT_EQ(all.put_back.size(), jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_EQ(all.put_back[i].seq, jobs[i].seq);
    ASSERT_EQ(all.put_back[i].remaining, i < kLayer ? 0 : kWidth);
  }
  EXPECT_EQ(all.levels.at(0).counts.open, kLayer * kLayers);
  const auto one = planFlowRetry(jobs, edges, std::vector<std::int64_t>{1});
  EXPECT_EQ(one.put_back.size(), 1U);
  EXPECT_EQ(one.cancelled_again.size(), kLayer * (kLayers - 1));
}

TEST(FlowRetry, takes_long_chains_and_deep_levels) {
  constexpr std::int64_t kJobs = 50'000;
  std::vector<FlowJobState> chain, tower;
  std::vector<FlowEdgeState> edges;
  for (std::int64_t seq = 1; seq <= kJobs; ++seq) {
    chain.push_back({.seq = seq, .status = JobStatus::kPoisoned});
    if (seq > 1) edges.push_back({seq - 1, seq, {}});
    tower.push_back({.seq = seq,
                     .parent = seq - 1,
                     .status = seq == kJobs ? JobStatus::kPoisoned : JobStatus::kDone});
  }
  EXPECT_EQ(planFlowRetry(chain, edges, std::vector<std::int64_t>{1}).put_back.size(), kJobs);
  const auto plan = planFlowRetry(tower, {}, std::vector<std::int64_t>{kJobs});
  EXPECT_EQ(plan.put_back, (std::vector<FlowRetryPlan::Remaining>{{kJobs, 0}}));
  ASSERT_EQ(plan.levels.size(), kJobs);
  for (const auto& level : plan.levels) ASSERT_EQ(level.counts.open, 1);
}

}  // namespace
}  // namespace muster::test
