#include "models/store/sql/flow_adding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "models/json/flow_json.h"
#include "models/json/job_json.h"
#include "models/json/json_writer.h"
#include "models/policy/flow_graph.h"
#include "models/policy/flow_start.h"
#include "models/store/sql/flow_inputs.h"
#include "models/store/sql/jobs.h"
#include "models/store/sql/pins.h"
#include "models/store/sql/pools.h"
#include "models/store/sql/sql_array.h"

namespace muster {
namespace {

constexpr Sql kInsertFlow{
    "INSERT INTO flows (flow_seq, flow_id, name, tenant, priority, status, cause, reason, closed, "
    "round, fail_fast, deadline_at, callbacks, metadata, pools, created_at, began_at, version, "
    "total, blocked, done, poisoned, cancelled, top_open, top_failed, top_cancelled, todo, "
    "todo_after) VALUES ($1, $2, $3, $4, $5, 'running', '', '', $6, 1, $7, $8, $9, $10, '', $11, "
    "$11, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)"};
constexpr Sql kDepthOf{"SELECT depth FROM flow_jobs WHERE seq = $1"};
#define MUSTER_KNOWN_JOBS(join)                                                            \
  "SELECT f.name, f.seq, j.id, j.status, f.ended_as, f.children_open, f.children_failed, " \
  "f.children_cancelled, f.todo, f.body_hash FROM /*texts $3*/ d " join                    \
  "LEFT JOIN jobs j ON j.seq = f.seq "
#define MUSTER_IS_KNOWN "f.flow_seq = $1 AND f.parent_seq = $2 AND f.name = d.c0"
constexpr Sql kKnownJobs{MUSTER_KNOWN_JOBS("CROSS JOIN flow_jobs f ") "WHERE " MUSTER_IS_KNOWN};
// PostgreSQL would look for each name among all jobs of the flow, did it not look for one alone.
constexpr Sql kKnownJobsOneByOne{MUSTER_KNOWN_JOBS(
    "CROSS JOIN LATERAL (SELECT * FROM flow_jobs f WHERE " MUSTER_IS_KNOWN " LIMIT 1) f ")};
#define MUSTER_INSERT_PLACES                                                                   \
  "INSERT INTO flow_jobs (children_open, children_failed, children_cancelled, todo, told_to, " \
  "seq, flow_seq, parent_seq, depth, name, body_hash, may_fail, delay_ms, remaining, "         \
  "ended_as, inputs) "
constexpr Sql kInsertPlace{MUSTER_INSERT_PLACES
                           "VALUES (0, 0, 0, 0, 0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
constexpr Sql kInsertPlaces{
    MUSTER_INSERT_PLACES
    "SELECT 0, 0, 0, 0, 0, p.seq, CAST($2 AS BIGINT), CAST($3 AS BIGINT), CAST($4 AS BIGINT), "
    "p.name, p.body_hash, p.may_fail, p.delay_ms, p.remaining, p.ended_as, p.inputs "
    "FROM unnest(CAST($1 AS BIGINT[]), CAST($5 AS TEXT[]), CAST($6 AS TEXT[]), "
    "CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[]), CAST($9 AS BIGINT[]), CAST($10 AS BIGINT[]), "
    "CAST($11 AS TEXT[])) "
    "AS p (seq, name, body_hash, may_fail, delay_ms, remaining, ended_as, inputs)"};
constexpr Sql kInsertEdges{
    "INSERT INTO flow_edges (upstream_seq, downstream_seq, condition) "
    "SELECT d.c0, d.c1, d.c2 FROM /*rows $1 3*/ d"};
constexpr Sql kLink{
    "UPDATE jobs SET links = coalesce(links, 0) | CAST($2 AS BIGINT) "
    "WHERE seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
constexpr Sql kAddChildren{
    "UPDATE flow_jobs SET children_open = children_open + $2 WHERE seq = $1"};
constexpr Sql kAddToFlow{
    "UPDATE flows SET total = total + $2, blocked = blocked + $3, cancelled = cancelled + $4, "
    "top_open = top_open + $5, pools = $6 WHERE flow_seq = $1"};

std::string bodyHash(const NewFlowJob& job) {
  std::vector<std::string> edges;
  for (const NewFlowJob::Edge& edge : job.edges) {
    edges.push_back(std::string(name(edge.when)) + ' ' + edge.from);
  }
  std::sort(edges.begin(), edges.end());
  std::string text = job.pool.str();
  for (const std::string& edge : edges) text += '\n' + edge;
  if (!job.inputs.empty()) text += '\n' + writeFlowInputs(job.inputs);
  return sha256Hex(text, '\n' + job.job.data);
}

tl::unexpected<Error> invalid(std::vector<FieldError> faults) {
  Error error{ErrorCode::kInvalid, "the jobs cannot be added", std::move(faults)};
  return tl::unexpected(std::move(error));
}

}  // namespace

void FlowAdding::create(FlowRow& row) {
  Flow& flow = row.flow;
  flow.id = FlowId(s_.ids.next(s_.now));
  row.seq = s_.db.insert(kInsertFlow, flow.id, flow.name, flow.tenant, flow.priority, flow.closed,
                         flow.fail_fast, flow.deadline_at, flow.callbacks, flow.metadata, s_.now);
  row = *FlowRows(s_).at(row.seq);
  FlowRows(s_).emit(event_type::kFlowCreated, row);
}

int FlowAdding::depthOf(std::int64_t job) {
  auto rows = s_.db.query(kDepthOf, job);
  return rows.next() ? static_cast<int>(rows->integer(0)) : 1;
}

void FlowAdding::adopt(FlowRow& row, const JobRow& job) {
  s_.db.post(kInsertPlace, job.seq, row.seq, 0, 1, job.job.id.str(), "", 0, 0, 0, 0, SqlValue());
  s_.db.post(kLink, numberList({&job.seq, 1}), job_link::kInFlow);
  s_.db.post(kAddToFlow, row.seq, 1, 0, 0, 1, job.job.pool);
  row = *FlowRows(s_).at(row.seq);
}

FlowAdding::KnownJobs FlowAdding::knownJobs(const FlowRow& row, const Level& level,
                                            std::span<const NewFlowJob> jobs) {
  KnownJobs known;
  const bool is_empty = level.parent != 0 ? !level.parent_has_children : row.flow.counts.total == 0;
  if (is_empty) return known;
  std::set<std::string> names;
  for (const NewFlowJob& job : jobs) {
    names.insert(job.name);
    for (const NewFlowJob::Edge& edge : job.edges) names.insert(edge.from);
  }
  const std::vector<std::string> list(names.begin(), names.end());
  auto rows = s_.db.query(s_.db.hasPeers() ? kKnownJobsOneByOne : kKnownJobs, row.seq, level.parent,
                          textList(list));
  while (rows.next()) {
    known.emplace(rows->string(0),
                  Known{rows->integer(1), rows->string(2),
                        parseJobStatus(rows->text(3)).value_or(JobStatus::kCancelled),
                        static_cast<EndedAs>(rows->integer(4)),
                        LevelCounts{rows->integer(5), rows->integer(6), rows->integer(7)},
                        rows->integer(8) != 0, rows->string(9)});
  }
  return known;
}

Status FlowAdding::checkUniqueKeys(std::span<const Planned> planned) {
  std::set<std::pair<std::string, std::string>> taken;
  for (const Planned& job : planned) {
    const NewJob& given = job.given.job;
    if (given.unique_key.empty() || job.ended_as != EndedAs::kItself) continue;
    const bool is_first = taken.emplace(job.given.pool.str(), given.unique_key).second;
    const auto twin = is_first ? Jobs(s_).liveTwin(job.given.pool, given.unique_key) : std::nullopt;
    if (is_first && !twin) continue;
    return fail(ErrorCode::kUniqueKeyTaken,
                fmt::format("/jobs/{}: {} the unique_key '{}' in pool '{}'", job.place,
                            is_first ? "job " + twin->job.id.str() + " lives with"
                                     : "another job of the request has",
                            given.unique_key, job.given.pool.str()));
  }
  return {};
}

std::vector<FieldError> FlowAdding::faultsOf(const Level& level, std::span<const NewFlowJob> jobs) {
  auto faults = flowGraphFaults(jobs);
  if (jobs.size() > kMostFlowJobs) {
    faults.push_back(
        {"/jobs", "too_many_jobs",
         fmt::format("there are {}; one request adds at most {}", jobs.size(), kMostFlowJobs)});
  }
  if (level.depth > s_.rules.flow_max_depth) {
    faults.push_back({"/jobs", "too_deep",
                      fmt::format("the jobs would be at level {}; flow_max_depth allows {}",
                                  level.depth, s_.rules.flow_max_depth)});
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!expiresBeforeItBegins(jobs[i].job, s_.now)) continue;
    faults.push_back({fmt::format("/jobs/{}/expires_at", i), "range",
                      "must be after the job becomes available"});
  }
  return faults;
}

Result<FlowAdding::Plan> FlowAdding::plan(const FlowRow& row, const Level& level,
                                          std::span<const NewFlowJob> jobs,
                                          std::span<const PoolId> more_pools) {
  if (auto faults = faultsOf(level, jobs); !faults.empty()) return invalid(std::move(faults));
  Plan plan;
  plan.known = knownJobs(row, level, jobs);
  const KnownJobs& known = plan.known;
  auto unknown = unknownDependencies(
      jobs, [&known](std::string_view name) { return known.contains(std::string(name)); });
  if (!unknown.empty()) return invalid(std::move(unknown));

  plan.reply.jobs.resize(jobs.size());
  std::vector<NewFlowJob> fresh;
  std::vector<std::size_t> places;
  std::vector<std::string> hashes;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const NewFlowJob& job = jobs[i];
    FlowJobAdded& shown = plan.reply.jobs[i];
    std::string hash = bodyHash(job);
    shown.name = job.name;
    const auto found = known.find(job.name);
    if (found == known.end()) {
      fresh.push_back(job);
      places.push_back(i);
      hashes.push_back(std::move(hash));
    } else if (found->second.body_hash != hash || found->second.id.empty()) {
      return fail(ErrorCode::kNameTaken,
                  fmt::format("/jobs/{}: the level has a job '{}' with another pool, data or edges",
                              i, job.name));
    } else {
      shown.id = JobId(found->second.id);
      shown.status = found->second.status;
    }
  }
  const std::int64_t total = row.flow.counts.total + static_cast<std::int64_t>(fresh.size());
  if (total > s_.rules.flow_max_jobs) {
    return invalid({{"/jobs", "too_many_jobs",
                     fmt::format("the flow would have {} jobs; flow_max_jobs allows {}", total,
                                 s_.rules.flow_max_jobs)}});
  }
  const auto starts = startFlowJobs(fresh, [&known](std::string_view name) {
    const Known& job = known.at(std::string(name));
    if (job.untold) return std::optional<Verdict>();
    return verdictOf(job.status, job.ended_as, job.children);
  });
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    plan.jobs.push_back({std::move(fresh[i]), places[i], std::move(hashes[i]), starts[i].remaining,
                         starts[i].ended_as});
  }
  if (auto ok = planPools(plan, more_pools); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = checkUniqueKeys(plan.jobs); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = planRefs(plan, level); !ok) return tl::unexpected(std::move(ok).error());
  return plan;
}

