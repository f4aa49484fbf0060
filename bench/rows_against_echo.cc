// One request per job, held against a handler that only echoes.
#include <fmt/format.h>

#include "bench/conversations.h"
#include "bench/rows.h"

namespace muster::bench {
namespace {

constexpr double kWarmUpSeconds = 0.3;

MakeConversation echoing() { return repeat(postRequest("/echo", jobBody()), 200); }
MakeConversation pushing() { return repeat(postRequest("/v1/pools/bench/jobs", jobBody()), 201); }

void addAgainstEcho(Report& report, const std::string& what, const Series& measured,
                    const Series& echo, double bar) {
  report.addShare(what, rateText(measured.median(), measured.medianCpuUs()),
                  "echo " + rateText(echo.median(), echo.medianCpuUs()), measured.ratioTo(echo),
                  bar);
}

// Claims and completes for a while, on a pool that was filled with more than enough jobs.
class ClaimRun {
 public:
  ClaimRun(const Workshop& shop, const std::string& name, Durability durability)
      : shop_(shop), server_(shop.service(name, durability)) {}

  void sample(Series& series, int connections, double seconds) {
    constexpr double kMostPerSecond = 20'000;
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
  const auto echo_server = shop.echo();
  const auto parsing_server = shop.echo(true);
  const auto normal_server = shop.service("push-normal.db", Durability::kNormal);
  const auto full_server = shop.service("push-full.db", Durability::kFull);
  Series echo, parsing, normal, full, unused;
  const auto round = [&](Series& e, Series& p, Series& n, Series& f, double seconds) {
    shop.sample(e, *echo_server, kConnections, echoing(), {.seconds = seconds});
    shop.sample(n, *normal_server, kConnections, pushing(), {.seconds = seconds});
    shop.sample(f, *full_server, kConnections, pushing(), {.seconds = seconds});
    shop.sample(p, *parsing_server, kConnections, echoing(), {.seconds = seconds});
  };
  round(unused, unused, unused, unused, kWarmUpSeconds);
  for (int i = 0; i < shop.rounds(); ++i) round(echo, parsing, normal, full, shop.seconds());
  addAgainstEcho(report, "push, 128 connections, normal", normal, echo, 0.60);
  addAgainstEcho(report, "push, 128 connections, full", full, echo, 0.45);
  report.add({"  echo through Drogon's own JSON", rateText(parsing.median(), parsing.medianCpuUs()),
              "echo " + rateText(echo.median(), echo.medianCpuUs()),
              fmt::format("{:.2f}", parsing.ratioTo(echo))});
}

void measureClaim(const Workshop& shop, Report& report) {
  constexpr int kConnections = 64;
  const auto echo_server = shop.echo();
  ClaimRun normal_run(shop, "claim-normal.db", Durability::kNormal);
  ClaimRun full_run(shop, "claim-full.db", Durability::kFull);
  Series echo, normal, full, unused;
  const auto round = [&](Series& e, Series& n, Series& f, double seconds) {
    shop.sample(e, *echo_server, kConnections, echoing(), {.seconds = seconds});
    normal_run.sample(n, kConnections, seconds);
    full_run.sample(f, kConnections, seconds);
  };
  round(unused, unused, unused, kWarmUpSeconds);
  for (int i = 0; i < shop.rounds(); ++i) round(echo, normal, full, shop.seconds());
  addAgainstEcho(report, "claim + complete, 64 connections, normal", normal, echo, 0.50);
  addAgainstEcho(report, "claim + complete, 64 connections, full", full, echo, 0.35);
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
