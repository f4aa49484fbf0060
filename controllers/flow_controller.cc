#include "controllers/flow_controller.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <memory>

#include "controllers/long_wait.h"
#include "models/json/flow_json.h"
#include "models/json/job_json.h"
#include "models/json/json_reader.h"
#include "models/policy/flow_graph.h"
#include "models/trace_context.h"

namespace muster {
namespace {

constexpr std::size_t kMostRetried = 1000;  // jobs that one retry may name
constexpr double kLongestDeadlineSeconds = 365.0 * 24 * 3600;
constexpr std::size_t kMostUpstreamCursor = 160;  // a number and a name

Outcome flowReply(const Result<Flow>& flow) {
  if (!flow) return tl::unexpected(flow.error());
  JsonWriter out;
  writeFlow(out, *flow);
  return Reply::json(200, std::move(out));
}

Outcome addedReply(const Result<FlowJobsAdded>& added, bool is_new) {
  if (!added) return tl::unexpected(added.error());
  JsonWriter out;
  writeFlowJobsAdded(out, *added);
  return Reply::json(is_new ? 201 : 200, std::move(out));
}

// {"items": […], "next_cursor"?}
template <class Items, class Write>
Outcome pageReply(const Items& items, const std::string& next_cursor, Write write) {
  JsonWriter out;
  out.beginObject().key("items").beginArray();
  for (const auto& item : items) write(out, item);
  out.endArray();
  if (!next_cursor.empty()) out.field("next_cursor", next_cursor);
  out.endObject();
  return Reply::json(200, std::move(out));
}

// What is true of every page: where it begins, and how much it may hold.
template <class Op>
void readPage(QueryReader& query, Op& op) {
  op.cursor = query.id("cursor");
  op.limit = query.limit();
}

// Whether the token may push there: by the scope of the route, or as a producer.
Status checkMayPush(const Request& request, const std::string& pool) {
  const Principal& who = request.principal;
  if (who.mayIn(*request.route->scope, pool) || who.mayIn(Scope::kProduce, pool)) return {};
  return fail(ErrorCode::kForbidden,
              fmt::format("the token may not push into the pool '{}'", pool));
}

Status checkMayPush(const Request& request, const std::vector<NewFlowJob>& jobs) {
  if (request.principal.mayEverywhere(*request.route->scope)) return {};
  for (const NewFlowJob& each : jobs) {
    if (auto ok = checkMayPush(request, each.pool.str()); !ok) return ok;
  }
  return {};
}

RateLimits::JobsOfTenants countTenants(const std::vector<NewFlowJob>& jobs,
                                       const std::string& inherited) {
  RateLimits::JobsOfTenants count;
  for (const NewFlowJob& each : jobs) {
    const std::string& tenant = each.job.tenant.empty() ? inherited : each.job.tenant;
    if (!tenant.empty()) count[tenant] += 1;
  }
  return count;
}

// The field `jobs`: at least one. How many there may be is the reader's business.
std::vector<NewFlowJob> readJobs(ObjectReader& in, std::vector<FieldError>& faults) {
  const auto jobs = in.array("jobs", 0, std::numeric_limits<std::size_t>::max());
  if (!jobs) {
    if (!in.has("jobs")) in.fault("jobs", "required", "is required");
    return {};
  }
  if (jobs->size() == 0) in.fault("jobs", "length", "must have at least one job");
  return readNewFlowJobs(*jobs, in.pointer("jobs"), faults);
}

}  // namespace

void FlowController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, Respond respond) {
      (this->*member)(request, std::move(respond));
    };
  };
  using C = FlowController;
  const std::string flow = "/v1/flows/{flow_id}";
  router.add("POST", "/v1/flows", Scope::kProduce,
             {.write = method(&C::create), .routine = true, .pool_rule = PoolRule::kHandler});
  router.add("GET", "/v1/flows", Scope::kRead, {.read = C::list, .pool_rule = PoolRule::kHandler});
  router.add("GET", flow, Scope::kRead, {.answer = later(&C::get)});
  router.add("DELETE", flow, Scope::kProduce, {.write = C::remove});
  router.add("GET", flow + "/jobs", Scope::kRead, {.read = C::listJobs});
  router.add("POST", flow + "/jobs", Scope::kProduce,
             {.answer = later(&C::addJobs), .routine = true});
  router.add("GET", flow + "/edges", Scope::kRead, {.read = C::listEdges});
  router.add("POST", flow + "/close", Scope::kProduce, {.write = C::close, .routine = true});
  router.add("POST", flow + "/cancel", Scope::kProduce, {.write = C::cancel});
  router.add("POST", flow + "/retry", Scope::kProduce, {.write = C::retry});
  router.add("POST", "/v1/jobs/{job_id}/children", Scope::kWork,
             {.answer = later(&C::addChildren), .routine = true});
  // Also for the worker that has the job, whose token is for work.
  router.add("GET", "/v1/jobs/{job_id}/upstream", Scope::kRead,
             {.read = C::upstream, .any_scope = true, .pool_rule = PoolRule::kHandler});
}

