#include "models/store/sql/flow_inputs.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/json/flow_json.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/resource_rows.h"

namespace muster {
namespace {

constexpr Sql kInputsOf{
    "SELECT f.seq, f.inputs, f.may_fail, w.fail_fast, w.cause FROM /*numbers $1*/ d "
    "CROSS JOIN flow_jobs f CROSS JOIN flows w "
    "WHERE f.seq = d.c0 AND f.inputs IS NOT NULL AND w.flow_seq = f.flow_seq"};
// Of upstream jobs with these names, and of their children.
#define MUSTER_UPSTREAM_ARTIFACTS(child, join, of)                                      \
  "SELECT " MUSTER_RESOURCE_COLUMNS ", d.c0, u.name, " child                            \
  ", a.name FROM /*numbers $1*/ d CROSS JOIN flow_edges e CROSS JOIN flow_jobs u " join \
  "CROSS JOIN jobs j CROSS JOIN artifacts a CROSS JOIN resources r "                    \
  "WHERE e.downstream_seq = d.c0 AND u.seq = e.upstream_seq "                           \
  "AND u.name IN (SELECT c0 FROM /*texts $2*/ n) AND " of                               \
  " AND j.status IN ('done', 'poisoned') AND a.job_seq = j.seq AND r.resource_seq = "   \
  "a.resource_seq"
constexpr Sql kUpstreamArtifacts{
    MUSTER_UPSTREAM_ARTIFACTS("''", "", "j.seq = u.seq") " UNION ALL " MUSTER_UPSTREAM_ARTIFACTS(
        "c.name", "CROSS JOIN flow_jobs c ",
        "c.flow_seq = u.flow_seq AND "
        "c.parent_seq = u.seq AND "
        "j.seq = c.seq")};
constexpr int kForColumn = 31;  // then the upstream job, the child, and the artifact

}  // namespace

std::map<std::int64_t, FlowInputs::Found> FlowInputs::find(std::span<const JobRow> rows) {
  std::map<std::int64_t, Found> found;
  std::map<std::int64_t, std::string_view> tenants;
  std::vector<std::int64_t> jobs;
  for (const JobRow& row : rows) {
    if ((row.links & job_link::kHasInputs) == 0) continue;
    jobs.push_back(row.seq);
    tenants.emplace(row.seq, row.job.tenant);
  }
  if (jobs.empty()) return found;
  const std::string list = numberList(jobs);
  std::map<std::int64_t, std::vector<NewFlowJob::Input>> inputs;
  std::set<std::string> names;
  {
    auto read = s_.db.query(kInputsOf, list);
    while (read.next()) {
      auto& of_job = inputs[read->integer(0)] = parseFlowInputs(read->text(1));
      for (const NewFlowJob::Input& input : of_job) names.insert(input.from);
      found[read->integer(0)].ends_flow =
          read->integer(2) == 0 && read->integer(3) != 0 && read->text(4).empty();
    }
  }
  std::map<std::int64_t, std::vector<UpstreamArtifact>> artifacts;
  {
    const std::vector<std::string> wanted(names.begin(), names.end());
    auto read = s_.db.query(kUpstreamArtifacts, list, textList(wanted));
    while (read.next()) {
      const std::int64_t job = read->integer(kForColumn);
      const ResourceRow row = ResourceRows::read(*read);
      artifacts[job].push_back({read->string(kForColumn + 1), read->string(kForColumn + 2),
                                read->string(kForColumn + 3), row.seq,
                                refFault(row.resource, tenants.at(job), s_.now)});
    }
  }
  for (auto& [job, of_job] : inputs) {
    auto& there = artifacts[job];
    std::sort(there.begin(), there.end(), [](const auto& a, const auto& b) {
      return std::tie(a.from, a.child, a.name) < std::tie(b.from, b.child, b.name);
    });
    found[job].refs = refsOfInputs(of_job, there);
  }
  return found;
}

void FlowInputs::give(std::span<JobRow> rows) {
  const auto found = find(rows);
  for (JobRow& row : rows) {
    const auto inputs = found.find(row.seq);
    if (inputs == found.end()) continue;
    const InputRefs& refs = inputs->second.refs;
    if (refs.reason.empty()) {
      ResourceRefs(s_).addInputs(row.seq, refs.refs);
    } else {
      Jobs(s_).poisonWaiting(row, refs.reason);
    }
  }
}

}  // namespace muster
