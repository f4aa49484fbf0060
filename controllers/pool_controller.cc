#include "controllers/pool_controller.h"

#include "models/json/json_reader.h"
#include "models/json/load_json.h"
#include "models/json/pool_json.h"

namespace muster {
namespace {

constexpr int kPiece = 2000;
constexpr int kMostBuckets = 500, kUsualBuckets = 60;
constexpr auto kUsualSpan = std::chrono::hours(1);
constexpr auto kLongestSpan = std::chrono::days(7);

Outcome poolReply(Store& store, Result<Pools::Saved> saved) {
  if (!saved) return tl::unexpected(std::move(saved).error());
  JsonWriter out;
  writePool(out, *saved->pool, store.launches().record(*saved->pool));
  Reply reply = Reply::json(saved->created ? 201 : 200, std::move(out));
  reply.with("ETag", etag(saved->pool->version));
  return reply;
}

Error noPool(const PoolId& id) {
  return {ErrorCode::kNotFound, "there is no pool '" + id.str() + "'"};
}

Status checkSpan(Time begin, Time end) {
  std::string why;
  if (begin >= end) why = "must be before to, and not in the future";
  if (end - begin > kLongestSpan) why = "may be at most 7 days before to";
  if (why.empty()) return {};
  return tl::unexpected(Error{ErrorCode::kInvalidQuery, "from " + why, {{"from", "invalid", why}}});
}

Result<PoolSettings> readSettings(const Request& request) {
  auto body = parseBody(request, true);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  PoolSettings settings = readPoolSettings(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return settings;
}

Outcome countReply(Store&, std::int64_t count) {
  JsonWriter out;
  out.beginObject().field("count", count).endObject();
  return Reply::json(200, std::move(out));
}

}  // namespace

void PoolController::addRoutes(Router& router) {
  const auto method = [this](auto member) {
    return [this, member](const Request& request) { return (this->*member)(request); };
  };
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, Respond respond) {
      (this->*member)(request, std::move(respond));
    };
  };
  using C = PoolController;
  const std::string pool = "/v1/pools/{pool_id}";
  router.add("GET", "/v1/pools", Scope::kRead, {.read = method(&C::list)});
  router.add("GET", pool, Scope::kRead, {.read = method(&C::get)});
  router.add("PUT", pool, Scope::kAdmin, {.write = method(&C::put)});
  router.add("PATCH", pool, Scope::kAdmin, {.write = method(&C::patch)});
  router.add("DELETE", pool, Scope::kAdmin, {.answer = later(&C::remove)});
  router.add("GET", pool + "/stats", Scope::kRead, {.read = method(&C::stats)});
  router.add("GET", pool + "/timeline", Scope::kRead, {.read = method(&C::timeline)});
  router.add("POST", pool + "/pause", Scope::kAdmin,
             {.write = [this](const Request& request) { return pause(request, true); }});
  router.add("POST", pool + "/resume", Scope::kAdmin,
             {.write = [this](const Request& request) { return pause(request, false); }});
  router.add("POST", pool + "/retry", Scope::kProduce, {.answer = later(&C::retry)});
  router.add("POST", pool + "/purge", Scope::kProduce, {.answer = later(&C::purge)});
}