Result<Work> FlowController::create(const Request& request) {
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  auto op = std::make_shared<CreateFlow>(readCreateFlow(body->root(), faults));
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = checkMayPush(request, op->jobs); !ok) return tl::unexpected(std::move(ok).error());
  for (const PoolId& pool : op->callback_pools) {
    if (auto ok = checkMayPush(request, pool.str()); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  if (auto ok = limits_.admitJobs(countTenants(op->jobs, op->tenant), request.rate); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  op->traceparent = readTraceparent(request.header("traceparent"));
  return [op](Store& store) { return addedReply(run(*op, store), true); };
}

template <class Op>
// NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved, which a template hides.
void FlowController::add(const RequestPtr& request, Op op, TenantOf inherited, Respond respond) {
  op.traceparent = readTraceparent(request->header("traceparent"));
  auto counted = std::make_shared<bool>(false);  // a unit that runs again is no second request
  gateway_.write(
      request,
      [this, request, counted, inherited = std::move(inherited),
       op = std::make_shared<const Op>(std::move(op))](Store& store) -> Outcome {
        if (limits_.limitsTenants() && !*counted) {
          auto ok = limits_.admitJobs(countTenants(op->jobs, inherited(store)), request->rate);
          if (!ok) return tl::unexpected(std::move(ok).error());
          *counted = true;
        }
        const auto added = run(*op, store);
        return addedReply(added, added && added->added);
      },
      std::move(respond));
}

void FlowController::addJobs(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<FlowId>("flow_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  const auto body = parseBody(*request);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  AddFlowJobs op{.flow = *id};
  op.jobs = readJobs(in, faults);
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  if (auto ok = checkMayPush(*request, op.jobs); !ok) return respond(tl::unexpected(ok.error()));
  const auto tenant = [id = *id](Store& store) {
    const auto shown = run(FindFlow{id}, store);
    return shown ? shown->flow.tenant : std::string();
  };
  add(request, std::move(op), tenant, std::move(respond));
}

void FlowController::addChildren(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<JobId>("job_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  const auto body = parseBody(*request);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  AddChildren op{.parent = *id};
  op.lease_token = in.required("lease_token", in.text("lease_token", 1, 128));
  op.jobs = readJobs(in, faults);
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  op.by_worker = !request->principal.worker.empty();
  if (!op.by_worker) {  // where its children may go the store knows
    if (auto ok = checkMayPush(*request, op.jobs); !ok) return respond(tl::unexpected(ok.error()));
  }
  const auto tenant = [id = *id](Store& store) {
    const auto job = store.jobs().find(id);
    return job ? job->tenant : std::string();
  };
  add(request, std::move(op), tenant, std::move(respond));
}

Result<Work> FlowController::close(const Request& request) {
  auto id = request.pathId<FlowId>("flow_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [op = CloseFlow{*id}](Store& store) { return flowReply(run(op, store)); };
}

Result<Work> FlowController::cancel(const Request& request) {
  auto id = request.pathId<FlowId>("flow_id");
  if (!id) return tl::unexpected(std::move(id).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  CancelFlow op{.flow = *id};
  op.reason = in.text("reason", 1, 1024).value_or("");
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) { return flowReply(run(op, store)); };
}

Result<Work> FlowController::retry(const Request& request) {
  auto id = request.pathId<FlowId>("flow_id");
  if (!id) return tl::unexpected(std::move(id).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  RetryFlow op{.flow = *id};
  if (const auto jobs = in.texts("jobs", kMostRetried, 128)) {
    if (jobs->empty()) in.fault("jobs", "length", "must name a job; without it all are retried");
    op.jobs.emplace(jobs->begin(), jobs->end());
  }
  if (const auto seconds = in.number("deadline_seconds", 0, kLongestDeadlineSeconds)) {
    op.deadline = Millis(std::llround(*seconds * 1000.0));
  }
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto retried = run(op, store);
    if (!retried) return tl::unexpected(retried.error());
    JsonWriter out;
    out.beginObject().key("flow");
    writeFlow(out, retried->flow);
    out.field("count", retried->count).endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> FlowController::remove(const Request& request) {
  auto id = request.pathId<FlowId>("flow_id");
  if (!id) return tl::unexpected(std::move(id).error());
  return [op = DeleteFlow{*id}](Store& store) -> Outcome {
    if (auto ok = run(op, store); !ok) return tl::unexpected(std::move(ok).error());
    return Reply{204, "", ""};
  };
}

Result<Work> FlowController::list(const Request& request) {
  QueryReader query(request);
  ListFlows op;
  if (const auto text = query.text("status")) {
    op.status = parseFlowStatus(*text);
    if (!op.status) {
      query.fault("status", "must be running, cancelling, succeeded, failed or cancelled");
    }
  }
  op.name = query.text("name", 128).value_or("");
  op.tenant = query.text("tenant", 128).value_or("");
  readPage(query, op);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  const Principal& who = request.principal;
  if (!who.mayEverywhere(Scope::kRead)) op.readable = *who.grants;
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    return pageReply(page->flows, page->next_cursor, writeFlow);
  };
}

void FlowController::get(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<FlowId>("flow_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  QueryReader query(*request);
  const double wait = query.number("wait_seconds", 0, 30).value_or(0);
  if (auto ok = query.finish(); !ok) return respond(tl::unexpected(std::move(ok).error()));
  const Time deadline = clock_.now() + Millis(static_cast<std::int64_t>(wait * 1000));
  readUntilEnded(
      {gateway_, waits_, clock_, id->str(), deadline}, request,
      [op = FindFlow{*id}](Store& store, bool& ended) -> Outcome {
        const auto shown = run(op, store);
        if (!shown) return tl::unexpected(shown.error());
        ended = isEnded(shown->flow.status);
        JsonWriter out;
        writeFlowShown(out, *shown);
        return Reply::json(200, std::move(out));
      },
      std::move(respond));
}

Result<Work> FlowController::listJobs(const Request& request) {
  auto id = request.pathId<FlowId>("flow_id");
  if (!id) return tl::unexpected(std::move(id).error());
  QueryReader query(request);
  ListFlowJobs op{.flow = *id};
  if (const auto text = query.text("status")) {
    op.status = parseJobStatus(*text);
    if (!op.status) {
      query.fault("status", "must be blocked, pending, claimed, done, poisoned or cancelled");
    }
  }
  op.parent = query.id("parent");
  readPage(query, op);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    return pageReply(page->jobs, page->next_cursor, writeJob);
  };
}

Result<Work> FlowController::listEdges(const Request& request) {
  auto id = request.pathId<FlowId>("flow_id");
  if (!id) return tl::unexpected(std::move(id).error());
  QueryReader query(request);
  ListFlowEdges op{.flow = *id};
  readPage(query, op);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    return pageReply(page->edges, page->next_cursor, writeFlowEdge);
  };
}

namespace {

// Those who may read in the pool of the job may, and those who work there: the same is in their
// claim, as far as it fits. With a worker's own token it must be the worker that has the job.
Status checkMaySeeUpstream(const Principal& who, const JobId& id, Store& store) {
  if (!who.worker.empty()) {
    const auto job = store.jobs().find(id);
    return job ? who.mayActAs(job->claimed_by) : Status();
  }
  if (who.mayEverywhere(Scope::kRead) || who.mayEverywhere(Scope::kWork)) return {};
  const auto pool = store.jobs().poolOf(id);
  if (pool && (who.mayIn(Scope::kRead, *pool) || who.mayIn(Scope::kWork, *pool))) return {};
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no job '{}' in the pools of this token", id.str()));
}

}  // namespace

Result<Work> FlowController::upstream(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  const Principal& who = request.principal;
  if (!who.maySomewhere(Scope::kRead) && !who.maySomewhere(Scope::kWork)) {
    return missingScope(Scope::kRead);
  }
  QueryReader query(request);
  ListUpstream op{.job = *id};
  op.cursor = query.text("cursor", kMostUpstreamCursor).value_or("");
  op.limit = query.limit();
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op), who](Store& store) -> Outcome {
    if (auto ok = checkMaySeeUpstream(who, op.job, store); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    return pageReply(page->items, page->next_cursor, writeUpstreamItem);
  };
}

}  // namespace muster
