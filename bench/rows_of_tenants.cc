// What many tenants cost: claims from a pool where a thousand take turns.
#include <fmt/format.h>

#include "bench/conversations.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 64;
constexpr int kTenants = 1000;
constexpr int kDepth = 3;  // jobs of each tenant that wait
constexpr const char* kPool = "bench";

std::string pushOfEach(bool with_tenants) {
  std::string items;
  for (int i = 0; i < kTenants; ++i) {
    if (i > 0) items += ',';
    items += jobBody(with_tenants ? fmt::format(R"(,"tenant":"tenant-{}")", i) : "");
  }
  return postRequest(fmt::format("/v1/pools/{}/jobs/batch", kPool),
                     fmt::format(R"({{"items":[{}]}})", items));
}

// A pool with as many jobs as are taken from it.
struct Side {
  std::unique_ptr<ServerProcess> server;
  MakeConversation push;
  Series claims, turns;

  Side(const Workshop& shop, const std::string& name, bool with_tenants)
      : server(shop.service(name, Durability::kNormal)),
        push(repeat(pushOfEach(with_tenants), 201)) {
    shop.measure(*server, 1, push, {.requests = kDepth});
  }
  // One job of each tenant is claimed; outside of the measurement it ends, and another comes.
  void sampleClaims(const Workshop& shop) {
    Held held;
    shop.sample(claims, *server, kConnections, claimAndKeep(kPool, held), {.requests = kTenants});
    shop.measure(*server, 1, repeat(doneReports(kPool, held.jobs), 200), {.requests = 1});
    shop.measure(*server, 1, push, {.requests = 1});
  }
  void sampleTurns(const Workshop& shop) {
    shop.sample(turns, *server, kConnections, claimAndComplete(kPool), {.requests = 2 * kTenants});
    shop.measure(*server, 1, push, {.requests = 1});
  }
};

}  // namespace

void measureTenants(const Workshop& shop, Report& report) {
  Side with(shop, "tenants.db", true), without(shop, "nobody.db", false);
  for (int i = 0; i < (shop.quick() ? 20 : 40); ++i) {
    for (Side* side : {&without, &with}) side->sampleClaims(shop);
    for (Side* side : {&without, &with}) side->sampleTurns(shop);
  }
  const auto add = [&](const char* what, Series Side::*series) {
    const Series &measured = with.*series, &baseline = without.*series;
    report.addShare(fmt::format("{}, {} tenants, {} connections", what, kTenants, kConnections),
                    rateText(measured.median(), measured.medianCpuUs()),
                    "no tenants " + rateText(baseline.median(), baseline.medianCpuUs()),
                    measured.overallRatioTo(baseline), 0.7);
  };
  add("claim", &Side::claims);
  add("claim + complete", &Side::turns);
}

}  // namespace muster::bench