Status FlowAdding::planPools(Plan& plan, std::span<const PoolId> more_pools) {
  std::int64_t missing = 0;
  const auto need = [&](const PoolId& id, const std::string& pointer) -> Status {
    if (plan.pools.contains(id.str())) return {};
    auto pool = Pools(s_).find(id);
    if (!pool && !s_.rules.auto_create_pools) {
      return fail(ErrorCode::kNotFound,
                  fmt::format("{}: there is no pool '{}'", pointer, id.str()));
    }
    missing += pool ? 0 : 1;
    plan.pools.emplace(id.str(), std::move(pool));
    return {};
  };
  for (const Planned& job : plan.jobs) {
    if (auto ok = need(job.given.pool, fmt::format("/jobs/{}/pool_id", job.place)); !ok) return ok;
  }
  for (std::size_t i = 0; i < more_pools.size(); ++i) {
    if (auto ok = need(more_pools[i], fmt::format("/callbacks/{}/job/pool_id", i)); !ok) return ok;
  }
  return missing > 0 ? Pools(s_).checkRoom(missing) : Status();
}

Status FlowAdding::planRefs(Plan& plan, const Level& level) {
  ResourceRefs refs(s_);
  Pool to_be_made;
  to_be_made.settings = s_.rules.pool_defaults;
  for (Planned& job : plan.jobs) {
    NewJob& given = job.given.job;
    const bool has_refs = mayHaveRefs(given);
    if (!has_refs && given.affinity.empty()) continue;
    const auto& known = plan.pools.at(job.given.pool.str());
    const Pool& pool = known ? *known : to_be_made;
    const std::string pointer = fmt::format("/jobs/{}", job.place);
    if (has_refs && *pool.settings.payload_refs) {
      if (auto ok = addPayloadRefs(given, pointer); !ok) return ok;
    }
    const std::string& tenant = given.tenant.empty() ? level.tenant : given.tenant;
    auto found = refs.resolve(pool, given, tenant, pointer);
    if (!found) return tl::unexpected(std::move(found).error());
    job.refs = *std::move(found);
    if (job.remaining > 0) continue;  // where it is to run is worked out when it is unblocked
    auto ok = Pins(s_).check(pool, given, tenant, Pins::refsOf(given, job.refs, pointer), pointer);
    if (!ok) return ok;
  }
  return {};
}

