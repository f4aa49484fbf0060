#include "models/policy/flow_retry.h"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

// Jobs and edges are known by their places in the lists here: half the memory of their numbers.
using Place = std::uint32_t;

// Lists of places in one piece of memory.
class PlaceLists {
 public:
  // each(add) calls add(list, item) for every item; it is called twice.
  template <class Each>
  PlaceLists(std::size_t lists, Each each) : bounds_(lists + 1) {
    each([this](Place list, Place) { ++bounds_[list + 1]; });
    std::partial_sum(bounds_.begin(), bounds_.end(), bounds_.begin());
    items_.resize(bounds_.back());
    // The bound of a list is where it begins. It moves to where the list ends, and the next list
    // begins.
    each([this](Place list, Place item) { items_[bounds_[list]++] = item; });
  }
  std::span<const Place> of(Place list) const {
    const Place begin = list == 0 ? 0 : bounds_[list - 1];
    return std::span(items_).subspan(begin, bounds_[list] - begin);
  }

 private:
  std::vector<Place> bounds_;
  std::vector<Place> items_;
};

// Who is upstream, downstream and child of whom. An edge of a job that is not listed does not
// exist.
class FlowLinks {
 public:
  FlowLinks(std::span<const FlowJobState> jobs, std::span<const FlowEdgeState> edges)
      : jobs_(jobs),
        edges_(edges),
        top_(static_cast<Place>(jobs.size())),
        parents_(jobs.size()),
        first_edges_(jobs.size() + 1),
        upstream_(edges.size(), top_) {
    for (Place job = 0; job < top_; ++job) {
      parents_[job] = jobs_[job].parent == 0 ? top_ : placeOf(jobs_[job].parent);
    }
    Place edge = 0;
    for (Place job = 0; job < top_; ++job) {
      while (edge < edges_.size() && edges_[edge].downstream < jobs_[job].seq) ++edge;
      first_edges_[job] = edge;
      for (; edge < edges_.size() && edges_[edge].downstream == jobs_[job].seq; ++edge) {
        upstream_[edge] = placeOf(edges_[edge].upstream);
      }
    }
    first_edges_[top_] = static_cast<Place>(edges_.size());
  }

  // Stands for what the top level is below.
  Place top() const { return top_; }
  Place parentOf(Place job) const { return parents_[job]; }
  // The place of the number; top() when it is not listed.
  Place placeOf(std::int64_t seq) const {
    const auto at = std::lower_bound(
        jobs_.begin(), jobs_.end(), seq,
        [](const FlowJobState& job, std::int64_t number) { return job.seq < number; });
    return at != jobs_.end() && at->seq == seq ? static_cast<Place>(at - jobs_.begin()) : top_;
  }
  // Calls visit(condition, upstream job) for each edge to the job, in the order of upstream
  // numbers.
  template <class Visit>
  void eachUpstream(Place job, Visit visit) const {
    for (Place edge = first_edges_[job]; edge < first_edges_[job + 1]; ++edge) {
      if (upstream_[edge] != top_) visit(edges_[edge].condition, upstream_[edge]);
    }
  }
  PlaceLists downstream() const {
    return {jobs_.size(), [this](auto add) {
              for (Place job = 0; job < top_; ++job) {
                eachUpstream(job, [&](EdgeCondition, Place upstream) { add(upstream, job); });
              }
            }};
  }
  // Those of top() are the top level.
  PlaceLists children() const {
    return {jobs_.size() + 1, [this](auto add) {
              for (Place job = 0; job < top_; ++job) add(parents_[job], job);
            }};
  }

 private:
  std::span<const FlowJobState> jobs_;
  std::span<const FlowEdgeState> edges_;
  Place top_;
  std::vector<Place> parents_;
  std::vector<Place> first_edges_;  // by downstream job; those of a job end where the next begin
  std::vector<Place> upstream_;     // by edge
};

bool canBePutBack(const FlowJobState& job) {
  return isFinished(job.status) && job.status != JobStatus::kDone && job.seq > 0 &&
         job.ended_as < EndedAs::kGoneDone;
}

// Its verdict is that of its children.
bool isDoneItself(const FlowJobState& job) {
  return job.ended_as == EndedAs::kGoneDone ||
         (job.ended_as == EndedAs::kItself && job.status == JobStatus::kDone);
}

class RetryPlanner {
 public:
  RetryPlanner(std::span<const FlowJobState> jobs, std::span<const FlowEdgeState> edges)
      : jobs_(jobs),
        links_(jobs, edges),
        downstream_(links_.downstream()),
        children_(links_.children()),
        reached_(jobs.size()),
        below_reached_(jobs.size()) {}

  void reachAll() { reached_.assign(jobs_.size(), true); }

  void reach(std::span<const std::int64_t> chosen) {
    for (const std::int64_t seq : chosen) {
      if (const Place job = links_.placeOf(seq); job != links_.top()) reachJob(job);
    }
    while (!to_walk_.empty()) {
      const Place job = to_walk_.back();
      to_walk_.pop_back();
      for (const Place downstream : downstream_.of(job)) reachJob(downstream);
      if (canBePutBack(jobs_[job])) reachBelow(job);
      const Place parent = links_.parentOf(job);
      if (parent != links_.top() && isDoneItself(jobs_[parent])) reachJob(parent);
    }
  }

