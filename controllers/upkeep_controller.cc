#include "controllers/upkeep_controller.h"

#include "app/upkeep/duties.h"
#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr double kMinThreshold = 0.001, kMaxThreshold = 365.0 * 24 * 3600;
constexpr int kReapAtOnce = 1000;

std::optional<Millis> toThreshold(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  return Millis(static_cast<std::int64_t>(*seconds * 1000));
}

Outcome reapReply(const Reaped& reaped) {
  JsonWriter out;
  out.beginObject().list("reaped_workers", reaped.workers);
  out.field("reaped_count", reaped.workers.size());
  out.field("total_jobs_released", reaped.jobs_released).endObject();
  return Reply::json(200, std::move(out));
}

Result<std::string> poolOf(const Request& request, bool one_pool) {
  return one_pool ? request.pathId("pool_id") : Result<std::string>("");
}

}  // namespace

void UpkeepController::addRoutes(Router& router) {
  for (const bool one_pool : {true, false}) {
    const std::string path = one_pool ? "/v1/pools/{pool_id}/reap" : "/v1/reap";
    router.add("GET", path, Scope::kRead, {.read = [this, one_pool](const Request& request) {
                 return previewReap(request, one_pool);
               }});
    router.add(
        "POST", path, Scope::kAdmin,
        {.write = [this, one_pool](const Request& request) { return reap(request, one_pool); },
         .routine = true});
  }
  router.add("POST", "/v1/tick", Scope::kAdmin,
             {.write = [this](const Request& request) { return tick(request); }, .routine = true});
}

Result<Work> UpkeepController::previewReap(const Request& request, bool one_pool) {
  auto pool = poolOf(request, one_pool);
  if (!pool) return tl::unexpected(std::move(pool).error());
  QueryReader query(request);
  const auto threshold =
      toThreshold(query.number("stale_threshold_seconds", kMinThreshold, kMaxThreshold));
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [pool = *std::move(pool), threshold](Store& store) {
    return reapReply(store.workers().stale(pool, threshold, false, kReapAtOnce));
  };
}

Result<Work> UpkeepController::reap(const Request& request, bool one_pool) {
  auto pool = poolOf(request, one_pool);
  if (!pool) return tl::unexpected(std::move(pool).error());
  auto body = parseBody(request, true);
  if (!body) return tl::unexpected(std::move(body).error());
  std::vector<FieldError> faults;
  ObjectReader in(body->root(), "", faults);
  const auto threshold =
      toThreshold(in.number("stale_threshold_seconds", kMinThreshold, kMaxThreshold));
  in.finish();
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  return [pool = *std::move(pool), threshold](Store& store) {
    return reapReply(store.workers().stale(pool, threshold, true, kReapAtOnce));
  };
}

Result<Work> UpkeepController::tick(const Request& request) {
  if (auto ok = checkNoBody(request); !ok) return tl::unexpected(std::move(ok).error());
  return [this](Store& store) -> Outcome {
    const DutyReport report = runDuties(store, retention_);
    on_tick_(store);
    JsonWriter out;
    out.beginObject().field("leases_expired", report.leases_expired);
    out.field("jobs_promoted", report.jobs_promoted).field("jobs_expired", report.jobs_expired);
    out.field("workers_reaped", report.workers_reaped);
    out.field("records_removed", report.records_removed).endObject();
    return Reply::json(200, std::move(out));
  };
}

}  // namespace muster
