#include "models/policy/flow_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

// "merge: left right" is a job after two others; "!left" is an after_failure edge, "~left" an
// after_any one.
NewFlowJob jobOf(const std::string& text) {
  NewFlowJob job;
  std::size_t counts[3] = {};
  const std::size_t colon = text.find(':');
  job.name = text.substr(0, colon);
  std::istringstream in(colon == std::string::npos ? "" : text.substr(colon + 1));
  for (std::string from; in >> from;) {
    const auto when = from[0] == '!'   ? EdgeCondition::kAfterFailure
                      : from[0] == '~' ? EdgeCondition::kAfterAny
                                       : EdgeCondition::kAfter;
    if (when != EdgeCondition::kAfter) from.erase(0, 1);
    job.edges.push_back({from, when, counts[static_cast<int>(when)]++});
  }
  return job;
}

std::vector<NewFlowJob> jobsOf(const Lines& lines) {
  std::vector<NewFlowJob> jobs;
  for (const std::string& line : lines) jobs.push_back(jobOf(line));
  return jobs;
}

Lines linesOf(const std::vector<FieldError>& faults) {
  Lines lines;
  for (const FieldError& fault : faults) lines.push_back(fault.pointer + " " + fault.code);
  return lines;
}

Lines faultsOf(const Lines& jobs) { return linesOf(flowGraphFaults(jobsOf(jobs))); }

std::string circleIn(const std::vector<NewFlowJob>& jobs) {
  const auto faults = flowGraphFaults(jobs);
  if (faults.size() != 1 || faults[0].code != "cycle") return "no circle";
  const std::size_t begin = faults[0].detail.find(": ") + 2;
  return faults[0].detail.substr(begin, faults[0].detail.find(';') - begin);
}

TEST(FlowGraph, without_circles_has_no_fault) {
  EXPECT_EQ(faultsOf({}), Lines{});
  EXPECT_EQ(faultsOf({"a"}), Lines{});
  EXPECT_EQ(
      faultsOf({"fetch", "left: fetch", "right: fetch", "merge: left right", "alarm: !merge"}),
      Lines{});
  EXPECT_EQ(faultsOf({"merge: left right", "left: fetch", "right: fetch", "fetch"}), Lines{})
      << "edges point both ways in the list";
  EXPECT_EQ(faultsOf({"a: there before", "b: a there"}), Lines{}) << "such jobs may exist already";
}

TEST(FlowGraph, names_the_jobs_of_a_circle_in_their_order) {
  struct Case {
    Lines jobs;
    std::string circle, pointer;
  };
  const Case cases[] = {
      {{"a: a"}, "a → a", "/jobs/0/after/0"},
      {{"a: b", "b: a"}, "a → b → a", "/jobs/0/after/0"},
      {{"x", "b: x ~c", "c: d", "d: !b"}, "b → d → c → b", "/jobs/1/after_any/0"},
      {{"a: c", "b: a", "c: b"}, "a → b → c → a", "/jobs/0/after/0"},
      {{"z: m", "m: k", "k: z y", "y: m"}, "z → k → m → z", "/jobs/0/after/0"},
      {{"e: d", "d: c", "c: d"}, "d → c → d", "/jobs/1/after/0"},
  };
  for (const Case& each : cases) {
    const auto jobs = jobsOf(each.jobs);
    EXPECT_EQ(circleIn(jobs), each.circle);
    EXPECT_EQ(linesOf(flowGraphFaults(jobs)), Lines{each.pointer + " cycle"});
  }
}

TEST(FlowGraph, names_the_beginning_of_a_long_circle) {
  std::vector<NewFlowJob> jobs;
  for (int i = 0; i < 1000; ++i) {
    jobs.push_back(jobOf("j" + std::to_string(i) + ": j" + std::to_string((i + 999) % 1000)));
  }
  const std::string circle = circleIn(jobs);
  EXPECT_TRUE(circle.starts_with("j0 → j1 → j2 → ")) << circle;
  EXPECT_TRUE(circle.ends_with("j19 → 980 more → j0")) << circle;
}

