#include "controllers/check_controller.h"

#include <charconv>

#include "models/json/decision_json.h"
#include "models/json/explain_json.h"
#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::int64_t kMostWorkers = 1'000'000;

Outcome decisionReply(const Result<Decision>& decision) {
  if (!decision) return tl::unexpected(decision.error());
  JsonWriter out;
  writeDecision(out, *decision);
  return Reply::json(200, std::move(out));
}

Error noPoolToCheck(const PoolId& id) {
  return {ErrorCode::kNotFound, "there is no pool '" + id.str() + "'"};
}

Outcome scaleReply(Store& store, const Pool& pool) {
  const ScaleState state = store.scaling().state(pool);
  JsonWriter out;
  out.beginObject().field("pool_id", pool.id).field("mode", *pool.settings.scaling_mode);
  out.field("current_workers", state.current());
  if (pool.settings.scaling_mode == "target") {
    out.field("target_workers", pool.settings.target_workers.value_or(0));
  }
  out.field("min_workers", *pool.settings.min_workers);
  out.field("max_workers", *pool.settings.max_workers).endObject();
  return Reply::json(200, std::move(out));
}

}  // namespace

void CheckController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  using C = CheckController;
  const std::string pool = "/v1/pools/{pool_id}";
  router.add("GET", pool + "/check", Scope::kRead, {.read = method(&C::explain)});
  router.add("POST", pool + "/check", Scope::kProduce,
             {.answer = [this](const RequestPtr& request,
                               Respond respond) { check(request, std::move(respond)); },
              .routine = true});
  router.add("POST", "/v1/autoscaler/explain", Scope::kRead,
             {.read = method(&C::explainFigures), .pool_rule = PoolRule::kHandler});
  router.add("GET", pool + "/decisions", Scope::kRead, {.read = method(&C::decisions)});
  router.add("GET", pool + "/scale", Scope::kRead, {.read = method(&C::scale)});
  router.add("PUT", pool + "/scale", Scope::kAdmin, {.write = method(&C::setScale)});
}

Result<Work> CheckController::explain(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  QueryReader query(request);
  const auto max_workers = query.integer("max_workers", 0, kMostWorkers);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [this, id = *std::move(id), max_workers](Store& store) {
    return decisionReply(checker_.preview(store, id, max_workers));
  };
}

Result<Work> CheckController::explainFigures(const Request& request) {
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  auto figures = readExplain(body->root(), defaults_, faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [figures = std::move(figures)](Store& store) -> Outcome {
    JsonWriter out;
    writeExplanation(out, figures, store.now());
    return Reply::json(200, std::move(out));
  };
}

void CheckController::check(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<PoolId>("pool_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  const auto body = parseBody(*request, true);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const auto max_workers = in.integer("max_workers", 0, kMostWorkers);
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  auto run = checker_.begin(*id, "api", max_workers);
  gateway_.write(
      request, [run](Store& store) { return decisionReply(run->perform(store)); },
      [run, respond = std::move(respond)](Outcome outcome) {
        run->finish(outcome.has_value());
        respond(std::move(outcome));
      });
}

Result<Work> CheckController::decisions(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  QueryReader query(request);
  const int limit = query.limit();
  const std::string cursor = query.id("cursor");
  std::int64_t before = 0;
  const auto read = std::from_chars(cursor.data(), cursor.data() + cursor.size(), before);
  if (!cursor.empty() && (read.ec != std::errc() || read.ptr != cursor.data() + cursor.size())) {
    query.fault("cursor", "must be the next_cursor of an earlier page");
  }
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), before, limit](Store& store) -> Outcome {
    const auto page = store.decisions().list(id, before, limit);
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Decision& decision : page.decisions) writeDecision(out, decision);
    out.endArray();
    if (page.more) out.field("next_cursor", std::to_string(page.decisions.back().id));
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> CheckController::scale(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = QueryReader(request).finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id)](Store& store) -> Outcome {
    const auto pool = store.pools().find(id);
    if (!pool) return tl::unexpected(noPoolToCheck(id));
    return scaleReply(store, *pool);
  };
}

Result<Work> CheckController::setScale(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const auto target = in.required("target_workers", in.integer("target_workers", 0, kMostWorkers));
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), target](Store& store) -> Outcome {
    PoolSettings change;
    change.scaling_mode = "target";
    change.target_workers = target;
    const auto saved = store.pools().patch(id, change);
    if (!saved) return tl::unexpected(saved.error());
    return scaleReply(store, *saved->pool);
  };
}

}  // namespace muster