void FlowAdding::giveResources(FlowJobsAdded& reply, std::span<Planned> jobs) {
  ResourceRefs refs(s_);
  std::vector<JobRow> with_inputs;
  std::map<std::int64_t, std::size_t> places;
  for (Planned& job : jobs) {
    if (!job.refs.empty()) refs.add(job.row.seq, job.refs, !isFinished(job.row.job.status));
    if (job.row.job.status != JobStatus::kPending || job.given.inputs.empty()) continue;
    places.emplace(job.row.seq, job.place);
    with_inputs.push_back(std::move(job.row));
  }
  if (!with_inputs.empty()) {
    FlowInputs(s_).give(with_inputs);
    for (const JobRow& row : with_inputs) reply.jobs[places.at(row.seq)].status = row.job.status;
  }
  refs.settle();
}

JobRow FlowAdding::newRow(const Planned& planned, const Level& level, const Pool& pool,
                          const std::string& traceparent) {
  NewJob given = planned.given.job;
  if (given.tenant.empty()) given.tenant = level.tenant;
  if (!planned.given.has_priority && level.priority) given.priority = *level.priority;
  if (given.traceparent.empty()) given.traceparent = traceparent;
  JobRow row = Jobs(s_).newRow(pool, given, Pins::refsOf(given, planned.refs, ""));
  row.links |= job_link::kInFlow;
  if (!planned.given.edges.empty()) row.links |= job_link::kHasUpstream;
  if (!planned.given.inputs.empty()) row.links |= job_link::kHasInputs;
  if (ResourceRefs::keepsAny(planned.refs)) row.links |= job_link::kHasRefs;
  if (planned.ended_as != EndedAs::kItself) {
    row.job.status = JobStatus::kCancelled;
    row.job.finished_at = s_.now;
    row.job.reason = reasonOf(planned.ended_as);
  } else if (planned.remaining > 0) {
    row.job.status = JobStatus::kBlocked;
  }
  // A delay counts from when it is unblocked.
  if (row.job.status != JobStatus::kPending) {
    row.job.available_at = std::max(given.available_at.value_or(s_.now), s_.now);
  }
  return row;
}

