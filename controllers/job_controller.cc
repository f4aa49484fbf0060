#include "controllers/job_controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/long_wait.h"
#include "models/json/job_json.h"
#include "models/json/json_reader.h"
#include "models/trace_context.h"

namespace muster {
namespace {

constexpr std::size_t kMaxBatch = 1000;

// What refers to resources must not meet others that change them.
Isolation isolationOf(const PushJobs& op) {
  const bool may = std::any_of(op.jobs.begin(), op.jobs.end(),
                               [](const NewJob& job) { return mayHaveRefs(job); });
  return may ? Isolation::kAlone : Isolation::kShared;
}

}  // namespace

Outcome jobReply(Result<Job> job, int status) {
  if (!job) return tl::unexpected(std::move(job).error());
  JsonWriter out;
  out.reserve(512 + job->data.size());
  writeJob(out, *job);
  Reply reply = Reply::json(status, std::move(out));
  reply.with("ETag", etag(job->version));
  return reply;
}

void JobController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, Respond respond) {
      (this->*member)(request, std::move(respond));
    };
  };
  using C = JobController;
  router.add("POST", "/v1/pools/{pool_id}/jobs", Scope::kProduce,
             {.answer = later(&C::push), .routine = true});
  router.add("POST", "/v1/pools/{pool_id}/jobs/batch", Scope::kProduce,
             {.answer = later(&C::pushBatch), .routine = true});
  router.add("GET", "/v1/pools/{pool_id}/jobs", Scope::kRead, {.read = method(&C::list)});
  router.add("GET", "/v1/jobs/{job_id}", Scope::kRead,
             {.answer = [this](const RequestPtr& request, Respond respond) {
               get(request, std::move(respond));
             }});
  router.add("GET", "/v1/jobs/{job_id}/attempts", Scope::kRead, {.read = method(&C::attempts)});
  router.add("POST", "/v1/jobs/{job_id}/cancel", Scope::kProduce, {.write = method(&C::cancel)});
  router.add("POST", "/v1/jobs/{job_id}/retry", Scope::kProduce, {.write = method(&C::retry)});
  router.add("DELETE", "/v1/jobs/{job_id}", Scope::kProduce, {.write = method(&C::remove)});
}

void JobController::push(const RequestPtr& request, Respond respond) {
  auto op = readPush(*request);
  if (!op) return respond(tl::unexpected(std::move(op).error()));
  const Isolation isolation = isolationOf(*op);
  gateway_.write(
      request,
      [op = *std::move(op)](Store& store) -> Outcome {
        auto pushed = run(op, store);
        if (!pushed) return tl::unexpected(std::move(pushed).error());
        PushJobs::Pushed& one = pushed->front();
        return jobReply(std::move(one.job), one.created ? 201 : 200);
      },
      std::move(respond), isolation);
}

Result<PushJobs> JobController::readPush(const Request& request) {
  auto pool = request.pathId<PoolId>("pool_id");
  if (!pool) return tl::unexpected(std::move(pool).error());
  auto body = parseBody(request);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  PushJobs op{*std::move(pool), {readNewJob(body->root(), "", faults)}};
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = limits_.admitJobs(op.jobs, request.rate); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  op.jobs[0].traceparent = readTraceparent(request.header("traceparent"));
  return op;
}

void JobController::pushBatch(const RequestPtr& request, Respond respond) {
  auto read = readBatch(*request);
  if (!read) return respond(tl::unexpected(std::move(read).error()));
  const Isolation isolation = isolationOf(*read);
  gateway_.write(
      request,
      [op = std::make_shared<const PushJobs>(*std::move(read))](Store& store) -> Outcome {
        const auto pushed = run(*op, store);
        if (!pushed) return tl::unexpected(pushed.error());
        JsonWriter out;
        out.beginObject().key("items").beginArray();
        for (const PushJobs::Pushed& each : *pushed) writeJob(out, each.job);
        out.endArray().endObject();
        return Reply::json(201, std::move(out));
      },
      std::move(respond), isolation);
}

