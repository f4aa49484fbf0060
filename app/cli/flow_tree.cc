#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "app/cli/flow_view.h"
#include "app/cli/job_note.h"

namespace muster {
namespace {

constexpr std::size_t kNamedUpstreamJobs = 4;

struct Node {
  JsonValue job;
  std::string name;
  std::string level;  // id of the parent, empty: the top level
  std::vector<std::size_t> downstream = {};
  std::size_t waits_for = 0;  // upstream jobs that are not drawn yet
  bool is_drawn = false;
  std::array<std::vector<std::string>, 3> upstream = {};  // names, by condition
};

constexpr std::array<const char*, 3> kConditions = {"after", "after_failure", "after_any"};
constexpr std::array<const char*, 3> kBeforeNames = {"", "failure of ", "any end of "};

std::string_view markOf(std::string_view status) {
  if (status == "done") return "✓";
  if (status == "poisoned") return "✗";
  if (status == "cancelled") return "–";
  if (status == "claimed") return "▶";
  return status == "blocked" ? "·" : "○";
}

// "left, right", "failure of merge", "a, b, c, d and 96 more".
std::string upstreamText(const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < kConditions.size(); ++i) {
    const auto& names = node.upstream[i];
    if (names.empty()) continue;
    text += (text.empty() ? "" : "; ") + std::string(kBeforeNames[i]);
    const std::size_t named = std::min(names.size(), kNamedUpstreamJobs);
    for (std::size_t n = 0; n < named; ++n) text += (n == 0 ? "" : ", ") + names[n];
    if (named < names.size()) text += fmt::format(" and {} more", names.size() - named);
  }
  return text;
}

class FlowGraph {
 public:
  FlowGraph(const std::vector<JsonValue>& jobs, const std::vector<JsonValue>& edges) {
    std::map<std::string, std::size_t> shown;  // by id
    for (const auto& job : jobs) {
      const std::string parent = textOf(job, "parent_id");
      shown.emplace(textOf(job, "id"), nodes_.size());
      // Children of a job that is not shown stand where there is a place for them.
      nodes_.push_back(
          {.job = job, .name = textOf(job, "name"), .level = shown.contains(parent) ? parent : ""});
      places_[{nodes_.back().level, nodes_.back().name}] = nodes_.size() - 1;
      levels_[nodes_.back().level].push_back(nodes_.size() - 1);
      by_name_[nodes_.back().name].push_back(nodes_.size() - 1);
    }
    for (const auto& edge : edges) addEdge(edge);
  }

  // Calls `draw` for the jobs of a level, upstream jobs before downstream ones and else in the
  // order of `jobs`, and with whether it is the last of them.
  void walk(const std::string& level, const std::function<void(const Node&, bool)>& draw) {
    const auto found = levels_.find(level);
    if (found == levels_.end()) return;
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (const std::size_t i : found->second) {
      if (nodes_[i].waits_for == 0) ready.push(i);
    }
    std::size_t left = found->second.size();
    const auto drawAt = [&](std::size_t at) {
      if (std::exchange(nodes_[at].is_drawn, true)) return;
      draw(nodes_[at], --left == 0);
      for (const std::size_t next : nodes_[at].downstream) {
        if (--nodes_[next].waits_for == 0) ready.push(next);
      }
    };
    // An edge that was given to the wrong job may close a circle; its jobs are drawn all the same.
    for (const std::size_t i : found->second) {
      while (!ready.empty()) {
        const std::size_t at = ready.top();
        ready.pop();
        drawAt(at);
      }
      drawAt(i);
    }
  }

 private:
  // Names are unique in a level only. Edges come in the order of their downstream jobs, so the next
  // one belongs to the first job, from the last one on, whose level has both names.
  void addEdge(JsonValue edge) {
    const std::string from = textOf(edge, "from"), to = textOf(edge, "to"),
                      when = textOf(edge, "when");
    const auto named = by_name_.find(to);
    if (named == by_name_.end()) return;
    std::optional<std::size_t> downstream, upstream;
    for (const std::size_t i : named->second) {
      if (i < last_) continue;
      if (!downstream) downstream = i;
      const auto found = places_.find({nodes_[i].level, from});
      if (found == places_.end()) continue;
      downstream = i;
      upstream = found->second;
      break;
    }
    if (!downstream) return;
    last_ = *downstream;
    const auto condition = std::find(kConditions.begin(), kConditions.end(), when);
    if (condition == kConditions.end()) return;
    nodes_[last_].upstream[static_cast<std::size_t>(condition - kConditions.begin())].push_back(
        from);
    if (!upstream) return;  // not shown
    nodes_[*upstream].downstream.push_back(last_);
    ++nodes_[last_].waits_for;
  }

  std::vector<Node> nodes_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;  // by level and name
  std::map<std::string, std::vector<std::size_t>> levels_;             // by id of the parent
  std::map<std::string, std::vector<std::size_t>> by_name_;
  std::size_t last_ = 0;  // the downstream job of the edge before
};

class TreeTable {
 public:
  TreeTable(FlowGraph& graph, const std::optional<Time>& now) : graph_(graph), now_(now) {}

  Table draw() && {
    addLevel("", "");
    return std::move(table_);
  }

 private:
  // `indent` stands before each of the level's lines.
  void addLevel(const std::string& level, const std::string& indent) {
    const bool top = level.empty();
    graph_.walk(level, [&](const Node& node, bool is_last) {
      addJob(node, indent + (top ? "" : is_last ? "└ " : "├ "));
      addLevel(textOf(node.job, "id"), indent + (top || is_last ? "  " : "│ "));
    });
  }

  void addJob(const Node& node, const std::string& before) {
    const std::string status = textOf(node.job, "status");
    const Tint tint = tintOfStatus(status);
    std::string note = jobNote(node.job, now_);
    if (textOf(node.job, "may_fail") == "true") note += note.empty() ? "may fail" : ", may fail";
    table_.add({Cell(fmt::format("{}{} {}", before, markOf(status), node.name), tint),
                textOf(node.job, "pool_id"), Cell(status, tint), upstreamText(node), note});
  }

  FlowGraph& graph_;
  const std::optional<Time>& now_;
  Table table_{{{.title = "JOB"},
                {.title = "POOL", .can_shrink = true},
                {.title = "STATUS"},
                {.title = "AFTER", .can_shrink = true},
                {.title = "NOTE", .can_shrink = true}}};
};

}  // namespace

Table flowTree(const std::vector<JsonValue>& jobs, const std::vector<JsonValue>& edges,
               const std::optional<Time>& now) {
  FlowGraph graph(jobs, edges);
  return TreeTable(graph, now).draw();
}

}  // namespace muster