TEST(FlowGraph, a_name_stands_once_in_a_level_and_in_the_lists_of_a_job) {
  EXPECT_EQ(faultsOf({"a", "b", "a", "a: b"}),
            (Lines{"/jobs/2/name duplicate_name", "/jobs/3/name duplicate_name"}));
  EXPECT_EQ(faultsOf({"a", "b", "c: a b a", "d: a !a", "e: ~b b ~b"}),
            (Lines{"/jobs/2/after/2 duplicate_name", "/jobs/3/after_failure/0 duplicate_name",
                   "/jobs/4/after/0 duplicate_name", "/jobs/4/after_any/1 duplicate_name"}));
  EXPECT_EQ(faultsOf({"a", "b: a", "c: a"}), Lines{}) << "of another job it is another edge";
  EXPECT_EQ(faultsOf({"", "", "a"}), Lines{}) << "a name that is missing is another fault";
}

TEST(FlowGraph, a_request_has_so_many_edges) {
  std::vector<NewFlowJob> jobs(102);
  for (std::size_t i = 0; i < 100; ++i) jobs[i].name = "j" + std::to_string(i);
  for (std::size_t i = 0; i < 100; ++i) jobs[100].edges.push_back({jobs[i].name});
  for (std::size_t i = 0; i < kMostFlowEdges - 100; ++i) {
    jobs[101].edges.push_back({"other" + std::to_string(i), EdgeCondition::kAfterAny, i});
  }
  EXPECT_EQ(linesOf(flowGraphFaults(jobs)), Lines{});
  jobs[101].edges.push_back({"one", EdgeCondition::kAfter, 3});
  jobs[101].edges.push_back({"two", EdgeCondition::kAfter, 4});
  EXPECT_EQ(linesOf(flowGraphFaults(jobs)), Lines{"/jobs/101/after/3 too_many_edges"});
}

TEST(FlowGraph, an_unknown_upstream_job_is_a_fault_of_its_edge) {
  const auto jobs = jobsOf({"a: b", "b: old", "c: a !gone ~lost old"});
  EXPECT_EQ(linesOf(unknownDependencies(jobs, [](std::string_view name) { return name == "old"; })),
            (Lines{"/jobs/2/after_failure/0 unknown_dependency",
                   "/jobs/2/after_any/0 unknown_dependency"}));
  EXPECT_EQ(linesOf(unknownDependencies(jobs, [](std::string_view) { return false; })).size(), 4U);
}

// Takes away jobs that wait for no other one, as long as there are any.
bool hasCircleNaively(std::vector<NewFlowJob> jobs) {
  for (bool taken = true; taken;) {
    taken = false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto waits_for = [&](const auto& edge) {
        return std::any_of(jobs.begin(), jobs.end(),
                           [&](const NewFlowJob& job) { return job.name == edge.from; });
      };
      if (std::none_of(jobs[i].edges.begin(), jobs[i].edges.end(), waits_for)) {
        jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i));
        taken = true;
        break;
      }
    }
  }
  return !jobs.empty();
}

bool hasEdge(const std::vector<NewFlowJob>& jobs, const std::string& from, const std::string& to) {
  for (const NewFlowJob& job : jobs) {
    if (job.name != to) continue;
    for (const auto& edge : job.edges) {
      if (edge.from == from) return true;
    }
  }
  return false;
}

Lines namesIn(const std::string& circle) {
  Lines names;
  std::istringstream in(circle);
  for (std::string word; in >> word;) {
    if (word != "→") names.push_back(word);
  }
  return names;
}

TEST(FlowGraph, finds_a_circle_exactly_when_there_is_one) {
  std::mt19937 random(7);
  int circles = 0;
  for (int round = 0; round < 2000; ++round) {
    const int size = 1 + static_cast<int>(random() % 8);
    std::vector<NewFlowJob> jobs(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) jobs[static_cast<std::size_t>(i)].name = std::to_string(i);
    for (NewFlowJob& job : jobs) {
      for (int from = 0; from < size; ++from) {
        if (random() % 8 == 0) job.edges.push_back({std::to_string(from), {}, job.edges.size()});
      }
    }
    const bool has_circle = hasCircleNaively(jobs);
    const std::string circle = circleIn(jobs);
    ASSERT_EQ(circle != "no circle", has_circle) << "round " << round;
    if (!has_circle) continue;
    ++circles;
    const Lines names = namesIn(circle);
    ASSERT_GE(names.size(), 2U) << circle;
    EXPECT_EQ(names.front(), names.back()) << circle;
    for (std::size_t i = 1; i < names.size(); ++i) {
      EXPECT_TRUE(hasEdge(jobs, names[i - 1], names[i])) << circle;
    }
  }
  EXPECT_GT(circles, 300);
}

}  // namespace
}  // namespace muster
