// The service on PostgreSQL, held against what the database does by itself and against peers.
#include <fmt/format.h>

#include <fstream>
#include <thread>

#include "bench/conversations.h"
#include "bench/database.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 64;

// The row of a job, as plain as a table can hold it.
void measurePushes(const Workshop& shop, Report& report) {
  const Database ours(shop), plain(shop);
  plain.query(
      "CREATE TABLE jobs (seq BIGSERIAL PRIMARY KEY, id TEXT NOT NULL UNIQUE, pool_id TEXT NOT "
      "NULL, "
      "status TEXT NOT NULL, priority BIGINT NOT NULL, attempts BIGINT NOT NULL, "
      "max_retries BIGINT NOT NULL, available_at BIGINT NOT NULL, created_at BIGINT NOT NULL, "
      "data TEXT NOT NULL)");
  const std::string script = shop.path("insert.sql");
  std::ofstream(script)
      << "INSERT INTO jobs (id, pool_id, status, priority, attempts, max_retries, "
         "available_at, created_at, data) VALUES (gen_random_uuid(), 'bench', "
         "'pending', 0, 0, 3, 1790000000000, 1790000000000, '"
      << payload() << "');\n";
  const auto server = shop.service("pg-push", ours.url());
  const auto pushing = repeat(postRequest("/v1/pools/bench/jobs", jobBody()), 201);
  Series pushes, inserts;
  shop.measure(*server, kConnections, pushing, {.seconds = 0.5});
  for (int i = 0; i < shop.rounds(); ++i) {
    shop.sample(pushes, *server, kConnections, pushing, {.seconds = shop.seconds()});
    inserts.add(plain.benchmark(script, kConnections, shop.seconds()));
  }
  report.addShare("PostgreSQL: push, 64 connections",
                  rateText(pushes.median(), pushes.medianCpuUs()),
                  "pgbench, same row " + rateText(inserts.median()), pushes.ratioTo(inserts), 0.60);
}

double peerRate(const Workshop& shop, const std::string& peer) {
  return bestPeerRate(shop, peer, shop.quick() ? 3000 : 6000, {8, 32});
}

void measureClaims(const Workshop& shop, Report& report) {
  const Database ours(shop);
  const auto server = shop.service("pg-claim", ours.url());
  Series jobs, boss, graphile;
  const int rounds = shop.quick() ? 1 : 3;
  for (int i = 0; i < rounds; ++i) {
    shop.fill(*server, "bench", 30'000);
    const auto result =
        shop.measure(*server, kConnections, claimAndComplete("bench"), {.seconds = shop.seconds()});
    jobs.add(result.rate() / 2);  // two requests each
    boss.add(peerRate(shop, "pg-boss"));
    graphile.add(peerRate(shop, "graphile-worker"));
  }
  report.addShare("PostgreSQL: claim + complete, jobs", rateText(jobs.median()),
                  "pg-boss " + rateText(boss.median()), jobs.ratioTo(boss), 3.0);
  report.addShare("", rateText(jobs.median()), "graphile-worker " + rateText(graphile.median()),
                  jobs.ratioTo(graphile), 1.5);
}

void measureDepth(const Workshop& shop, Report& report) {
  const std::int64_t many = shop.quick() ? 100'000 : 1'000'000;
  const Database deep_base(shop), shallow_base(shop);
  const auto deep = shop.service("pg-deep", deep_base.url());
  const auto shallow = shop.service("pg-shallow", shallow_base.url());
  shop.fill(*deep, "bench", many);
  shop.fill(*shallow, "bench", 1500);
  deep_base.query("VACUUM ANALYZE");
  const auto claiming =
      repeat(postRequest("/v1/pools/bench/claim", R"({"worker_id":"bench"})"), 200, "lease_token");
  Series deep_rate, shallow_rate;
  for (int i = 0; i < (shop.quick() ? 10 : 20); ++i) {
    for (const auto& [series, server] :
         {std::pair(&shallow_rate, shallow.get()), std::pair(&deep_rate, deep.get())}) {
      shop.sample(*series, *server, kConnections, claiming, {.requests = 1000});
      shop.fill(*server, "bench", 1000);
    }
  }
  report.addShare(fmt::format("PostgreSQL: claim, {} k pending", many / 1000),
                  rateText(deep_rate.median()), "1 k pending " + rateText(shallow_rate.median()),
                  deep_rate.overallRatioTo(shallow_rate), 0.9);
}

}  // namespace

void measurePostgres(const Workshop& shop, Report& report) {
  measurePushes(shop, report);
  measureClaims(shop, report);
  measureDepth(shop, report);
}

void measureNodes(const Workshop& shop, Report& report) {
  const Database database(shop);
  std::vector<std::unique_ptr<ServerProcess>> nodes;
  for (int i = 0; i < 3; ++i) {
    nodes.push_back(shop.service(fmt::format("pg-node-{}", i), database.url()));
  }
  const auto rateOver = [&](std::size_t count) {
    shop.fill(*nodes[0], "bench", 30'000);
    std::vector<double> rates(count);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
          rates[i] = shop.measure(*nodes[i], kConnections / static_cast<int>(count),
                                  claimAndComplete("bench"), {.seconds = shop.seconds()})
                         .rate();
        });
      }
    }
    double sum = 0;
    for (const double rate : rates) sum += rate / 2;
    return sum;
  };
  Series one, three;
  for (int i = 0; i < 2 * shop.rounds() + 1; ++i) {  // a difference of a few percent is looked for
    one.add(rateOver(1));
    three.add(rateOver(3));
  }
  report.addShare("PostgreSQL: claim + complete by three nodes", rateText(three.median()),
                  "by one " + rateText(one.median()), three.ratioTo(one), 1.0);
}

}  // namespace muster::bench