Result<Work> PoolController::list(const Request& request) {
  QueryReader query(request);
  const int limit = query.limit();
  const std::string cursor = query.id("cursor");
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [limit, cursor](Store& store) -> Outcome {
    const auto pools = store.pools().list(cursor, limit + 1);
    const std::size_t shown = std::min(pools.size(), static_cast<std::size_t>(limit));
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (std::size_t i = 0; i < shown; ++i) {
      writePool(out, *pools[i], store.launches().record(*pools[i]));
    }
    out.endArray();
    if (shown < pools.size()) out.field("next_cursor", pools[shown - 1]->id);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> PoolController::get(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  return [id = *std::move(id)](Store& store) -> Outcome {
    auto pool = store.pools().find(id);
    if (!pool) return tl::unexpected(noPool(id));
    return poolReply(store, Pools::Saved{std::move(pool), false});
  };
}

Result<Work> PoolController::put(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  auto settings = readSettings(request);
  if (!settings) return tl::unexpected(std::move(settings).error());
  auto version = request.ifMatch();
  if (!version) return tl::unexpected(std::move(version).error());
  return [id = *std::move(id), settings = *std::move(settings), version = *version](Store& store) {
    return poolReply(store, store.pools().put(id, settings, version));
  };
}

Result<Work> PoolController::patch(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  auto settings = readSettings(request);
  if (!settings) return tl::unexpected(std::move(settings).error());
  QueryReader query(request);
  const std::vector<std::string> unset = query.texts("unset");
  for (const std::string& name : unset) {
    if (PoolSettings any; !unsetField(any, name)) {
      query.fault("unset", "names no setting of a pool: '" + name + "'");
    }
  }
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  auto version = request.ifMatch();
  if (!version) return tl::unexpected(std::move(version).error());
  return [id = *std::move(id), settings = *std::move(settings), version = *version,
          unset](Store& store) {
    return poolReply(store, store.pools().patch(id, settings, version, unset));
  };
}

Result<Work> PoolController::pause(const Request& request, bool paused) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [id = *std::move(id), paused](Store& store) {
    PoolSettings change;
    change.paused = paused;
    auto saved = store.pools().patch(id, change);
    if (saved && !paused) store.launches().resume(*saved->pool);
    return poolReply(store, std::move(saved));
  };
}

Result<Work> PoolController::stats(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = QueryReader(request).finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [this, id = *std::move(id)](Store& store) -> Outcome {
    const auto unwritten = load_.unwritten(id, store.load().recentSince());
    PoolStats stats = store.pools().stats(id);
    Durations waits = store.load().recent(id, "wait");
    for (const auto& [step, counts] : unwritten) waits.merge(counts.waits);
    stats.p95_wait_ms = waits.percentileMs(0.95);
    JsonWriter out;
    writePoolStats(out, id, stats);
    return Reply::json(200, std::move(out));
  };
}

Result<Work> PoolController::timeline(const Request& request) {
  auto id = request.pathId<PoolId>("pool_id");
  if (!id) return tl::unexpected(std::move(id).error());
  QueryReader query(request);
  const auto from = query.time("from"), to = query.time("to");
  const auto buckets = query.integer("buckets", 1, kMostBuckets).value_or(kUsualBuckets);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [this, id = *std::move(id), from, to, buckets](Store& store) -> Outcome {
    const Time end = std::min(to.value_or(store.now()), store.now());
    const Time begin = from.value_or(end - kUsualSpan);
    if (auto ok = checkSpan(begin, end); !ok) return tl::unexpected(std::move(ok).error());
    if (!store.pools().find(id)) return tl::unexpected(noPool(id));
    const TimelineSpan span = timelineSpan(begin, end, static_cast<int>(buckets));
    const auto unwritten = load_.unwritten(id, span.from);
    std::vector<LoadStep> steps = store.load().steps(id, span.from, span.to);
    for (const auto& [step, counts] : unwritten) steps.push_back({step.second, counts, {}});
    std::stable_sort(steps.begin(), steps.end(),
                     [](const LoadStep& a, const LoadStep& b) { return a.at < b.at; });
    JsonWriter out;
    writeTimeline(out, id, span,
                  muster::timeline(span, steps, store.load().gaugesBefore(id, span.from)));
    return Reply::json(200, std::move(out));
  };
}

void PoolController::inPieces(const RequestPtr& request, const Piece& piece, const Last& last,
                              Respond respond, std::int64_t total) {
  auto sum = std::make_shared<std::int64_t>(total);
  gateway_.write(
      request,
      [piece, last, total, sum](Store& store) -> Outcome {
        const auto done = piece(store);
        if (!done) return tl::unexpected(done.error());
        *sum = total + *done;
        if (*done < kPiece) return last(store, *sum);
        Reply unfinished;
        unfinished.final = false;
        return unfinished;
      },
      [=, this, respond = std::move(respond)](Outcome outcome) {
        if (!outcome || outcome->final) {
          respond(std::move(outcome));
        } else {
          inPieces(request, piece, last, respond, *sum);
        }
      });
}

void PoolController::retry(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<PoolId>("pool_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  if (auto ok = checkNoBody(*request); !ok) return respond(tl::unexpected(ok.error()));
  inPieces(
      request,
      [id = *std::move(id)](Store& store) -> Result<std::int64_t> {
        if (!store.pools().find(id)) return tl::unexpected(noPool(id));
        return store.jobs().retryPoisoned(id, kPiece);
      },
      countReply, std::move(respond));
}

void PoolController::purge(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<PoolId>("pool_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  const auto body = parseBody(*request, true);
  if (!body) return respond(tl::unexpected(body.error()));
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  std::vector<JobStatus> statuses;
  if (const auto names = in.texts("status", kJobStatuses, 32)) {
    for (const std::string& text : *names) {
      const auto status = parseJobStatus(text);
      if (status && isFinished(*status)) {
        statuses.push_back(*status);
      } else {
        in.fault("status", "choice", "may name done, poisoned and cancelled");
      }
    }
  } else {
    statuses = {JobStatus::kDone, JobStatus::kCancelled};
  }
  std::optional<Millis> older_than;
  if (const auto seconds = in.number("older_than_seconds", 0, 1e10)) {
    older_than = Millis(static_cast<std::int64_t>(*seconds * 1000));
  }
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return respond(tl::unexpected(ok.error()));
  inPieces(
      request,
      [id = *std::move(id), statuses, older_than](Store& store) -> Result<std::int64_t> {
        if (!store.pools().find(id)) return tl::unexpected(noPool(id));
        return store.jobs().purge(id, statuses, older_than, kPiece);
      },
      countReply, std::move(respond));
}

void PoolController::remove(const RequestPtr& request, Respond respond) {
  auto id = request->pathId<PoolId>("pool_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  auto version = request->ifMatch();
  if (!version) return respond(tl::unexpected(version.error()));
  QueryReader query(*request);
  const bool force = query.boolean("force").value_or(false);
  if (auto ok = query.finish(); !ok) return respond(tl::unexpected(ok.error()));
  inPieces(
      request,
      [id = *id, force, version = *version](Store& store) -> Result<std::int64_t> {
        const auto pool = store.pools().find(id);
        if (!pool) return tl::unexpected(noPool(id));
        if (!versionFits(version, pool->version)) {
          return fail(ErrorCode::kVersionMismatch,
                      "the pool is at version " + std::to_string(pool->version));
        }
        if (!force) return 0;
        return store.jobs().purge(id,
                                  {JobStatus::kPending, JobStatus::kClaimed, JobStatus::kDone,
                                   JobStatus::kPoisoned, JobStatus::kCancelled},
                                  std::nullopt, kPiece);
      },
      [id = *id](Store& store, std::int64_t) -> Outcome {
        if (auto ok = store.pools().remove(id); !ok) return tl::unexpected(std::move(ok).error());
        return Reply{204, "", ""};
      },
      std::move(respond));
}

}  // namespace muster
