#include "controllers/affinity_controller.h"

#include <limits>

#include "models/json/affinity_json.h"
#include "models/json/json_reader.h"
#include "models/operations/affinities.h"

namespace muster {
namespace {

constexpr std::size_t kMostTenantBytes = 128;

Outcome affinityReply(const Result<Affinity>& affinity, int status = 200) {
  if (!affinity) return tl::unexpected(affinity.error());
  JsonWriter out;
  writeAffinity(out, *affinity);
  return Reply::json(status, std::move(out));
}

// The key in the path may be any text.
Result<std::string> affinityKeyOf(const Request& request) {
  for (const auto& [name, value] : request.path_values) {
    if (name != "key") continue;
    if (!value.empty() && value.size() <= kMaxAffinityKey) return value;
  }
  return fail(ErrorCode::kInvalidId, "a key has 1 to 256 bytes");
}

ResourceCaller callerOf(const Request& request) {
  return {request.principal.worker, request.principal.mayEverywhere(Scope::kAdmin)};
}

// What every operation on one key has: the key in the path, and whose it is.
template <class Op>
Result<Op> readKey(const Request& request, QueryReader& query) {
  Op op;
  auto key = affinityKeyOf(request);
  if (!key) return tl::unexpected(std::move(key).error());
  op.key = *std::move(key);
  op.tenant = query.text("tenant", kMostTenantBytes).value_or("");
  return op;
}

}  // namespace

void AffinityController::addRoutes(Router& router) {
  using C = AffinityController;
  const std::string one = "/v1/affinities/{key}";
  router.add("GET", "/v1/affinities", Scope::kRead, {.read = C::list});
  router.add("GET", one, Scope::kRead, {.read = C::find});
  router.add("PUT", one, Scope::kWork, {.write = C::put});
  router.add("DELETE", one, Scope::kWork, {.write = C::remove});
  router.add("POST", one + "/touch", Scope::kWork, {.write = C::touch, .routine = true});
}

Result<Work> AffinityController::list(const Request& request) {
  QueryReader query(request);
  ListAffinities op;
  op.tenant = query.text("tenant", kMostTenantBytes);
  if (const auto holder = query.text("holder", 300)) {
    const auto parsed = parseHolder(*holder);
    const bool can_hold =
        parsed && (parsed->kind == Holder::Kind::kHost || parsed->kind == Holder::Kind::kWorker);
    if (!can_hold) query.fault("holder", "must be host:NAME or worker:ID");
    op.holder = *holder;
  }
  if (const auto state = query.text("state", 16)) {
    op.state = parseAffinityState(*state);
    if (!op.state || *op.state == AffinityState::kUnbound) {
      query.fault("state", "must be active, draining or stale");
    }
  }
  op.after = query.integer("cursor", 1, std::numeric_limits<std::int64_t>::max()).value_or(0);
  op.limit = query.limit();
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Affinity& affinity : page->affinities) writeAffinity(out, affinity);
    out.endArray();
    if (page->next) out.field("next_cursor", std::to_string(*page->next));
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> AffinityController::find(const Request& request) {
  QueryReader query(request);
  auto op = readKey<FindAffinity>(request, query);
  if (!op) return tl::unexpected(std::move(op).error());
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = *std::move(op)](Store& store) { return affinityReply(run(op, store)); };
}

Result<Work> AffinityController::put(const Request& request) {
  QueryReader query(request);
  auto op = readKey<PutAffinity>(request, query);
  if (!op) return tl::unexpected(std::move(op).error());
  op->force = query.boolean("force").value_or(false);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  AffinityBody given = readAffinity(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  op->holder = std::move(given.holder);
  op->ttl = given.ttl;
  op->metadata = std::move(given.metadata);
  op->by = callerOf(request);
  return [op = *std::move(op)](Store& store) -> Outcome {
    auto put = run(op, store);
    if (!put) return tl::unexpected(std::move(put).error());
    return affinityReply(std::move(put->affinity), put->is_new ? 201 : 200);
  };
}

Result<Work> AffinityController::touch(const Request& request) {
  QueryReader query(request);
  auto op = readKey<TouchAffinity>(request, query);
  if (!op) return tl::unexpected(std::move(op).error());
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  const auto body = parseBody(request, true);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  op->ttl = readAffinityTouch(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  op->by = callerOf(request);
  return [op = *std::move(op)](Store& store) { return affinityReply(run(op, store)); };
}

Result<Work> AffinityController::remove(const Request& request) {
  QueryReader query(request);
  auto op = readKey<DeleteAffinity>(request, query);
  if (!op) return tl::unexpected(std::move(op).error());
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  op->by = callerOf(request);
  return [op = *std::move(op)](Store& store) -> Outcome {
    if (auto ok = run(op, store); !ok) return tl::unexpected(std::move(ok).error());
    return Reply{204, "", ""};
  };
}

}  // namespace muster
