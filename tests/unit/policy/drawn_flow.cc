#include "tests/unit/policy/drawn_flow.h"

#include <algorithm>
#include <sstream>
#include <tuple>

namespace muster::test {
namespace {

void setStatus(FlowJobState& job, const std::string& word) {
  static const std::map<std::string, std::pair<JobStatus, EndedAs>> kSpecial = {
      {"upstream_failed", {JobStatus::kCancelled, EndedAs::kUpstreamFailed}},
      {"upstream_cancelled", {JobStatus::kCancelled, EndedAs::kUpstreamCancelled}},
      {"not_needed", {JobStatus::kCancelled, EndedAs::kNotNeeded}},
      {"gone_done", {JobStatus::kPending, EndedAs::kGoneDone}},
      {"gone_poisoned", {JobStatus::kPending, EndedAs::kGonePoisoned}},
      {"gone_cancelled", {JobStatus::kPending, EndedAs::kGoneCancelled}}};
  const auto special = kSpecial.find(word);
  if (special != kSpecial.end()) {
    std::tie(job.status, job.ended_as) = special->second;
  } else {
    job.status = parseJobStatus(word).value();
  }
}

}  // namespace

DrawnFlow draw(const Lines& lines) {
  DrawnFlow flow;
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find_first_of(" :"));
    const auto number = static_cast<std::int64_t>(flow.numbers.size()) + 1;
    flow.numbers[name] = number;
    flow.names[number] = name;
  }
  for (const std::string& line : lines) {
    FlowJobState& job = flow.jobs.emplace_back();
    job.seq = static_cast<std::int64_t>(flow.jobs.size());
    const std::string& name = flow.names[job.seq];
    const std::size_t slash = name.rfind('/');
    if (slash != std::string::npos) job.parent = flow.numbers.at(name.substr(0, slash));
    const std::size_t colon = line.find(':');
    std::istringstream words(line.substr(name.size(), colon - name.size()));
    for (std::string word; words >> word;) {
      if (word == "may_fail") {
        job.may_fail = true;
      } else if (word == "tells_verdict") {
        job.todo = FlowJobTodo::kTellVerdict;
      } else if (word == "put_back") {
        job.todo = FlowJobTodo::kPutBack;
      } else if (word.starts_with("told_to=")) {
        job.todo = FlowJobTodo::kTellEdges;
        job.told_to = flow.numbers.at(word.substr(8));
      } else if (word.starts_with("remaining=")) {
        job.remaining = std::stoll(word.substr(10));
      } else {
        setStatus(job, word);
      }
    }
    std::istringstream upstream(colon == std::string::npos ? "" : line.substr(colon + 1));
    for (std::string from; upstream >> from;) {
      const auto when = from[0] == '!'   ? EdgeCondition::kAfterFailure
                        : from[0] == '~' ? EdgeCondition::kAfterAny
                                         : EdgeCondition::kAfter;
      if (when != EdgeCondition::kAfter) from.erase(0, 1);
      flow.edges.push_back({flow.numbers.at(from), job.seq, when});
    }
  }
  const auto order = [](const FlowEdgeState& edge) {
    return std::pair(edge.downstream, edge.upstream);
  };
  std::sort(flow.edges.begin(), flow.edges.end(),
            [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return flow;
}

std::string levelText(const std::string& name, const LevelCounts& level) {
  return name + ": " + std::to_string(level.open) + " open, " + std::to_string(level.failed) +
         " failed, " + std::to_string(level.cancelled) + " cancelled";
}

Lines described(const FlowRetryPlan& plan, const DrawnFlow& flow) {
  std::map<std::int64_t, std::string> jobs;
  for (const auto& [seq, remaining] : plan.put_back) {
    jobs[seq] += remaining == 0 ? " pending" : " blocked by " + std::to_string(remaining);
  }
  for (const auto& [seq, remaining] : plan.recounted) {
    jobs[seq] += " still blocked, by " + std::to_string(remaining);
  }
  for (const auto& [seq, ended_as] : plan.cancelled_again) {
    jobs[seq] += " again " + std::string(reasonOf(ended_as));
  }
  Lines lines;
  for (const auto& [seq, text] : jobs) lines.push_back(flow.names.at(seq) + text);
  for (const auto& level : plan.levels) {
    lines.push_back(levelText(flow.names.at(level.parent), level.counts));
  }
  return lines;
}

}  // namespace muster::test