FlowJobsAdded FlowAdding::write(FlowRow& row, const Level& level, Plan plan,
                                const std::string& traceparent) {
  FlowJobsAdded reply = std::move(plan.reply);
  reply.added = !plan.jobs.empty();
  const auto before = row.poolList();
  std::set<std::string> pools(before.begin(), before.end());
  for (auto& [id, pool] : plan.pools) {
    if (!pool) pool = Pools(s_).findOrCreate(PoolId(id)).value();
  }
  std::set<std::string_view> has_downstream;
  for (const Planned& job : plan.jobs) {
    pools.insert(job.given.pool.str());
    for (const NewFlowJob::Edge& edge : job.given.edges) has_downstream.insert(edge.from);
  }
  std::vector<JobRow> rows;
  for (const Planned& job : plan.jobs) {
    rows.push_back(newRow(job, level, *plan.pools.at(job.given.pool.str()), traceparent));
    if (has_downstream.contains(job.given.name)) rows.back().links |= job_link::kHasDownstream;
  }
  Jobs(s_).insert(rows);
  std::int64_t blocked = 0, cancelled = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Planned& planned = plan.jobs[i];
    planned.row = std::move(rows[i]);
    const Job& job = planned.row.job;
    reply.jobs[planned.place].id = job.id;
    reply.jobs[planned.place].status = job.status;
    blocked += job.status == JobStatus::kBlocked ? 1 : 0;
    if (job.status != JobStatus::kCancelled) continue;
    ++cancelled;
    Jobs(s_).emit(event_type::kJobCancelled, planned.row,
                  JsonWriter().beginObject().field("reason", job.reason).endObject().take());
  }
  if (reply.added) {
    insertPlaces(row, level, plan.jobs);
    insertEdges(plan.jobs, plan.known);
    const auto count = static_cast<std::int64_t>(plan.jobs.size());
    const std::int64_t open = count - cancelled;
    if (level.parent != 0) {
      const bool is_first = !level.parent_has_children;
      s_.db.post(kAddChildren, level.parent, open + (is_first ? 1 : 0));
      if (is_first) {
        s_.db.post(kLink, numberList({&level.parent, 1}), job_link::kHasChildren);
      }
    }
    s_.db.post(kAddToFlow, row.seq, count, blocked, cancelled, level.parent == 0 ? open : 0,
               fmt::format("{}", fmt::join(pools, " ")));
    giveResources(reply, plan.jobs);
    row = *FlowRows(s_).at(row.seq);
  }
  reply.flow = row.flow;
  return reply;
}