  FlowRetryPlan plan() {
    verdicts_.resize(jobs_.size());
    levels_.resize(jobs_.size() + 1);
    FlowRetryPlan plan;
    inOrder([&](Place job) { judge(job, plan); });
    const auto by_number = [](const auto& a, const auto& b) { return a.seq < b.seq; };
    std::sort(plan.put_back.begin(), plan.put_back.end(), by_number);
    std::sort(plan.recounted.begin(), plan.recounted.end(), by_number);
    std::sort(plan.cancelled_again.begin(), plan.cancelled_again.end(), by_number);
    if (!jobs_.empty()) plan.levels.push_back({0, levels_[links_.top()]});
    for (Place job = 0; job < jobs_.size(); ++job) {
      if (!children_.of(job).empty()) plan.levels.push_back({jobs_[job].seq, levels_[job]});
    }
    return plan;
  }

 private:
  void reachJob(Place job) {
    if (reached_[job]) return;
    reached_[job] = true;
    to_walk_.push_back(job);
  }

  // All that is below a job which is put back, also what is below done jobs.
  void reachBelow(Place job) {
    if (below_reached_[job]) return;
    below_reached_[job] = true;
    std::vector<Place> parents{job};
    while (!parents.empty()) {
      const Place parent = parents.back();
      parents.pop_back();
      for (const Place child : children_.of(parent)) {
        reachJob(child);
        if (below_reached_[child]) continue;
        below_reached_[child] = true;
        parents.push_back(child);
      }
    }
  }

  // Calls visit(job) once for each job, after its upstream jobs and its children.
  template <class Visit>
  void inOrder(Visit visit) {
    std::vector<Place> waits_for(jobs_.size());
    for (Place job = 0; job < jobs_.size(); ++job) {
      waits_for[job] = static_cast<Place>(children_.of(job).size());
      links_.eachUpstream(job, [&](EdgeCondition, Place) { ++waits_for[job]; });
      if (waits_for[job] == 0) to_walk_.push_back(job);
    }
    const auto arrive = [&](Place job) {
      if (--waits_for[job] == 0) to_walk_.push_back(job);
    };
    while (!to_walk_.empty()) {
      const Place job = to_walk_.back();
      to_walk_.pop_back();
      visit(job);
      for (const Place downstream : downstream_.of(job)) arrive(downstream);
      if (const Place parent = links_.parentOf(job); parent != links_.top()) arrive(parent);
    }
  }

  // What is to be done with the job, and what verdict it has then.
  void judge(Place job, FlowRetryPlan& plan) {
    const FlowJobState& state = jobs_[job];
    const bool again = reached_[job] || state.todo == FlowJobTodo::kPutBack;
    if (!again || !canBePutBack(state)) {
      if (state.status == JobStatus::kBlocked && state.ended_as == EndedAs::kItself) {
        const std::int64_t remaining = countUnmet(job);
        if (remaining > state.remaining) plan.recounted.push_back({state.seq, remaining});
      }
      return keep(job, state.status, state.ended_as);
    }
    if (const auto reason = whyNot(job)) {
      plan.cancelled_again.push_back({state.seq, *reason});
      return keep(job, JobStatus::kCancelled, *reason);
    }
    plan.put_back.push_back({state.seq, countUnmet(job)});
    ++levels_[links_.parentOf(job)].open;
  }

  bool isOpen(Place upstream, std::int64_t downstream) const {
    return !verdicts_[upstream] || isUntold(jobs_[upstream], downstream);
  }

  std::int64_t countUnmet(Place job) const {
    std::int64_t unmet = 0;
    links_.eachUpstream(job, [&](EdgeCondition, Place upstream) {
      if (isOpen(upstream, jobs_[job].seq)) ++unmet;
    });
    return unmet;
  }

  std::optional<EndedAs> whyNot(Place job) const {
    std::optional<EndedAs> first;
    links_.eachUpstream(job, [&](EdgeCondition condition, Place upstream) {
      if (first || isOpen(upstream, jobs_[job].seq)) return;
      first = judgeEdge(condition, *verdicts_[upstream]);
    });
    return first;
  }

  // A verdict that its level does not know yet is no verdict: it is told later.
  void keep(Place job, JobStatus status, EndedAs ended_as) {
    const FlowJobState& state = jobs_[job];
    LevelCounts& level = levels_[links_.parentOf(job)];
    if (state.todo != FlowJobTodo::kTellVerdict) {
      verdicts_[job] = verdictOf(status, ended_as, levels_[job]);
    }
    if (!verdicts_[job]) {
      ++level.open;
      return;
    }
    const LevelCounts counted = countedAs(*verdicts_[job], ended_as, state.may_fail);
    level.failed += counted.failed;
    level.cancelled += counted.cancelled;
  }

  std::span<const FlowJobState> jobs_;
  FlowLinks links_;
  PlaceLists downstream_;  // by upstream job
  PlaceLists children_;    // by parent
  std::vector<bool> reached_;
  std::vector<bool> below_reached_;
  std::vector<Place> to_walk_;
  std::vector<std::optional<Verdict>> verdicts_;
  std::vector<LevelCounts> levels_;  // by parent
};

}  // namespace

bool isUntold(const FlowJobState& upstream, std::int64_t downstream) {
  return upstream.todo == FlowJobTodo::kTellVerdict ||
         (upstream.todo == FlowJobTodo::kTellEdges && downstream > upstream.told_to);
}

FlowRetryPlan planFlowRetry(std::span<const FlowJobState> jobs,
                            std::span<const FlowEdgeState> edges,
                            const std::optional<std::vector<std::int64_t>>& chosen) {
  RetryPlanner planner(jobs, edges);
  if (chosen) {
    planner.reach(*chosen);
  } else {
    planner.reachAll();
  }
  return planner.plan();
}

}  // namespace muster