Result<PushJobs> JobController::readBatch(const Request& request) {
  auto pool = request.pathId<PoolId>("pool_id");
  if (!pool) return tl::unexpected(std::move(pool).error());
  auto body = parseBody(request);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  PushJobs op{*std::move(pool), {}, true};
  ObjectReader in(body->root(), "", faults);
  if (const auto items = in.array("items", 1, kMaxBatch)) {
    op.jobs.reserve(items->size());
    const std::string traceparent = readTraceparent(request.header("traceparent"));
    for (auto it = items->begin(); it != items->end(); ++it) {
      op.jobs.push_back(readNewJob(*it, fmt::format("/items/{}", op.jobs.size()), faults));
      op.jobs.back().traceparent = traceparent;
    }
  } else if (!in.has("items")) {
    in.fault("items", "required", "is required");
  }
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  if (auto ok = limits_.admitJobs(op.jobs, request.rate); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  return op;
}

Result<Work> JobController::list(const Request& request) {
  auto pool = request.pathId<PoolId>("pool_id");
  if (!pool) return tl::unexpected(std::move(pool).error());
  QueryReader query(request);
  JobFilter filter;
  for (const std::string& text : query.texts("status")) {
    if (const auto status = parseJobStatus(text)) {
      filter.statuses.push_back(*status);
    } else {
      query.fault("status", "must be blocked, pending, claimed, done, poisoned or cancelled");
    }
  }
  filter.tenant = query.text("tenant", 128);
  filter.created_after = query.time("created_after");
  const int limit = query.limit();
  const auto cursor = query.integer("cursor", 1, std::numeric_limits<std::int64_t>::max());
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [pool = *std::move(pool), filter, cursor, limit](Store& store) -> Outcome {
    const JobPage page =
        store.jobs().list(pool, filter, cursor ? std::to_string(*cursor) : "", limit);
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Job& job : page.jobs) writeJob(out, job);
    out.endArray();
    if (!page.next_cursor.empty()) out.field("next_cursor", page.next_cursor);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

void JobController::get(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<JobId>("job_id");
  QueryReader query(*request);
  const double wait = query.number("wait_seconds", 0, 30).value_or(0);
  auto ok = query.finish();
  if (!id || !ok) {
    respond(tl::unexpected(id ? std::move(ok).error() : std::move(id).error()));
    return;
  }
  const Time deadline = clock_.now() + Millis(static_cast<std::int64_t>(wait * 1000));
  readUntilEnded(
      {gateway_, waits_, clock_, id->str(), deadline}, request,
      [id = *id](Store& store, bool& ended) -> Outcome {
        auto job = store.jobs().find(id);
        if (!job) return fail(ErrorCode::kNotFound, "there is no job '" + id.str() + "'");
        ended = isFinished(job->status);
        return jobReply(*std::move(job));
      },
      std::move(respond));
}

Result<Work> JobController::attempts(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = QueryReader(request).finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id)](Store& store) -> Outcome {
    if (!store.jobs().find(id)) {
      return fail(ErrorCode::kNotFound, "there is no job '" + id.str() + "'");
    }
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Attempt& attempt : store.jobs().attempts(id)) writeAttempt(out, attempt);
    out.endArray().endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> JobController::cancel(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  auto body = parseBody(request, true);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const std::string reason = in.text("reason", 1, 1024).value_or("");
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), reason](Store& store) {
    return jobReply(store.jobs().cancel(id, reason));
  };
}

Result<Work> JobController::retry(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id)](Store& store) { return jobReply(store.jobs().retry(id)); };
}

Result<Work> JobController::remove(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  auto version = request.ifMatch();
  if (!id) return tl::unexpected(std::move(id).error());
  if (!version) return tl::unexpected(std::move(version).error());
  return [id = *std::move(id), version = *version](Store& store) -> Outcome {
    if (auto ok = store.jobs().remove(id, version); !ok) return tl::unexpected(ok.error());
    return Reply{204, "", ""};
  };
}

}  // namespace muster