void FlowAdding::insertPlaces(const FlowRow& row, const Level& level,
                              std::span<const Planned> planned) {
  SqlArray seqs, names, hashes, may_fail, delays, remaining, ended_as, inputs;
  for (const Planned& job : planned) {
    const std::string wanted = writeFlowInputs(job.given.inputs);
    const auto delay = std::chrono::duration_cast<Millis>(job.given.job.delay).count();
    if (!s_.db.hasPeers()) {
      s_.db.post(kInsertPlace, job.row.seq, row.seq, level.parent, level.depth, job.given.name,
                 job.body_hash, job.given.may_fail, delay, job.remaining,
                 static_cast<int>(job.ended_as), orNull(wanted));
      continue;
    }
    seqs.addOrNull(std::optional(job.row.seq));
    names.add(job.given.name);
    hashes.add(job.body_hash);
    may_fail.addOrNull(std::optional(job.given.may_fail ? 1 : 0));
    delays.addOrNull(std::optional(delay));
    remaining.addOrNull(std::optional(job.remaining));
    ended_as.addOrNull(std::optional(static_cast<int>(job.ended_as)));
    inputs.addOrNull(wanted);
  }
  if (!s_.db.hasPeers()) return;
  s_.db.post(kInsertPlaces, seqs.text(), row.seq, level.parent, level.depth, names.text(),
             hashes.text(), may_fail.text(), delays.text(), remaining.text(), ended_as.text(),
             inputs.text());
}

void FlowAdding::insertEdges(std::span<const Planned> planned, const KnownJobs& known) {
  std::unordered_map<std::string_view, std::int64_t> seqs;
  for (const Planned& job : planned) seqs.emplace(job.given.name, job.row.seq);
  NumberRows edges;
  std::set<std::int64_t> upstream;  // that were there before
  for (const Planned& job : planned) {
    for (const NewFlowJob::Edge& edge : job.given.edges) {
      const auto among = seqs.find(edge.from);
      const std::int64_t from = among != seqs.end() ? among->second : known.at(edge.from).seq;
      if (among == seqs.end()) upstream.insert(from);
      edges.add(from, job.row.seq, static_cast<int>(edge.when));
    }
  }
  if (!edges.empty()) s_.db.post(kInsertEdges, edges.text());
  if (!upstream.empty()) {
    const std::vector<std::int64_t> list(upstream.begin(), upstream.end());
    s_.db.post(kLink, numberList(list), job_link::kHasDownstream);
  }
}

}  // namespace muster
