#include "tests/store/flow_recount.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/flow.h"
#include "models/policy/flow_retry.h"
#include "models/store/store.h"

namespace muster::test {
namespace {

constexpr Sql kFlowRows{
    "SELECT flow_seq, flow_id, status, closed, total, blocked, done, poisoned, cancelled, "
    "top_open, top_failed, top_cancelled, todo FROM flows ORDER BY flow_seq"};
constexpr Sql kFlowJobRows{
    "SELECT f.seq, f.flow_seq, f.parent_seq, f.name, f.may_fail, f.remaining, f.children_open, "
    "f.children_failed, f.children_cancelled, f.ended_as, f.todo, f.told_to, j.status, j.links, "
    "f.depth "
    "FROM flow_jobs f LEFT JOIN jobs j ON j.seq = f.seq ORDER BY f.seq"};
constexpr Sql kEdgeRows{
    "SELECT upstream_seq, downstream_seq, condition FROM flow_edges "
    "ORDER BY downstream_seq, upstream_seq"};

// Of flows.todo.
constexpr std::int64_t kRetry = 3, kRemove = 4;

struct FlowRow {
  std::string id, status;
  bool closed = false;
  FlowCounts counts;
  LevelCounts top;
  std::int64_t todo = 0;
};
struct MemberRow {
  std::int64_t flow = 0, depth = 0;
  FlowJobState state;
  std::string name;
  LevelCounts children;
  std::optional<JobStatus> status;
  std::int64_t links = 0;
};

std::string text(const LevelCounts& counts) {
  return fmt::format("open {} failed {} cancelled {}", counts.open, counts.failed,
                     counts.cancelled);
}
std::string text(const FlowCounts& counts) {
  return fmt::format("total {} blocked {} done {} poisoned {} cancelled {}", counts.total,
                     counts.blocked, counts.done, counts.poisoned, counts.cancelled);
}

class Recount {
 public:
  explicit Recount(Store& store) {
    readFlows(store);
    readMembers(store);
    auto rows = store.session.db.query(kEdgeRows);
    while (rows.next()) {
      edges_.push_back(
          {rows->integer(0), rows->integer(1), static_cast<EdgeCondition>(rows->integer(2))});
    }
  }

  std::vector<std::string> faults() {
    judgeAll();
    for (const auto& [seq, flow] : flows_) checkFlow(seq, flow);
    for (const auto& [seq, member] : members_) {
      if (!steady(member)) continue;
      LevelCounts meant = levels_[seq];
      // A job with children counts itself until it has ended.
      if (parents_.contains(seq) && member.status && !isFinished(*member.status)) ++meant.open;
      same(where(seq), "children", text(member.children), text(meant));
    }
    checkEdges();
    return std::move(faults_);
  }

 private:
  void readFlows(Store& store) {
    auto rows = store.session.db.query(kFlowRows);
    while (rows.next()) {
      FlowRow& flow = flows_[rows->integer(0)];
      flow.id = rows->string(1);
      flow.status = rows->string(2);
      flow.closed = rows->integer(3) != 0;
      flow.counts = {rows->integer(4), rows->integer(5), rows->integer(6), rows->integer(7),
                     rows->integer(8)};
      flow.top = {rows->integer(9), rows->integer(10), rows->integer(11)};
      flow.todo = rows->integer(12);
    }
  }
  void readMembers(Store& store) {
    auto rows = store.session.db.query(kFlowJobRows);
    while (rows.next()) {
      MemberRow& member = members_[rows->integer(0)];
      member.flow = rows->integer(1);
      member.name = rows->string(3);
      FlowJobState& state = member.state;
      state.seq = rows->integer(0);
      state.parent = rows->integer(2);
      state.may_fail = rows->integer(4) != 0;
      state.remaining = rows->integer(5);
      if (state.parent != 0) parents_.insert(state.parent);
      member.children = {rows->integer(6), rows->integer(7), rows->integer(8)};
      state.ended_as = static_cast<EndedAs>(rows->integer(9));
      state.todo = static_cast<FlowJobTodo>(rows->integer(10));
      state.told_to = rows->integer(11);
      member.depth = rows->integer(14);
      state.status = JobStatus::kCancelled;  // of a job that is gone; ended_as says more
      if (rows->isNull(12)) continue;
      member.status = parseJobStatus(rows->text(12));
      state.status = *member.status;
      member.links = rows->isNull(13) ? 0 : rows->integer(13);
    }
  }

  // Children are judged before their parents.
  void judgeAll() {
    std::vector<std::int64_t> order;
    for (const auto& [seq, member] : members_) order.push_back(seq);
    std::sort(order.begin(), order.end(), [this](std::int64_t a, std::int64_t b) {
      return members_[a].depth > members_[b].depth;
    });
    for (const std::int64_t seq : order) {
      const MemberRow& row = members_[seq];
      const FlowJobState& state = row.state;
      verdicts_[seq] = verdictOf(state.status, state.ended_as, levels_[seq]);
      LevelCounts& level = levelOf(row);
      if (!verdicts_[seq] || state.todo == FlowJobTodo::kTellVerdict) {
        ++level.open;
        continue;
      }
      const LevelCounts one = countedAs(*verdicts_[seq], state.ended_as, state.may_fail);
      level.failed += one.failed;
      level.cancelled += one.cancelled;
    }
  }
  LevelCounts& levelOf(const MemberRow& row) {
    return row.state.parent != 0 ? levels_[row.state.parent] : tops_[row.flow];
  }

