// What it costs to look at everything at once.
#include <fmt/format.h>

#include "bench/conversations.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

// Pools with jobs in several states and lanes, all of which have run some.
void makePools(const Workshop& shop, const ServerProcess& server, int pools) {
  for (int i = 0; i < pools; ++i) {
    const std::string pool = fmt::format("pool-{:04}", i);
    shop.fill(server, pool, 10);
    shop.fill(server, pool, 2, R"(,"tenant":"acme")");
    if (i % 10 == 0) {
      shop.fill(server, pool, 2, R"(,"placement":{"requires_capabilities":["none-has-it"]})");
    }
    shop.measure(server, 1, claimAndComplete(pool), {.requests = 4});
  }
}

}  // namespace

void measureMetrics(const Workshop& shop, Report& report) {
  constexpr int kPools = 1000;
  constexpr double kMost = 50;
  const auto server = shop.service("metrics.db", Durability::kNormal);
  makePools(shop, *server, kPools);
  std::size_t bytes = 0;
  struct Scrape : Conversation {
    std::size_t* bytes;
    std::string_view next() override { return "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"; }
    bool heard(int status, std::string_view body) override {
      *bytes = body.size();
      return status == 200;
    }
  };
  const auto scrapes = shop.measure(*server, 1,
                                    [&bytes](int) {
                                      auto scrape = std::make_unique<Scrape>();
                                      scrape->bytes = &bytes;
                                      return scrape;
                                    },
                                    {.requests = shop.quick() ? 20 : 100});
  const double median = quantile(scrapes.latencies_ms, 0.5);
  report.add(
      {fmt::format("GET /metrics, {} pools, {:.1f} MB", kPools, static_cast<double>(bytes) / 1e6),
       fmt::format("{:.1f} ms", median), "", "", fmt::format("<= {:.0f} ms", kMost),
       median <= kMost});
}

}  // namespace muster::bench
