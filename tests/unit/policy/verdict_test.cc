#include "models/policy/verdict.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using E = EndedAs;
using S = JobStatus;
using V = Verdict;
using When = EdgeCondition;

TEST(Verdict, an_edge_is_met_or_cancels_as_the_table_says) {
  const std::optional<EndedAs> met;
  struct Row {
    V upstream;
    std::optional<EndedAs> after, after_failure, after_any;
  };
  const Row rows[] = {
      {V::kSucceeded, met, E::kNotNeeded, met},
      {V::kFailed, E::kUpstreamFailed, met, met},
      {V::kCancelled, E::kUpstreamCancelled, E::kUpstreamCancelled, met},
      {V::kSkipped, E::kNotNeeded, E::kNotNeeded, met},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(judgeEdge(When::kAfter, row.upstream), row.after) << name(row.upstream);
    EXPECT_EQ(judgeEdge(When::kAfterFailure, row.upstream), row.after_failure)
        << name(row.upstream);
    EXPECT_EQ(judgeEdge(When::kAfterAny, row.upstream), row.after_any) << name(row.upstream);
  }
}

TEST(Verdict, a_job_whose_children_have_ended_has_one) {
  const LevelCounts no_children, failed{0, 1, 1}, cancelled{0, 0, 2};
  struct Row {
    const char* text;
    S status;
    E ended_as;
    V without, with_failed, with_cancelled;  // by how the level of its children ended
  };
  const Row rows[] = {
      {"done", S::kDone, E::kItself, V::kSucceeded, V::kFailed, V::kCancelled},
      {"poisoned", S::kPoisoned, E::kItself, V::kFailed, V::kFailed, V::kFailed},
      {"cancelled", S::kCancelled, E::kItself, V::kCancelled, V::kCancelled, V::kCancelled},
      {"upstream failed", S::kCancelled, E::kUpstreamFailed, V::kFailed, V::kFailed, V::kFailed},
      {"upstream cancelled", S::kCancelled, E::kUpstreamCancelled, V::kCancelled, V::kCancelled,
       V::kCancelled},
      {"not needed", S::kCancelled, E::kNotNeeded, V::kSkipped, V::kSkipped, V::kSkipped},
      {"gone, done", S::kPending, E::kGoneDone, V::kSucceeded, V::kFailed, V::kCancelled},
      {"gone, poisoned", S::kPending, E::kGonePoisoned, V::kFailed, V::kFailed, V::kFailed},
      {"gone, cancelled", S::kPending, E::kGoneCancelled, V::kCancelled, V::kCancelled,
       V::kCancelled},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(verdictOf(row.status, row.ended_as, no_children), row.without) << row.text;
    EXPECT_EQ(verdictOf(row.status, row.ended_as, failed), row.with_failed) << row.text;
    EXPECT_EQ(verdictOf(row.status, row.ended_as, cancelled), row.with_cancelled) << row.text;
    EXPECT_EQ(verdictOf(row.status, row.ended_as, LevelCounts{1, 1, 1}), std::nullopt)
        << row.text << ", and a child is open";
  }
}

TEST(Verdict, a_job_that_has_not_ended_has_none) {
  for (const S status : {S::kPending, S::kClaimed, S::kBlocked}) {
    EXPECT_EQ(verdictOf(status, E::kItself, {}), std::nullopt) << name(status);
    EXPECT_EQ(verdictOf(status, E::kItself, LevelCounts{0, 1, 0}), std::nullopt) << name(status);
  }
}

TEST(Verdict, a_level_failed_before_it_was_cancelled_and_else_it_succeeded) {
  EXPECT_EQ(verdictOfLevel({0, 1, 0}), V::kFailed);
  EXPECT_EQ(verdictOfLevel({0, 1, 5}), V::kFailed);
  EXPECT_EQ(verdictOfLevel({0, 0, 1}), V::kCancelled);
  EXPECT_EQ(verdictOfLevel({0, 0, 0}), V::kSucceeded);
}

