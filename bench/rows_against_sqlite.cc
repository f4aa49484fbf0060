// Many jobs per request, held against SQLite without a service around it.
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "bench/conversations.h"
#include "bench/raw_sqlite.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 4;
constexpr int kBatch = 1000;
constexpr int kClaim = 100;

constexpr std::array kDurabilities{std::pair("normal", Durability::kNormal),
                                   std::pair("full", Durability::kFull)};

// Runs `step`, which does `jobs` at a time, for a while.
template <class Step>
void sampleRaw(Series& series, double seconds, int jobs, const Step& step) {
  const auto began = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  double took = 0;
  double done = 0;
  while (took < seconds) {
    step();
    done += jobs;
    took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }
  series.add(done / took, static_cast<double>(std::clock() - cpu) * 1e6 / CLOCKS_PER_SEC / done);
}

void addAgainstSqlite(Report& report, const std::string& what, const Series& measured,
                      const Series& raw, double bar) {
  report.addShare(what, rateText(measured.median(), measured.medianCpuUs()),
                  "SQLite " + rateText(raw.median(), raw.medianCpuUs()), measured.ratioTo(raw),
                  bar);
}

}  // namespace

void measureBatch(const Workshop& shop, Report& report) {
  for (const auto& [name, durability] : kDurabilities) {
    RawSqlite sqlite(shop.path(fmt::format("batch-raw-{}.db", name)), durability, payload());
    const auto server = shop.service(fmt::format("batch-{}.db", name), durability);
    const auto pushing = repeat(postRequest("/v1/pools/bench/jobs/batch", batchBody(kBatch)), 201);
    Series raw, service;
    for (int i = 0; i < shop.rounds(); ++i) {
      sampleRaw(raw, shop.seconds(), kBatch, [&sqlite] { sqlite.insert(kBatch); });
      const double cpu = server->cpuSeconds();
      const auto result = shop.measure(*server, kConnections, pushing, {.seconds = shop.seconds()});
      const double jobs = static_cast<double>(result.requests) * kBatch;
      service.add(jobs / result.seconds, (server->cpuSeconds() - cpu) * 1e6 / jobs);
    }
    addAgainstSqlite(report, fmt::format("batch push, 1000 per request, {}", name), service, raw,
                     0.60);
  }
}

void measureBulk(const Workshop& shop, Report& report) {
  for (const auto& [name, durability] : kDurabilities) {
    RawSqlite sqlite(shop.path(fmt::format("bulk-raw-{}.db", name)), durability, payload());
    const auto server = shop.service(fmt::format("bulk-{}.db", name), durability);
    Series raw, service;
    for (int i = 0; i < shop.rounds(); ++i) {
      sampleRaw(raw, shop.seconds(), kClaim, [&sqlite] {
        sqlite.insert(kClaim);
        sqlite.completeAndClaim(kClaim);
      });
      std::atomic<std::int64_t> done = 0;
      const double cpu = server->cpuSeconds();
      const auto result =
          shop.measure(*server, kConnections, bulkLoop("bench", done), {.seconds = shop.seconds()});
      const auto jobs = static_cast<double>(done.load());
      service.add(jobs / result.seconds, (server->cpuSeconds() - cpu) * 1e6 / jobs);
    }
    addAgainstSqlite(report, fmt::format("bulk loop, 4 connections, {}", name), service, raw, 0.50);
  }
}

}  // namespace muster::bench
