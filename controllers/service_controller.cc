#include "controllers/service_controller.h"

namespace muster {
namespace {

Handler fixed(Reply reply) {
  return {.answer = [reply = std::move(reply)](const RequestPtr&, const Respond& respond) {
    respond(reply);
  }};
}

Reply statusReply(int status, std::string_view word) {
  JsonWriter out;
  out.beginObject().field("status", word).endObject();
  return Reply::json(status, std::move(out));
}

}  // namespace

void ServiceController::addRoutes(Router& router) {
  router.add("GET", "/healthz", std::nullopt, fixed(statusReply(200, "ok")));
  router.add("GET", "/readyz", std::nullopt,
             {.answer = [this](const RequestPtr& request, Respond respond) {
               ready(request, std::move(respond));
             }});
  router.add("GET", "/metrics", Scope::kRead,
             {.read = [this](const Request& request) { return metrics(request); },
              .unlimited = true});  // whoever is overloaded must be seen
  JsonWriter version;
  version.beginObject().field("name", "muster").field("version", MUSTER_VERSION);
  version.field("api", "v1").endObject();
  router.add("GET", "/version", Scope::kRead, fixed(Reply::json(200, std::move(version))));
  router.add("GET", "/openapi.json", Scope::kRead, fixed(Reply{200, documents_.openapi_json}));
  router.add("GET", "/docs", Scope::kRead,
             fixed(Reply{200, documents_.docs_html, "text/html; charset=utf-8"}));
}

// Ready means a transaction can begin and end now.
void ServiceController::ready(const RequestPtr& request, Respond respond) {
  if (gateway_.stopping()) {
    respond(tl::unexpected(Error{ErrorCode::kDraining, "the service is stopping", {}, Seconds(5)}));
    return;
  }
  gateway_.write(
      request,
      [](Store&) -> Outcome {
        JsonWriter out;
        out.beginObject().field("status", "ready").field("store", "ok").endObject();
        return Reply::json(200, std::move(out));
      },
      std::move(respond));
}

Result<Work> ServiceController::metrics(const Request&) {
  return [this](Store& store) -> Outcome {
    std::vector<Metrics::PoolGauges> gauges;
    auto pools = store.pools().overview();
    if (pools.size() > Metrics::kMostPools) {
      // The oldest have labels of their own, so that a new pool takes none from another.
      std::stable_sort(pools.begin(), pools.end(), [](const auto& a, const auto& b) {
        return a.pool->created_at < b.pool->created_at;
      });
    }
    for (auto& [pool, stats] : pools) {
      gauges.push_back({pool->id.str(), std::move(stats), *pool->settings.min_workers,
                        *pool->settings.max_workers});
    }
    metrics_.countCommits(storage_.commits());
    metrics_.setPendingWebhooks(store.webhooks().pending());
    return Reply{200, metrics_.expose(gauges, node_.lease().has_value()),
                 "text/plain; version=0.0.4; charset=utf-8"};
  };
}

}  // namespace muster