TEST(Verdict, its_level_counts_causes_and_not_their_consequences) {
  struct Row {
    V verdict;
    E ended_as;
    std::int64_t failed, cancelled;
  };
  const Row rows[] = {
      {V::kSucceeded, E::kItself, 0, 0},
      {V::kFailed, E::kItself, 1, 0},
      {V::kCancelled, E::kItself, 0, 1},
      {V::kFailed, E::kUpstreamFailed, 0, 0},
      {V::kCancelled, E::kUpstreamCancelled, 0, 0},
      {V::kSkipped, E::kNotNeeded, 0, 0},
      {V::kSucceeded, E::kGoneDone, 0, 0},
      {V::kFailed, E::kGoneDone, 1, 0},
      {V::kFailed, E::kGonePoisoned, 1, 0},
      {V::kCancelled, E::kGoneCancelled, 0, 1},
  };
  for (const Row& row : rows) {
    const LevelCounts counted = countedAs(row.verdict, row.ended_as, false);
    EXPECT_EQ(counted.open, 0);
    EXPECT_EQ(counted.failed, row.failed) << name(row.verdict) << " " << int(row.ended_as);
    EXPECT_EQ(counted.cancelled, row.cancelled) << name(row.verdict) << " " << int(row.ended_as);
    const LevelCounts may_fail = countedAs(row.verdict, row.ended_as, true);
    EXPECT_EQ(may_fail.failed + may_fail.cancelled + may_fail.open, 0) << "it may fail";
  }
}

TEST(Verdict, a_consequence_has_the_reason_of_its_edge) {
  EXPECT_EQ(reasonOf(E::kUpstreamFailed), "upstream_failed");
  EXPECT_EQ(reasonOf(E::kUpstreamCancelled), "upstream_cancelled");
  EXPECT_EQ(reasonOf(E::kNotNeeded), "not_needed");
  for (const E other : {E::kItself, E::kGoneDone, E::kGonePoisoned, E::kGoneCancelled}) {
    EXPECT_EQ(reasonOf(other), "") << int(other);
    EXPECT_FALSE(isConsequence(other)) << int(other);
  }
}

TEST(Verdict, stays_the_same_when_the_row_of_the_job_goes) {
  struct Row {
    S status;
    E ended_as, gone_as;
  };
  const Row rows[] = {
      {S::kDone, E::kItself, E::kGoneDone},
      {S::kPoisoned, E::kItself, E::kGonePoisoned},
      {S::kCancelled, E::kItself, E::kGoneCancelled},
      {S::kCancelled, E::kUpstreamFailed, E::kUpstreamFailed},
      {S::kCancelled, E::kUpstreamCancelled, E::kUpstreamCancelled},
      {S::kCancelled, E::kNotNeeded, E::kNotNeeded},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(goneAs(row.status, row.ended_as), row.gone_as) << name(row.status);
    for (const LevelCounts children : {LevelCounts{}, LevelCounts{0, 1, 0}, LevelCounts{0, 0, 1}}) {
      EXPECT_EQ(verdictOf(row.status, row.ended_as, children),
                verdictOf(row.status, row.gone_as, children))
          << name(row.status);
    }
  }
  for (const S unfinished : {S::kPending, S::kClaimed, S::kBlocked}) {
    EXPECT_EQ(goneAs(unfinished, E::kItself), E::kGoneCancelled) << name(unfinished);
  }
}

TEST(Verdict, names_are_those_of_the_contract) {
  EXPECT_EQ(name(V::kSucceeded), "succeeded");
  EXPECT_EQ(name(V::kFailed), "failed");
  EXPECT_EQ(name(V::kCancelled), "cancelled");
  EXPECT_EQ(name(V::kSkipped), "skipped");
  EXPECT_EQ(name(When::kAfter), "after");
  EXPECT_EQ(name(When::kAfterFailure), "after_failure");
  EXPECT_EQ(name(When::kAfterAny), "after_any");
}

}  // namespace
}  // namespace muster
