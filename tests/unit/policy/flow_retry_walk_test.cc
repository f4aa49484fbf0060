#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "models/policy/flow_retry.h"
#include "tests/unit/policy/drawn_flow.h"

namespace muster::test {
namespace {

// The same, from its definition: nothing is remembered, and every question is answered anew.
class NaiveRetry {
 public:
  NaiveRetry(const DrawnFlow& flow, const std::optional<std::vector<std::int64_t>>& chosen)
      : flow_(flow) {
    for (const FlowJobState& job : flow.jobs) {
      if (!chosen) reached_.insert(job.seq);
    }
    if (chosen) reached_.insert(chosen->begin(), chosen->end());
    for (std::size_t before = 0; before != reached_.size() + below_.size();) {
      before = reached_.size() + below_.size();
      for (const FlowEdgeState& edge : flow.edges) {
        if (reached_.contains(edge.upstream)) reached_.insert(edge.downstream);
      }
      for (const FlowJobState& job : flow.jobs) {
        if (job.parent == 0) continue;
        if (below_.contains(job.parent) ||
            (reached_.contains(job.parent) && endedBadly(state(job.parent)))) {
          below_.insert(job.seq);
          reached_.insert(job.seq);
        }
        if (reached_.contains(job.seq) && isDone(state(job.parent))) reached_.insert(job.parent);
      }
    }
  }

  Lines describe() {
    Lines lines;
    for (const FlowJobState& job : flow_.jobs) {
      if (const std::string text = fateOf(job); !text.empty()) {
        lines.push_back(flow_.names.at(job.seq) + text);
      }
    }
    if (!flow_.jobs.empty()) lines.push_back(levelText("top", levelOf(0)));
    for (const FlowJobState& job : flow_.jobs) {
      if (hasChildren(job.seq))
        lines.push_back(levelText(flow_.names.at(job.seq), levelOf(job.seq)));
    }
    return lines;
  }

 private:
  const FlowJobState& state(std::int64_t seq) const {
    return flow_.jobs.at(static_cast<std::size_t>(seq - 1));
  }
  static bool isDone(const FlowJobState& job) {
    return job.ended_as == EndedAs::kGoneDone ||
           (job.ended_as == EndedAs::kItself && job.status == JobStatus::kDone);
  }
  static bool endedBadly(const FlowJobState& job) {
    return (job.status == JobStatus::kPoisoned || job.status == JobStatus::kCancelled) &&
           job.ended_as < EndedAs::kGoneDone;
  }
  bool isTaken(const FlowJobState& job) const {
    return endedBadly(job) && (reached_.contains(job.seq) || job.todo == FlowJobTodo::kPutBack);
  }
  bool hasChildren(std::int64_t seq) const {
    return std::any_of(flow_.jobs.begin(), flow_.jobs.end(),
                       [&](const FlowJobState& job) { return job.parent == seq; });
  }
  bool isOpenFor(std::int64_t upstream, std::int64_t downstream) const {
    const FlowJobState& job = state(upstream);
    if (job.todo == FlowJobTodo::kTellVerdict) return true;
    if (job.todo == FlowJobTodo::kTellEdges && downstream > job.told_to) return true;
    return !verdict(job);
  }
  std::int64_t openEdges(const FlowJobState& job) const {
    return std::count_if(flow_.edges.begin(), flow_.edges.end(), [&](const FlowEdgeState& edge) {
      return edge.downstream == job.seq && isOpenFor(edge.upstream, job.seq);
    });
  }
  std::optional<EndedAs> reasonAgainst(const FlowJobState& job) const {
    for (const FlowEdgeState& edge : flow_.edges) {
      if (edge.downstream != job.seq || isOpenFor(edge.upstream, job.seq)) continue;
      if (auto why = judgeEdge(edge.condition, *verdict(state(edge.upstream)))) return why;
    }
    return std::nullopt;
  }
  std::optional<Verdict> verdict(const FlowJobState& job) const {
    if (!isTaken(job)) {
      if (job.todo == FlowJobTodo::kTellVerdict) return std::nullopt;
      return verdictOf(job.status, job.ended_as, levelOf(job.seq));
    }
    const auto why = reasonAgainst(job);
    if (!why || job.todo == FlowJobTodo::kTellVerdict) return std::nullopt;
    return verdictOf(JobStatus::kCancelled, *why, levelOf(job.seq));
  }
  LevelCounts levelOf(std::int64_t parent) const {
    LevelCounts level;
    for (const FlowJobState& job : flow_.jobs) {
      if (job.parent != parent) continue;
      const auto ended = verdict(job);
      if (!ended) {
        ++level.open;
        continue;
      }
      const EndedAs as = isTaken(job) ? *reasonAgainst(job) : job.ended_as;
      const LevelCounts counted = countedAs(*ended, as, job.may_fail);
      level.failed += counted.failed;
      level.cancelled += counted.cancelled;
    }
    return level;
  }
  std::string fateOf(const FlowJobState& job) const {
    if (isTaken(job)) {
      if (const auto why = reasonAgainst(job)) return " again " + std::string(reasonOf(*why));
      const auto open = openEdges(job);
      return open == 0 ? " pending" : " blocked by " + std::to_string(open);
    }
    if (job.status != JobStatus::kBlocked || job.ended_as != EndedAs::kItself) return "";
    const auto open = openEdges(job);
    return open > job.remaining ? " still blocked, by " + std::to_string(open) : "";
  }