  void checkFlow(std::int64_t seq, const FlowRow& flow) {
    if (flow.todo == kRemove) return;
    FlowCounts counts;
    bool waits = false, settled = flow.todo == 0;
    for (const auto& [number, member] : members_) {
      if (member.flow != seq) continue;
      ++counts.total;
      settled = settled && member.state.todo == FlowJobTodo::kNothing;
      waits = waits || (member.status && isWaiting(*member.status));
      counts.blocked += member.status == JobStatus::kBlocked;
      counts.done += endedWith(member, JobStatus::kDone, EndedAs::kGoneDone);
      counts.poisoned += endedWith(member, JobStatus::kPoisoned, EndedAs::kGonePoisoned);
      counts.cancelled += endedWith(member, JobStatus::kCancelled, EndedAs::kGoneCancelled) ||
                          (!member.status && isConsequence(member.state.ended_as));
    }
    const std::string place = "flow " + flow.id;
    same(place, "counts", text(flow.counts), text(counts));
    if (flow.todo == kRetry) return;
    same(place, "top level", text(flow.top), text(tops_[seq]));
    if (!settled) return;
    const bool ended = isEnded(parseFlowStatus(flow.status).value());
    const bool over = flow.closed && tops_[seq].open == 0;
    if (ended != over) {
      faults_.push_back(place + " is " + flow.status +
                        (over ? ", and all has ended" : ", too soon"));
    }
    if (flow.status == "cancelling" && waits) {
      faults_.push_back(place + " is cancelling, and a job of it still waits to begin");
    }
  }
  static bool endedWith(const MemberRow& member, JobStatus status, EndedAs gone) {
    return member.status ? *member.status == status : member.state.ended_as == gone;
  }

  void checkEdges() {
    std::map<std::int64_t, std::int64_t> remaining;
    for (const FlowEdgeState& edge : edges_) {
      const MemberRow& up = members_[edge.upstream];
      const MemberRow& down = members_[edge.downstream];
      if (up.flow != down.flow || up.state.parent != down.state.parent) {
        faults_.push_back("an edge leaves its level: " + where(edge.upstream) + " to " +
                          where(edge.downstream));
      }
      if (up.status) needsLink(edge.upstream, up, job_link::kHasDownstream);
      if (!down.status) continue;
      needsLink(edge.downstream, down, job_link::kHasUpstream);
      if (*down.status != JobStatus::kBlocked || !steady(down)) continue;
      const auto verdict = verdicts_[edge.upstream];
      if (!verdict || isUntold(up.state, edge.downstream)) {
        ++remaining[edge.downstream];
      } else if (judgeEdge(edge.condition, *verdict)) {
        faults_.push_back(where(edge.downstream) + " waits for " + where(edge.upstream) +
                          ", which is told to have " + std::string(name(*verdict)));
      }
    }
    for (const auto& [seq, member] : members_) {
      if (member.status && member.state.parent != 0 && members_[member.state.parent].status) {
        needsLink(member.state.parent, members_[member.state.parent], job_link::kHasChildren);
      }
      if (member.status != JobStatus::kBlocked || !steady(member)) continue;
      same(where(seq), "remaining", std::to_string(member.state.remaining),
           std::to_string(remaining[seq]));
      if (remaining[seq] == 0) faults_.push_back(where(seq) + " is blocked by nothing");
    }
  }
  void needsLink(std::int64_t seq, const MemberRow& member, std::int64_t link) {
    if ((member.links & link) == 0 || (member.links & job_link::kInFlow) == 0) {
      faults_.push_back(fmt::format("{} has links {} without {}", where(seq), member.links, link));
    }
  }

  // Nothing of its flow is under way that counts anew.
  bool steady(const MemberRow& member) {
    const auto todo = flows_[member.flow].todo;
    return todo != kRetry && todo != kRemove;
  }
  std::string where(std::int64_t seq) {
    const MemberRow& member = members_[seq];
    return fmt::format("job {} ({}) of flow {}", member.name, seq, flows_[member.flow].id);
  }
  void same(const std::string& place, const std::string& what, const std::string& counted,
            const std::string& meant) {
    if (counted == meant) return;
    faults_.push_back(place + ": " + what + " counted as " + counted + ", and is " + meant);
  }

  std::map<std::int64_t, FlowRow> flows_;
  std::map<std::int64_t, MemberRow> members_;
  std::vector<FlowEdgeState> edges_;
  std::map<std::int64_t, std::optional<Verdict>> verdicts_;
  std::map<std::int64_t, LevelCounts> levels_, tops_;
  std::set<std::int64_t> parents_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> flowCounterFaults(Store& store) { return Recount(store).faults(); }

}  // namespace muster::test
