// What a pool costs when it is full: claims, memory, start.
#include <fmt/format.h>

#include <chrono>

#include "bench/conversations.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 64;
constexpr std::int64_t kSlice = 1000;
constexpr std::int64_t kShallow = 1500;  // 1000 on average while a slice is claimed

// Takes a slice of jobs out of a pool as fast as 64 connections can and puts as many back in.
void sampleClaims(const Workshop& shop, Series& series, const ServerProcess& server) {
  const auto claiming =
      repeat(postRequest("/v1/pools/bench/claim", R"({"worker_id":"bench"})"), 200, "lease_token");
  shop.sample(series, server, kConnections, claiming, {.requests = kSlice});
  shop.fill(server, "bench", kSlice);
}

int slices(const Workshop& shop) { return shop.quick() ? 20 : 40; }

double secondsToReady(const Workshop& shop, const std::string& name) {
  const auto began = std::chrono::steady_clock::now();
  const auto server = shop.service(name, Durability::kFull);
  const auto asking = repeat("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 200);
  while (runLoad(server->port(), 1, asking, {.requests = 1}).failures > 0) {
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::string inThousands(std::int64_t jobs) {
  return jobs % 1'000'000 == 0 ? fmt::format("{} M", jobs / 1'000'000)
                               : fmt::format("{} k", jobs / 1000);
}

}  // namespace

void measureLargePool(const Workshop& shop, Report& report, const LargePoolRows& rows) {
  constexpr const char* kName = "large.db";
  const std::int64_t jobs = shop.quick() ? 200'000 : 1'000'000;
  const std::string many = inThousands(jobs);
  auto large = shop.service(kName, Durability::kNormal);
  shop.fill(*large, "bench", jobs);
  if (rows.memory) {
    const double most = 200;
    const double megabytes = static_cast<double>(large->residentBytes()) / 1e6;
    report.add({fmt::format("resident memory, {} pending jobs of 256 bytes", many),
                fmt::format("{:.0f} MB", megabytes), "", "", fmt::format("<= {:.0f} MB", most),
                megabytes <= most});
  }
  if (rows.depth) {
    const auto shallow = shop.service("shallow.db", Durability::kNormal);
    shop.fill(*shallow, "bench", kShallow);
    Series deep_rate, shallow_rate;
    for (int i = 0; i < slices(shop); ++i) {
      sampleClaims(shop, shallow_rate, *shallow);
      sampleClaims(shop, deep_rate, *large);
    }
    report.addShare(fmt::format("claim, {} pending, 64 connections", many),
                    rateText(deep_rate.median(), deep_rate.medianCpuUs()),
                    "1 k pending " + rateText(shallow_rate.median(), shallow_rate.medianCpuUs()),
                    deep_rate.overallRatioTo(shallow_rate), 0.9);
  }
  large.reset();
  if (rows.start) {
    const double most = 0.3;
    Series starts;
    for (int i = 0; i < shop.rounds(); ++i) starts.add(secondsToReady(shop, kName));
    report.add({fmt::format("start to /readyz, {} jobs", many),
                fmt::format("{:.3f} s", starts.median()), "", "", fmt::format("<= {} s", most),
                starts.median() <= most});
  }
}

void measureBehind(const Workshop& shop, Report& report) {
  constexpr std::int64_t kObstacles = 100'000;
  constexpr int kKinds = 100;
  const auto free = shop.service("free.db", Durability::kNormal);
  const auto delayed = shop.service("delayed.db", Durability::kNormal);
  const auto constrained = shop.service("constrained.db", Durability::kNormal);
  const auto mixed = shop.service("mixed.db", Durability::kNormal);
  shop.fill(*delayed, "bench", kObstacles, R"(,"delay_seconds":3600)");
  shop.fill(*constrained, "bench", kObstacles,
            R"(,"placement":{"requires_capabilities":["none-has-it"]})");
  for (int kind = 0; kind < kKinds; ++kind) {
    shop.fill(*mixed, "bench", kObstacles / kKinds,
              fmt::format(R"(,"placement":{{"requires_capabilities":["none-has-{}"]}})", kind));
  }
  const std::array servers{free.get(), delayed.get(), constrained.get(), mixed.get()};
  const std::array names{"", "delayed jobs", "constrained jobs", "jobs with 100 constraints"};
  std::array<Series, 4> series;
  for (const ServerProcess* server : servers) shop.fill(*server, "bench", kShallow);
  for (int i = 0; i < slices(shop); ++i) {
    for (std::size_t k = 0; k < servers.size(); ++k) sampleClaims(shop, series[k], *servers[k]);
  }
  for (std::size_t k = 1; k < servers.size(); ++k) {
    report.addShare(fmt::format("claim behind 100 k {}", names[k]),
                    rateText(series[k].median(), series[k].medianCpuUs()),
                    "none " + rateText(series[0].median(), series[0].medianCpuUs()),
                    series[k].overallRatioTo(series[0]), 0.8);
  }
}

}  // namespace muster::bench
