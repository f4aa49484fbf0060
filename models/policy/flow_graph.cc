#include "models/policy/flow_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace muster {
namespace {

// So many jobs of a circle are named; a fault is to be read by a person.
constexpr std::size_t kMostNamedInCircle = 20;

std::string edgePointer(std::size_t job, const NewFlowJob::Edge& edge) {
  return fmt::format("/jobs/{}/{}/{}", job, name(edge.when), edge.index);
}

// Which job of the request has which name; the first, where several have it.
using JobsByName = std::unordered_map<std::string_view, std::size_t>;

JobsByName jobsByName(std::span<const NewFlowJob> jobs) {
  JobsByName found;
  found.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].name.empty()) found.emplace(jobs[i].name, i);
  }
  return found;
}

// A depth-first walk from downstream to upstream jobs, without recursion: a chain may be long.
class CircleSearch {
 public:
  CircleSearch(std::span<const NewFlowJob> jobs, const JobsByName& by_name)
      : jobs_(jobs), by_name_(by_name), states_(jobs.size(), State::kNew) {}

  // The jobs of a circle, each upstream of the next one; empty when there is none. The job that
  // stands first in the request comes first.
  std::vector<std::size_t> run() {
    for (std::size_t start = 0; start < jobs_.size(); ++start) {
      if (states_[start] == State::kNew) walk(start);
      if (!circle_.empty()) break;
    }
    std::reverse(circle_.begin(), circle_.end());
    std::rotate(circle_.begin(), std::min_element(circle_.begin(), circle_.end()), circle_.end());
    return std::move(circle_);
  }

 private:
  enum class State : std::uint8_t { kNew, kOnPath, kLeft };
  struct Step {
    std::size_t job;
    std::size_t next_edge;
  };

  void enter(std::size_t job) {
    states_[job] = State::kOnPath;
    path_.push_back({job, 0});
  }

  void walk(std::size_t start) {
    enter(start);
    while (!path_.empty()) {
      Step& step = path_.back();
      const auto& edges = jobs_[step.job].edges;
      if (step.next_edge == edges.size()) {
        states_[step.job] = State::kLeft;
        path_.pop_back();
        continue;
      }
      const auto upstream = by_name_.find(edges[step.next_edge++].from);
      if (upstream == by_name_.end()) continue;  // it is there already, or unknown
      if (states_[upstream->second] == State::kNew) {
        enter(upstream->second);
      } else if (states_[upstream->second] == State::kOnPath) {
        takeCircle(upstream->second);
        return;
      }
    }
  }

  void takeCircle(std::size_t first) {
    auto step = std::find_if(path_.begin(), path_.end(),
                             [&](const Step& on_path) { return on_path.job == first; });
    for (; step != path_.end(); ++step) circle_.push_back(step->job);
  }

  std::span<const NewFlowJob> jobs_;
  const JobsByName& by_name_;
  std::vector<State> states_;
  std::vector<Step> path_;
  std::vector<std::size_t> circle_;
};

FieldError circleFault(std::span<const NewFlowJob> jobs, const std::vector<std::size_t>& circle) {
  std::string names;
  for (std::size_t i = 0; i < std::min(circle.size(), kMostNamedInCircle); ++i) {
    names += jobs[circle[i]].name + " → ";
  }
  if (circle.size() > kMostNamedInCircle)
    names += fmt::format("{} more → ", circle.size() - kMostNamedInCircle);
  names += jobs[circle.front()].name;
  const auto& edges = jobs[circle.front()].edges;
  const auto closing = std::find_if(edges.begin(), edges.end(), [&](const auto& edge) {
    return edge.from == jobs[circle.back()].name;
  });
  return {edgePointer(circle.front(), *closing), "cycle",
          fmt::format("these jobs wait for each other: {}; remove one of the edges", names)};
}

}  // namespace

std::vector<FieldError> flowGraphFaults(std::span<const NewFlowJob> jobs) {
  std::vector<FieldError> faults;
  const JobsByName by_name = jobsByName(jobs);
  // By name: the job whose lists had it last.
  std::unordered_map<std::string_view, std::size_t> named_by;
  std::size_t edges = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const NewFlowJob& job = jobs[i];
    if (!job.name.empty() && by_name.at(job.name) != i) {
      faults.push_back({fmt::format("/jobs/{}/name", i), "duplicate_name",
                        fmt::format("is the name of /jobs/{} already", by_name.at(job.name))});
    }
    for (const auto& edge : job.edges) {
      if (++edges == kMostFlowEdges + 1) {
        faults.push_back({edgePointer(i, edge), "too_many_edges",
                          fmt::format("is one too many: a request has at most {} names in after, "
                                      "after_failure and after_any; send the rest of the jobs in "
                                      "another one",
                                      kMostFlowEdges)});
      }
      const auto [seen, added] = named_by.try_emplace(edge.from, i);
      if (!added && std::exchange(seen->second, i) == i) {
        faults.push_back({edgePointer(i, edge), "duplicate_name",
                          "stands in a list of this job already; name it once"});
      }
    }
    for (std::size_t k = 0; k < job.inputs.size(); ++k) {
      const std::string& from = job.inputs[k].from;
      const bool is_upstream = std::any_of(job.edges.begin(), job.edges.end(),
                                           [&](const auto& edge) { return edge.from == from; });
      if (is_upstream || from.empty()) continue;
      faults.push_back({fmt::format("/jobs/{}/inputs/{}/from", i, k), "unknown_dependency",
                        fmt::format("{} is in no list of what the job waits for", from)});
    }
  }
  const auto circle = CircleSearch(jobs, by_name).run();
  if (!circle.empty()) faults.push_back(circleFault(jobs, circle));
  return faults;
}

std::vector<FieldError> unknownDependencies(std::span<const NewFlowJob> jobs,
                                            const std::function<bool(std::string_view)>& exists) {
  std::vector<FieldError> faults;
  const JobsByName by_name = jobsByName(jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (const auto& edge : jobs[i].edges) {
      if (by_name.contains(edge.from) || exists(edge.from)) continue;
      faults.push_back({edgePointer(i, edge), "unknown_dependency",
                        fmt::format("no job of this level has the name {}", edge.from)});
    }
  }
  return faults;
}

}  // namespace muster
