#include "models/policy/flow_start.h"

#include <string>
#include <unordered_map>
#include <utility>

namespace muster {
namespace {

class Starter {
 public:
  Starter(std::span<const NewFlowJob> jobs,
          const std::function<std::optional<Verdict>(std::string_view)>& known)
      : jobs_(jobs), known_(known), starts_(jobs.size()), is_started_(jobs.size()) {
    for (std::size_t i = 0; i < jobs.size(); ++i) places_.emplace(jobs[i].name, i);
  }

  std::vector<FlowJobStart> all() {
    for (std::size_t i = 0; i < jobs_.size(); ++i) startAfterUpstream(i);
    return std::move(starts_);
  }

 private:
  // Its upstream jobs first; a list in place of calls, since a chain may be long.
  void startAfterUpstream(std::size_t job) {
    std::vector<std::pair<std::size_t, std::size_t>> path{{job, 0}};  // and the next edge
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (!is_started_[at] && next < jobs_[at].edges.size()) {
        const auto upstream = places_.find(jobs_[at].edges[next++].from);
        if (upstream != places_.end() && !is_started_[upstream->second]) {
          path.emplace_back(upstream->second, 0);
        }
        continue;
      }
      if (!is_started_[at]) start(at);
      path.pop_back();
    }
  }

  void start(std::size_t job) {
    FlowJobStart& start = starts_[job];
    for (const NewFlowJob::Edge& edge : jobs_[job].edges) {
      const auto verdict = verdictFrom(edge.from);
      if (!verdict) {
        ++start.remaining;
      } else if (const auto cancelled = judgeEdge(edge.when, *verdict);
                 cancelled && start.ended_as == EndedAs::kItself) {
        start.ended_as = *cancelled;
      }
    }
    is_started_[job] = true;
  }

  std::optional<Verdict> verdictFrom(const std::string& name) const {
    const auto among = places_.find(name);
    if (among == places_.end()) return known_(name);
    const FlowJobStart& start = starts_[among->second];
    if (start.ended_as == EndedAs::kItself) return std::nullopt;
    return verdictOf(JobStatus::kCancelled, start.ended_as, {});
  }

  std::span<const NewFlowJob> jobs_;
  const std::function<std::optional<Verdict>(std::string_view)>& known_;
  std::unordered_map<std::string_view, std::size_t> places_;
  std::vector<FlowJobStart> starts_;
  std::vector<bool> is_started_;
};

}  // namespace

std::vector<FlowJobStart> startFlowJobs(
    std::span<const NewFlowJob> jobs,
    const std::function<std::optional<Verdict>(std::string_view)>& known) {
  return Starter(jobs, known).all();
}

}  // namespace muster
