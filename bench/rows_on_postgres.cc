// The service on PostgreSQL, held against what the database does by itself and against peers.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "bench/conversations.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 64;

// What the program prints. Throws when it fails.
std::string outputOf(const std::string& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> room;
  while (const std::size_t count = std::fread(room.data(), 1, room.size(), pipe)) {
    output.append(room.data(), count);
  }
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command + "\n" + output);
  return output;
}

// A database of its own on the server under test.
class Database {
 public:
  Database(const Workshop& shop, std::string name)
      : folder_(shop.options().postgres), name_(std::move(name)) {
    run(fmt::format("psql -qX {} -d postgres -c 'CREATE DATABASE {}'", place(), name_));
  }
  std::string url() const {
    return fmt::format("postgresql://postgres@/{}?host={}", name_, folder_);
  }
  std::string query(const std::string& sql) const {
    return run(fmt::format("psql -qAtX {} -d {} -c \"{}\"", place(), name_, sql));
  }
  // Transactions a second of the script, by as many clients as the service has connections.
  double benchmark(const std::string& script, double seconds) const {
    const std::string out =
        run(fmt::format("pgbench -n -M prepared {} -c {} -j 2 -T {:.0f} -f {} {}", place(),
                        kConnections, std::max(1.0, seconds), script, name_));
    const auto at = out.find("tps = ");
    if (at == std::string::npos) throw std::runtime_error("pgbench: " + out);
    return std::stod(out.substr(at + 6));
  }

 private:
  std::string place() const { return fmt::format("-h {} -U postgres", folder_); }
  static std::string run(const std::string& command) { return outputOf(command + " 2>&1"); }

  std::string folder_;
  std::string name_;
};

std::unique_ptr<ServerProcess> serviceOn(const Workshop& shop, const Database& database,
                                         const std::string& name) {
  return shop.configured(
      name, fmt::format("store: {}\nlease_seconds: 3600\ntriggers: []\n", database.url()));
}

// The row of a job, as plain as a table can hold it.
void measurePushes(const Workshop& shop, Report& report) {
  const Database ours(shop, "push"), plain(shop, "plain");
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
  const auto server = serviceOn(shop, ours, "pg-push");
  const auto pushing = repeat(postRequest("/v1/pools/bench/jobs", jobBody()), 201);
  Series pushes, inserts;
  shop.measure(*server, kConnections, pushing, {.seconds = 0.5});
  for (int i = 0; i < shop.rounds(); ++i) {
    shop.sample(pushes, *server, kConnections, pushing, {.seconds = shop.seconds()});
    inserts.add(plain.benchmark(script, shop.seconds()));
  }
  report.addShare("PostgreSQL: push, 64 connections",
                  rateText(pushes.median(), pushes.medianCpuUs()),
                  "pgbench, same row " + rateText(inserts.median()), pushes.ratioTo(inserts), 0.60);
}

double peerRate(const Workshop& shop, const std::string& peer, int round) {
  const int jobs = shop.quick() ? 3000 : 6000;
  double best = 0;
  for (const int concurrency : {8, 32}) {  // each peer at its best
    const Database database(shop, fmt::format("peer_{}_{}_{}", peer.front(), round, concurrency));
    const std::string folder = shop.options().peers;
    best = std::max(best,
                    std::stod(outputOf(fmt::format(
                        "cd '{0}' && node_modules/.bin/node peer.mjs {1} '{2}' {3} {4} 2>/dev/null",
                        folder, peer, database.url(), jobs, concurrency))));
  }
  return best;
}

void measureClaims(const Workshop& shop, Report& report) {
  const Database ours(shop, "claim");
  const auto server = serviceOn(shop, ours, "pg-claim");
  Series jobs, boss, graphile;
  const int rounds = shop.quick() ? 1 : 3;
  for (int i = 0; i < rounds; ++i) {
    shop.fill(*server, "bench", 30'000);
    const auto result =
        shop.measure(*server, kConnections, claimAndComplete("bench"), {.seconds = shop.seconds()});
    jobs.add(result.rate() / 2);  // two requests each
    boss.add(peerRate(shop, "pg-boss", i));
    graphile.add(peerRate(shop, "graphile-worker", i));
  }
  report.addShare("PostgreSQL: claim + complete, jobs", rateText(jobs.median()),
                  "pg-boss " + rateText(boss.median()), jobs.ratioTo(boss), 3.0);
  report.addShare("", rateText(jobs.median()), "graphile-worker " + rateText(graphile.median()),
                  jobs.ratioTo(graphile), 1.5);
}

void measureDepth(const Workshop& shop, Report& report) {
  const std::int64_t many = shop.quick() ? 100'000 : 1'000'000;
  const Database deep_base(shop, "deep"), shallow_base(shop, "shallow");
  const auto deep = serviceOn(shop, deep_base, "pg-deep");
  const auto shallow = serviceOn(shop, shallow_base, "pg-shallow");
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
  const Database database(shop, "nodes");
  std::vector<std::unique_ptr<ServerProcess>> nodes;
  for (int i = 0; i < 3; ++i) {
    nodes.push_back(serviceOn(shop, database, fmt::format("pg-node-{}", i)));
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
