#include "controllers/service_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <unordered_map>

#include "models/base64.h"
#include "models/operations/flows.h"
#include "models/operations/hosts.h"
#include "models/operations/resources.h"
#include "models/store/random.h"

namespace muster {
namespace {

// How a policy names the text between two tags of a page.
std::string hashSource(std::string_view page, std::string_view open, std::string_view close) {
  const std::size_t begin = std::min(page.find(open) + open.size(), page.size());
  const std::string hex = sha256Hex(page.substr(begin, page.find(close, begin) - begin));
  std::string bytes;
  for (std::size_t at = 0; at + 2 <= hex.size(); at += 2) {
    unsigned byte = 0;
    std::from_chars(hex.data() + at, hex.data() + at + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return fmt::format("'sha256-{}'", encodeBase64(bytes));
}

// The page may run its own script and ask this service; nothing else, also not in a frame.
std::string policyOf(std::string_view page) {
  return fmt::format(
      "default-src 'none'; script-src {}; style-src {}; img-src data:; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      hashSource(page, "<script>", "</script>"), hashSource(page, "<style>", "</style>"));
}

// The same for everybody, so of no pool.
Handler fixed(Reply reply) {
  return {.answer = [reply = std::move(reply)](const RequestPtr&,
                                               const Respond& respond) { respond(reply); },
          .pool_rule = PoolRule::kHandler};
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
  Reply docs{200, documents_.docs_html, "text/html; charset=utf-8"};
  docs.with("Content-Security-Policy", policyOf(documents_.docs_html));
  docs.with("Referrer-Policy", "no-referrer");
  router.add("GET", "/docs", Scope::kRead, fixed(std::move(docs)));
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
    gauges.reserve(pools.size());
    std::unordered_map<std::string, SumWorkerResources::Sum> held;
    auto sums = *run(SumWorkerResources{}, store);
    for (auto& sum : sums) held.emplace(sum.pool, sum);
    for (auto& [pool, stats] : pools) {
      gauges.push_back({pool->id.str(), std::move(stats), *pool->settings.min_workers,
                        *pool->settings.max_workers});
      if (const auto sum = held.find(pool->id.str()); sum != held.end()) {
        gauges.back().resource_disk_bytes = sum->second.disk_bytes;
        gauges.back().resource_mem_bytes = sum->second.mem_bytes;
      }
    }
    metrics_.countCommits(storage_.commits());
    metrics_.setPendingWebhooks(store.webhooks().pending());
    metrics_.setFlows(*run(CountFlows{}, store));
    metrics_.setResources(*run(CountResources{}, store));
    return Reply{200, metrics_.expose(gauges, node_.lease().has_value()),
                 "text/plain; version=0.0.4; charset=utf-8"};
  };
}

}  // namespace muster
