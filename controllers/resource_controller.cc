#include "controllers/resource_controller.h"

#include <fmt/format.h>

#include <cmath>

#include "controllers/resource_access.h"
#include "controllers/signed_address.h"
#include "models/json/json_reader.h"
#include "models/json/resource_json.h"

namespace muster {
namespace {

constexpr double kMostTtlSeconds = 365.0 * 24 * 3600;
constexpr std::int64_t kSignedSeconds = 900, kMostSignedSeconds = 86'400;
constexpr std::size_t kMostLeaseId = 128, kMostHolder = 300;

std::optional<Millis> readTtl(ObjectReader& in) {
  const auto seconds = in.number("ttl_seconds", 1, kMostTtlSeconds);
  return seconds ? std::optional(Millis(std::llround(*seconds * 1000.0))) : std::nullopt;
}

// Whether it is for what an own job of the caller made, which needs no `admin`.
bool isScopeOfWork(std::string_view scope) {
  return scope.starts_with("job:") || scope.starts_with("flow:");
}

}  // namespace

void ResourceController::addRoutes(Router& router) {
  using C = ResourceController;
  const std::string one = "/v1/resources/{resource}";
  // Whoever may is told by the handlers: some calls take one of two scopes, and a worker's token.
  const auto handler = [](auto read_or_write) {
    Handler made = read_or_write;
    made.any_scope = true;
    made.checks_registration = true;
    made.pool_rule = PoolRule::kHandler;
    return made;
  };
  router.add("POST", "/v1/resources", Scope::kWork,
             handler(Handler{.write = C::create, .routine = true}));
  router.add("GET", "/v1/resources", Scope::kRead, handler(Handler{.read = C::list}));
  router.add("GET", one, Scope::kRead, handler(Handler{.read = C::get}));
  router.add("DELETE", one, Scope::kWork, handler(Handler{.write = C::remove}));
  router.add("POST", one + "/lease", Scope::kWork,
             handler(Handler{.write = C::lease, .routine = true}));
  router.add("POST", one + "/release", Scope::kWork,
             handler(Handler{.write = C::release, .routine = true}));
  router.add("POST", one + "/touch", Scope::kWork,
             handler(Handler{.write = C::touch, .routine = true}));
  router.add("POST", one + "/sign", Scope::kWork,
             handler(Handler{.write = [this](const Request& request) { return sign(request); },
                             .routine = true,
                             .on_every_node = true,
                             .isolation = Isolation::kShared}));
  router.add("DELETE", "/v1/scopes/{scope}/resources", Scope::kWork,
             handler(Handler{.write = C::releaseScope}));
}

Result<Work> ResourceController::create(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kProduce, Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  RegisterResource op{.resource = readNewResource(body->root(), faults),
                      .by = resourceCallerOf(request)};
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  const auto kind = op.resource.holder.kind;
  const bool is_held = kind == Holder::Kind::kHost || kind == Holder::Kind::kWorker;
  if (is_held) {
    if (auto ok = checkMayUse(request, {Scope::kWork}); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto made = run(op, store);
    if (!made) return tl::unexpected(made.error());
    return resourceReply(made->resource, store, made->is_new ? 201 : 200);
  };
}

Result<Work> ResourceController::list(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kRead, Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  QueryReader query(request);
  ListResources op{.by = resourceCallerOf(request)};
  op.resource_id = query.text("resource_id", 256).value_or("");
  op.scope = query.text("scope", 256).value_or("");
  op.type = query.text("type", 128).value_or("");
  op.holder = query.text("holder", kMostHolder).value_or("");
  if (!op.holder.empty() && !parseHolder(op.holder)) {
    query.fault("holder", "must be store, external, host:NAME or worker:ID");
  }
  op.tenant = query.text("tenant", 128).value_or("");
  op.job = query.id("job_id");
  if (const auto state = query.text("state")) {
    op.state = parseResourceState(*state);
    if (!op.state) {
      query.fault("state", "must be uploading, active, stale, evicting, evicted or lost");
    }
  }
  const auto cursor = query.integer("cursor", 1, std::numeric_limits<std::int64_t>::max());
  if (cursor) op.cursor = std::to_string(*cursor);
  op.limit = query.limit();
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Resource& each : page->resources) {
      writeResource(out, each, store.rules().resources.part_bytes);
    }
    out.endArray();
    if (!page->next_cursor.empty()) out.field("next_cursor", page->next_cursor);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> ResourceController::get(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kRead, Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  auto name = resourceIn(request);
  if (!name) return tl::unexpected(std::move(name).error());
  if (auto ok = QueryReader(request).finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = FindResource{*std::move(name), resourceCallerOf(request)}](Store& store) {
    return resourceReply(run(op, store), store);
  };
}

Result<Work> ResourceController::remove(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kProduce, Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  auto name = resourceIn(request);
  if (!name) return tl::unexpected(std::move(name).error());
  QueryReader query(request);
  const bool force = query.boolean("force").value_or(false);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  if (force && !resourceCallerOf(request).is_admin) return missingScope(Scope::kAdmin);
  return [op = DeleteResource{*std::move(name), force, resourceCallerOf(request)}](Store& store) {
    return resourceReply(run(op, store), store);
  };
}

Result<Work> ResourceController::lease(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  auto name = resourceIn(request);
  if (!name) return tl::unexpected(std::move(name).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  LeaseResource op{.name = *std::move(name), .by = resourceCallerOf(request)};
  op.worker = in.id("worker_id").value_or("");
  if (const auto job = in.id("job_id")) {
    op.job = JobId(*job);
    op.lease_token = in.required("lease_token", in.text("lease_token", 1, 128));
    if (!op.worker.empty()) {
      in.fault("worker_id", "contradiction", "the lease is of a worker or of a job");
    }
  } else if (in.text("lease_token", 1, 128)) {
    in.fault("lease_token", "contradiction", "is of a job; name it with job_id");
  }
  op.ttl = readTtl(in);
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  if (!op.worker.empty()) {
    if (auto ok = request.principal.mayActAs(op.worker); !ok) {
      return tl::unexpected(std::move(ok).error());
    }
  }
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto leased = run(op, store);
    if (!leased) return tl::unexpected(leased.error());
    JsonWriter out;
    out.beginObject().field("lease_id", leased->lease_id).field("expires_at", leased->expires_at);
    out.key("resource");
    writeResource(out, leased->resource, store.rules().resources.part_bytes);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> ResourceController::release(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  auto name = resourceIn(request);
  if (!name) return tl::unexpected(std::move(name).error());
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const ReleaseResource op{*std::move(name),
                           in.required("lease_id", in.text("lease_id", 1, kMostLeaseId)),
                           resourceCallerOf(request)};
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [op](Store& store) { return resourceReply(run(op, store), store); };
}

Result<Work> ResourceController::touch(const Request& request) {
  if (auto ok = checkMayUse(request, {Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  auto name = resourceIn(request);
  if (!name) return tl::unexpected(std::move(name).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  TouchResource op{.name = *std::move(name), .ttl = readTtl(in), .by = resourceCallerOf(request)};
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) { return resourceReply(run(op, store), store); };
}

Result<Work> ResourceController::releaseScope(const Request& request) {
  auto scope = slashedNameIn(request, "scope");
  const bool is_of_work = scope && isScopeOfWork(*scope);
  const auto may = is_of_work ? checkMayUse(request, {Scope::kAdmin, Scope::kWork})
                              : checkMayUse(request, {Scope::kAdmin});
  if (!may) return tl::unexpected(may.error());
  if (!scope) return tl::unexpected(std::move(scope).error());
  return [op =
              ReleaseScope{*std::move(scope), resourceCallerOf(request)}](Store& store) -> Outcome {
    const auto released = run(op, store);
    if (!released) return tl::unexpected(released.error());
    JsonWriter out;
    out.beginObject().field("released", released->released).field("deferred", released->deferred);
    out.field("more", released->more).endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> ResourceController::sign(const Request& request) const {
  if (auto ok = checkMayUse(request, {Scope::kProduce, Scope::kWork}); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  auto name = resourceIn(request);
  if (!name) return tl::unexpected(std::move(name).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const auto seconds =
      in.integer("expires_seconds", 1, kMostSignedSeconds).value_or(kSignedSeconds);
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [op = FindContent{*std::move(name), resourceCallerOf(request)}, seconds,
          key = address_key_, base = own_url_()](Store& store) -> Outcome {
    const auto found = run(op, store);
    if (!found) return tl::unexpected(found.error());
    const Time until = std::chrono::floor<Seconds>(store.now() + Seconds(seconds));
    JsonWriter out;
    out.beginObject().field("url", base + signedPath(key, found->resource.uid, until));
    out.field("expires_at", until).endObject();
    return Reply::json(200, std::move(out));
  };
}

}  // namespace muster
