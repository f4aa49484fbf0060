// One request per job, held against handlers that only echo.
#include <fmt/format.h>

#include "bench/conversations.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr double kWarmUpSeconds = 0.3;

MakeConversation echoing() { return repeat(postRequest("/echo", jobBody()), 200); }
MakeConversation pushing() { return repeat(postRequest("/v1/pools/bench/jobs", jobBody()), 201); }

// The two yardsticks: a handler that takes and gives JSON through Drogon, and one that sends the
// bytes back unread. The bar is a share of the first; the second shows what HTTP alone costs.
struct Echoes {
  std::unique_ptr<ServerProcess> json_server, bare_server;
  Series json, bare;

  explicit Echoes(const Workshop& shop) : json_server(shop.echo(true)), bare_server(shop.echo()) {}

  void sample(const Workshop& shop, int connections, double seconds) {
    shop.sample(json, *json_server, connections, echoing(), {.seconds = seconds});
    shop.sample(bare, *bare_server, connections, echoing(), {.seconds = seconds});
  }
  void report(Report& report, const std::string& what, const Series& measured, double bar) const {
    const auto figure = rateText(measured.median(), measured.medianCpuUs());
    report.addShare(what, figure, "JSON echo " + rateText(json.median(), json.medianCpuUs()),
                    measured.ratioTo(json), bar);
    report.add({"", "", "bare echo " + rateText(bare.median(), bare.medianCpuUs()),
                fmt::format("{:.2f}", measured.ratioTo(bare))});
  }
};

// Claims and completes for a while, on a pool that was filled with more than enough jobs.
class ClaimRun {
 public:
  ClaimRun(const Workshop& shop, const std::string& name, Durability durability)
      : shop_(shop), server_(shop.service(name, durability)) {}

  void sample(Series& series, int connections, double seconds) {
    constexpr double kMostPerSecond = 40'000;
    const auto wanted = static_cast<std::int64_t>(kMostPerSecond * seconds);
    if (pending_ < wanted) {
      shop_.fill(*server_, "bench", wanted - pending_);
      pending_ = wanted;
    }
    const auto result = shop_.sample(series, *server_, connections, claimAndComplete("bench"),
                                     {.seconds = seconds});
    pending_ -= result.requests / 2 + connections;
  }

 private:
  const Workshop& shop_;
  std::unique_ptr<ServerProcess> server_;
  std::int64_t pending_ = 0;
};

std::string latencyText(const std::vector<double>& ms) {
  return fmt::format("p50 {:.2f} ms, p99 {:.2f} ms", quantile(ms, 0.5), quantile(ms, 0.99));
}

}  // namespace

void measurePush(const Workshop& shop, Report& report) {
  constexpr int kConnections = 128;
  Echoes echoes(shop);
  const auto normal_server = shop.service("push-normal.db", Durability::kNormal);
  const auto full_server = shop.service("push-full.db", Durability::kFull);
  Series normal, full;
  const auto round = [&](double seconds) {
    shop.sample(normal, *normal_server, kConnections, pushing(), {.seconds = seconds});
    echoes.sample(shop, kConnections, seconds);
    shop.sample(full, *full_server, kConnections, pushing(), {.seconds = seconds});
  };
  round(kWarmUpSeconds);
  normal = full = echoes.json = echoes.bare = {};
  for (int i = 0; i < shop.rounds(); ++i) round(shop.seconds());
  echoes.report(report, "push, 128 connections, normal", normal, 0.60);
  echoes.report(report, "push, 128 connections, full", full, 0.45);
}

void measureClaim(const Workshop& shop, Report& report) {
  constexpr int kConnections = 64;
  Echoes echoes(shop);
  ClaimRun normal_run(shop, "claim-normal.db", Durability::kNormal);
  ClaimRun full_run(shop, "claim-full.db", Durability::kFull);
  Series normal, full;
  const auto round = [&](double seconds) {
    normal_run.sample(normal, kConnections, seconds);
    echoes.sample(shop, kConnections, seconds);
    full_run.sample(full, kConnections, seconds);
  };
  round(kWarmUpSeconds);
  normal = full = echoes.json = echoes.bare = {};
  for (int i = 0; i < shop.rounds(); ++i) round(shop.seconds());
  echoes.report(report, "claim + complete, 64 connections, normal", normal, 0.50);
  echoes.report(report, "claim + complete, 64 connections, full", full, 0.35);
}

void measureLatency(const Workshop& shop, Report& report) {
  const std::int64_t pushes = shop.quick() ? 1000 : 3000;
  const auto echo_server = shop.echo();
  const auto echo = shop.measure(*echo_server, 1, echoing(), {.requests = pushes});
  for (const auto& [name, durability] :
       {std::pair("normal", Durability::kNormal), std::pair("full", Durability::kFull)}) {
    const auto server = shop.service(fmt::format("latency-{}.db", name), durability);
    shop.measure(*server, 1, pushing(), {.requests = 100});
    const auto result = shop.measure(*server, 1, pushing(), {.requests = pushes});
    report.add({fmt::format("latency of a push, idle server, {}", name),
                latencyText(result.latencies_ms), "echo " + latencyText(echo.latencies_ms)});
  }
}

}  // namespace muster::bench
