#include "controllers/worker_controller.h"

#include "app/launch/process_table.h"
#include "models/json/json_reader.h"
#include "models/json/worker_json.h"
#include "models/operations/hosts.h"

namespace muster {
namespace {

Outcome workerReply(Result<Worker> worker) {
  if (!worker) return tl::unexpected(std::move(worker).error());
  JsonWriter out;
  writeWorker(out, *worker);
  Reply reply = Reply::json(200, std::move(out));
  reply.with("ETag", etag(worker->version));
  return reply;
}

Error noWorker(const WorkerId& id) {
  return {ErrorCode::kNotFound, "there is no worker '" + id.str() + "'"};
}

// The worker in the path, if the token may act as it.
Result<WorkerId> actingWorker(const Request& request) {
  auto id = request.pathId<WorkerId>("worker_id");
  if (!id) return id;
  if (auto ok = request.principal.mayActAs(id->str()); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  return id;
}

std::optional<Host> knownHost(const std::string& name, Store& store) {
  auto host = run(FindHost{name}, store);
  return host ? std::optional(*std::move(host)) : std::nullopt;
}

}  // namespace

void WorkerController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  using C = WorkerController;
  const std::string worker = "/v1/workers/{worker_id}";
  router.add(
      "POST", "/v1/workers", Scope::kWork,
      {.write = method(&C::registerWorker), .routine = true, .pool_rule = PoolRule::kHandler});
  router.add("GET", "/v1/workers", Scope::kRead,
             {.read = method(&C::list), .pool_rule = PoolRule::kQuery});
  router.add("GET", worker, Scope::kRead, {.read = method(&C::get)});
  router.add("PATCH", worker, Scope::kWork, {.write = method(&C::patch)});
  router.add("DELETE", worker, Scope::kWork, {.write = method(&C::remove)});
  router.add("POST", worker + "/heartbeat", Scope::kWork,
             {.answer = [this](const RequestPtr& request,
                               Respond respond) { heartbeat(request, std::move(respond)); },
              .routine = true});
  router.add("POST", worker + "/release", Scope::kWork, {.write = method(&C::release)});
  router.add("POST", worker + "/terminate", Scope::kWork, {.write = method(&C::terminate)});
  router.add("GET", worker + "/output", Scope::kRead, {.read = method(&C::output)});
}

Result<Work> WorkerController::registerWorker(const Request& request) {
  auto body = parseBody(request, true);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  RegisterRequest given = readRegistration(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  if (!request.principal.worker.empty() && given.worker.id.empty()) {
    given.worker.id = WorkerId(request.principal.worker);
  }
  if (auto ok = request.principal.mayActAs(given.worker.id.str()); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  // A launched worker is of the pool it was launched for.
  const bool of_other_pool = !request.principal.mayIn(Scope::kWork, given.worker.pool);
  if (of_other_pool && (given.launch_token.empty() || !given.worker.pool.empty())) {
    return fail(ErrorCode::kForbidden,
                "the token is for workers of some pools: name one of them as pool_id");
  }
  // A process that can be seen here can be seen to be gone, too; one that was launched is watched.
  if (given.launch_token.empty() && given.worker.pid && given.worker.host == host_) {
    given.worker.process_key = processKey(static_cast<pid_t>(*given.worker.pid)).value_or("");
  }
  return [this, given = std::move(given)](Store& store) -> Outcome {
    const auto admitted = store.launches().admit(given.worker, given.launch_token);
    if (!admitted) return tl::unexpected(admitted.error());
    const Worker& registered = *admitted;
    const auto pool =
        registered.pool.empty() ? nullptr : store.pools().find(PoolId(registered.pool));
    const PoolSettings& settings = pool ? pool->settings : store.rules().pool_defaults;
    JsonWriter out;
    out.beginObject();
    writeWorkerFields(out, registered);
    out.field("heartbeat_interval_seconds", *settings.heartbeat_interval_seconds);
    out.field("lease_seconds", *settings.lease_seconds);
    out.field("inline_limit_bytes", store.rules().inline_rules.limit_bytes);
    writeResourceLimits(out, store.rules().resources.workerLimits());
    if (auto host = registered.host.empty() ? std::nullopt : knownHost(registered.host, store)) {
      if (!host->data_dir.empty()) out.field("data_dir", host->data_dir);
    }
    const WorkerPass pass{registered.id.str(), registered.pool, registered.registration};
    out.field("worker_token", access_.tokenFor(pass)).endObject();
    Reply reply = Reply::json(201, std::move(out));
    reply.with("ETag", etag(registered.version));
    return reply;
  };
}

Result<Work> WorkerController::list(const Request& request) {
  QueryReader query(request);
  WorkerFilter filter;
  filter.statuses = query.texts("status");
  filter.pool = query.id("pool_id");
  filter.capability = query.text("capability", 256).value_or("");
  if (const auto seconds = query.number("stale_threshold_seconds", 0.001, 365.0 * 24 * 3600)) {
    filter.stale_threshold = Millis(static_cast<std::int64_t>(*seconds * 1000));
  }
  const int limit = query.limit();
  const std::string cursor = query.id("cursor");
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [filter, limit, cursor](Store& store) -> Outcome {
    const WorkerPage page = store.workers().list(filter, cursor, limit);
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Worker& worker : page.workers) writeWorker(out, worker);
    out.endArray();
    if (!page.next_cursor.empty()) out.field("next_cursor", page.next_cursor);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> WorkerController::get(const Request& request) {
  auto id = request.pathId<WorkerId>("worker_id");
  if (!id) return tl::unexpected(std::move(id).error());
  return [id = *std::move(id)](Store& store) -> Outcome {
    auto worker = store.workers().show(id);
    if (!worker) return tl::unexpected(noWorker(id));
    return workerReply(*std::move(worker));
  };
}

Result<Work> WorkerController::patch(const Request& request) {
  auto id = actingWorker(request);
  if (!id) return tl::unexpected(std::move(id).error());
  auto version = request.ifMatch();
  if (!version) return tl::unexpected(std::move(version).error());
  auto body = parseBody(request, true);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  WorkerChange change = readWorkerChange(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), change = std::move(change), version = *version](Store& store) {
    return workerReply(store.workers().change(id, change, version));
  };
}

Result<Work> WorkerController::remove(const Request& request) {
  auto id = actingWorker(request);
  if (!id) return tl::unexpected(std::move(id).error());
  auto version = request.ifMatch();
  if (!version) return tl::unexpected(std::move(version).error());
  return [id = *std::move(id), version = *version](Store& store) -> Outcome {
    if (auto ok = store.workers().remove(id, version); !ok)
      return tl::unexpected(std::move(ok).error());
    return Reply{204, "", ""};
  };
}

namespace {

Outcome heartbeatReply(const Heartbeat& beat) {
  JsonWriter out;
  out.beginObject().field("status", beat.status).key("commands").beginArray();
  if (beat.status == worker_status::kTerminating) {
    out.beginObject().field("type", "drain").endObject();
  }
  for (const Lease& lease : beat.leases) {
    if (!lease.cancel_requested) continue;
    out.beginObject().field("type", "cancel").field("job_id", lease.job).endObject();
  }
  writeCommands(out, beat.commands);
  out.endArray().key("leases").beginArray();
  for (const Lease& lease : beat.leases) {
    out.beginObject().field("job_id", lease.job);
    out.field("lease_expires_at", lease.expires_at).endObject();
  }
  out.endArray().endObject();
  return Reply::json(200, std::move(out));
}

}  // namespace

void WorkerController::heartbeat(const RequestPtr& request, Respond respond) {
  auto id = actingWorker(*request);
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  const auto body = parseBody(*request, true);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  WorkerChange change = readHeartbeat(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  const bool is_exclusive = Workers::changesResources(change, resources_);
  gateway_.write(
      request,
      [id = *std::move(id), change = std::move(change)](Store& store) -> Outcome {
        const auto beat = store.workers().heartbeat(id, change);
        if (!beat) return tl::unexpected(beat.error());
        return heartbeatReply(*beat);
      },
      std::move(respond), is_exclusive ? Isolation::kAlone : Isolation::kShared);
}

Result<Work> WorkerController::release(const Request& request) {
  auto id = actingWorker(request);
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id)](Store& store) -> Outcome {
    JsonWriter out;
    out.beginObject();
    out.field("released", store.jobs().releaseByWorker(id.str(), "worker_released")).endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> WorkerController::terminate(const Request& request) {
  auto id = actingWorker(request);
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id)](Store& store) {
    WorkerChange change;
    change.status = worker_status::kTerminating;
    return workerReply(store.workers().change(id, change));
  };
}

// A worker started by hand keeps its output to itself.
Result<Work> WorkerController::output(const Request& request) {
  auto id = request.pathId<WorkerId>("worker_id");
  if (!id) return tl::unexpected(std::move(id).error());
  return [this, id = *std::move(id)](Store& store) -> Outcome {
    const auto worker = store.workers().find(id);
    if (!worker) return tl::unexpected(noWorker(id));
    WorkerOutput output = store.launches().output(id);
    if (worker->launched_at && !worker->exited_at) {
      const ProcessEnd so_far = launcher_.peek(id.str());
      output = {so_far.output, so_far.truncated};
    }
    JsonWriter out;
    out.beginObject().field("output", output.text).field("truncated", output.truncated);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

}  // namespace muster