  const DrawnFlow& flow_;
  std::set<std::int64_t> reached_, below_;
};

DrawnFlow randomFlow(std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  static const Lines kStates = {"pending",
                                "claimed",
                                "done",
                                "done",
                                "done",
                                "poisoned",
                                "poisoned",
                                "cancelled",
                                "blocked remaining=0",
                                "blocked remaining=1",
                                "upstream_failed",
                                "upstream_cancelled",
                                "not_needed",
                                "gone_done",
                                "gone_poisoned",
                                "gone_cancelled"};
  const std::size_t size = 1 + below(12);
  Lines names, lines;
  std::vector<std::string> levels(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0 && below(2) == 0) levels[i] = names[below(i)] + "/";
    names.push_back(levels[i] + std::to_string(i));
  }
  // Any order of the jobs of a level will do, so that edges point both ways.
  std::vector<std::size_t> rank(size);
  for (std::size_t& each : rank) each = below(1000);
  for (std::size_t i = 0; i < size; ++i) {
    std::string line = names[i] + " " + kStates[below(kStates.size())];
    if (below(5) == 0) line += " may_fail";
    const std::size_t todo = below(20);
    if (todo == 0) line += " tells_verdict";
    if (todo == 1) line += " put_back";
    if (todo == 2) line += " told_to=" + names[below(size)];
    line += ":";
    for (std::size_t from = 0; from < size; ++from) {
      if (levels[from] != levels[i] || std::pair(rank[from], from) >= std::pair(rank[i], i))
        continue;
      if (below(2) == 0) continue;
      line += std::string(" ") + Lines{"", "!", "~"}[below(3)] + names[from];
    }
    lines.push_back(line);
  }
  return draw(lines);
}

TEST(FlowRetry, agrees_with_its_definition_on_random_flows) {
  std::map<std::string, int> seen;
  for (unsigned seed = 1; seed <= 4000; ++seed) {
    std::mt19937 random(seed);
    const DrawnFlow flow = randomFlow(random);
    std::optional<std::vector<std::int64_t>> chosen;
    if (random() % 3 != 0) {
      chosen.emplace();
      for (std::size_t i = 0; i < 1 + random() % 2; ++i) {
        chosen->push_back(1 + static_cast<std::int64_t>(random() % flow.jobs.size()));
      }
    }
    const FlowRetryPlan plan = planFlowRetry(flow.jobs, flow.edges, chosen);
    ASSERT_EQ(described(plan, flow), NaiveRetry(flow, chosen).describe()) << "seed " << seed;
    seen["put back"] += !plan.put_back.empty();
    seen["recounted"] += !plan.recounted.empty();
    seen["cancelled again"] += !plan.cancelled_again.empty();
    seen["levels"] += plan.levels.size() > 1;
  }
  for (const char* what : {"put back", "recounted", "cancelled again", "levels"}) {
    EXPECT_GT(seen[what], 200) << what;
  }
}
}  // namespace
}  // namespace muster::test
