// What dependencies cost: flows held against the same jobs without them, and against a peer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <thread>

#include "bench/backends.h"
#include "bench/conversations.h"
#include "bench/database.h"
#include "bench/rows.h"
#include "bench/single_requests.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 64;
constexpr int kBulkConnections = 4;
constexpr int kPerRequest = 1000;

using Clock = std::chrono::steady_clock;

// A job of a flow: its pool, and the numbers of the jobs it comes after.
struct Place {
  std::string pool = "bench";
  std::vector<int> after = {};
};
using Shape = std::function<Place(int)>;

std::string flowJobs(const Shape& shape, int first, int count) {
  std::string items;
  for (int i = first; i < first + count; ++i) {
    const Place place = shape(i);
    std::string after;
    for (const int upstream : place.after) {
      after += fmt::format("{}\"j{}\"", after.empty() ? "" : ",", upstream);
    }
    items += fmt::format(R"({}{{"name":"j{}","pool_id":"{}","data":{},"after":[{}]}})",
                         items.empty() ? "" : ",", i, place.pool, payload(), after);
  }
  return items;
}

// Creates the flow in pieces and closes it; its id.
std::string createFlow(const ServerProcess& server, int jobs, const Shape& shape) {
  const int first = std::min(jobs, kPerRequest);
  const auto created =
      ask(server, postRequest("/v1/flows", fmt::format(R"({{"open":true,"jobs":[{}]}})",
                                                       flowJobs(shape, 0, first))));
  const std::string flow = textOf(created, R"("flow_id":")");
  for (int i = first; i < jobs; i += kPerRequest) {
    ask(server, postRequest(fmt::format("/v1/flows/{}/jobs", flow),
                            fmt::format(R"({{"jobs":[{}]}})",
                                        flowJobs(shape, i, std::min(kPerRequest, jobs - i)))));
  }
  ask(server, postRequest(fmt::format("/v1/flows/{}/close", flow), "{}"));
  return flow;
}

// The first job by itself in the pool `gate`, all others after it in the pool `bench`.
Place behindGate(int i) { return i == 0 ? Place{"gate"} : Place{"bench", {0}}; }

std::vector<HeldJob> claimAll(const Workshop& shop, const ServerProcess& server,
                              const std::string& pool, int jobs) {
  Held held;
  shop.measure(server, std::min(jobs, kConnections), claimAndKeep(pool, held), {.requests = jobs});
  return std::move(held.jobs);
}

void measureBehindBlocked(const Workshop& shop, Report& report, const Backend& backend) {
  constexpr int kFlow = 100'000;
  constexpr int kShallow = 1500;
  const int flows = shop.quick() ? 1 : 10;
  const auto with = backend.serve("blocked"), without = backend.serve("unblocked");
  for (int i = 0; i < flows; ++i) createFlow(*with, kFlow, behindGate);
  shop.fill(*with, "bench", kShallow);
  shop.fill(*without, "bench", kShallow);
  const auto claiming =
      repeat(postRequest("/v1/pools/bench/claim", R"({"worker_id":"bench"})"), 200, "lease_token");
  Series measured, baseline;
  for (int i = 0; i < (shop.quick() ? 20 : 40); ++i) {
    for (const auto& [series, server] :
         {std::pair(&baseline, without.get()), std::pair(&measured, with.get())}) {
      shop.sample(*series, *server, kConnections, claiming, {.requests = 1000});
      shop.fill(*server, "bench", 1000);
    }
  }
  report.addShare(backend.titled(fmt::format("claim, {} k blocked", flows * kFlow / 1000)),
                  rateText(measured.median(), measured.medianCpuUs()),
                  "none " + rateText(baseline.median(), baseline.medianCpuUs()),
                  measured.overallRatioTo(baseline), 0.95);
}

void measureCreation(const Workshop& shop, Report& report, const Backend& backend) {
  const auto server = backend.serve("creation");
  const auto pushing =
      repeat(postRequest("/v1/pools/bench/jobs/batch", batchBody(kPerRequest)), 201);
  const auto creating =
      repeat(postRequest("/v1/flows",
                         fmt::format(R"({{"jobs":[{}]}})", flowJobs(behindGate, 0, kPerRequest))),
             201);
  Series flows, batches;
  for (int i = 0; i < shop.rounds(); ++i) {
    for (const auto& [series, conversation] :
         {std::pair(&batches, &pushing), std::pair(&flows, &creating)}) {
      const auto result =
          shop.measure(*server, kBulkConnections, *conversation, {.seconds = shop.seconds()});
      series->add(result.rate() * kPerRequest);
    }
  }
  report.addShare(backend.titled("jobs of flows of 1000, one edge each"), rateText(flows.median()),
                  "batch push " + rateText(batches.median()), flows.ratioTo(batches), 0.5);
}

// Completions of jobs that others wait for, held against jobs that nobody waits for.
void measureCompletions(const Workshop& shop, Report& report, const Backend& backend) {
  const auto server = backend.serve("completions");
  const int jobs = 10'000;
  struct Kind {
    std::string title;
    double bar;
    std::string pool;
    Series single = {}, bulk = {};
  };
  std::array kinds{Kind{"", 0, "plain"}, Kind{"one downstream job", 0.75, "pairs"},
                   Kind{"one of 10,000 upstream jobs", 0.80, "join"}};
  Series joins;
  const auto fillKind = [&](Kind& kind) {
    if (kind.bar == 0) return shop.fill(*server, kind.pool, jobs);
    const bool is_join = kind.pool == "join";
    createFlow(*server, is_join ? jobs + 1 : 2 * jobs, [&](int i) {
      if (is_join && i < jobs) return Place{kind.pool};
      if (is_join) {
        Place last{"joined"};
        for (int upstream = 0; upstream < jobs; ++upstream) last.after.push_back(upstream);
        return last;
      }
      return i % 2 == 0 ? Place{kind.pool} : Place{"second", {i - 1}};
    });
  };
  for (int i = 0; i < 2 * shop.rounds(); ++i) {
    const bool is_bulk = i % 2 == 1;
    for (Kind& kind : kinds) {
      fillKind(kind);
      auto held = claimAll(shop, *server, kind.pool, jobs);
      const bool is_join = kind.pool == "join";
      // The last of them is for the join.
      const auto count = static_cast<std::int64_t>(is_join ? held.size() - 100 : held.size());
      std::atomic<std::size_t> next = 0;
      if (is_bulk) {
        const auto result =
            shop.measure(*server, kBulkConnections, reportHeld(kind.pool, held, next),
                         {.requests = count / 100});
        kind.bulk.add(result.rate() * 100);
      } else {
        shop.sample(kind.single, *server, kConnections, completeHeld(held, next),
                    {.requests = count});
      }
      if (!is_join) continue;
      shop.measure(*server, kBulkConnections, completeHeld(held, next), {.requests = 99});
      shop.measure(*server, 1, completeHeld(held, next), {.requests = 1});
      const auto began = Clock::now();
      joins.add(millisUntil(began, [&] {
        return ask(*server, postRequest("/v1/pools/joined/claim", R"({"worker_id":"bench"})"))
                   .status == 200;
      }));
    }
  }
  const Kind& plain = kinds[0];
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    const Kind& kind = kinds[i];
    report.addShare(backend.titled("complete, " + kind.title),
                    rateText(kind.single.median(), kind.single.medianCpuUs()),
                    "none " + rateText(plain.single.median(), plain.single.medianCpuUs()),
                    kind.single.ratioTo(plain.single), kind.bar);
    report.add({"  the same in reports of 100", rateText(kind.bulk.median()),
                "none " + rateText(plain.bulk.median()),
                fmt::format("{:.2f}", kind.bulk.ratioTo(plain.bulk))});
  }
  report.addMost(backend.titled("join of 10,000, answer to claim"), joins.median(), 50);
}

std::int64_t pendingIn(const ServerProcess& server, const std::string& pool) {
  return numberOf(ask(server, getRequest(fmt::format("/v1/pools/{}/stats", pool))),
                  {R"("queue_depth":)"});
}

void measureFan(const Workshop& shop, Report& report, const Backend& backend) {
  constexpr int kDownstream = 100'000;
  const auto server = backend.serve("fan");
  Series answers, claimable, pushes;
  for (int i = 0; i < (shop.quick() ? 1 : 3); ++i) {
    createFlow(*server, kDownstream + 1, behindGate);
    const auto held = claimAll(shop, *server, "gate", 1);
    const std::int64_t before = pendingIn(*server, "bench");
    std::atomic<bool> over = false;
    LoadResult others;
    std::jthread pushing([&] {
      others =
          runLoad(server->port(), 1, repeat(postRequest("/v1/pools/other/jobs", jobBody()), 201),
                  {.over = &over});
    });
    const auto began = Clock::now();
    answers.add(ask(*server, postRequest(fmt::format("/v1/jobs/{}/complete", held[0].id),
                                         fmt::format(R"({{"lease_token":"{}"}})", held[0].token)))
                    .ms);
    const double ms =
        millisUntil(began, [&] { return pendingIn(*server, "bench") == before + kDownstream; });
    over = true;
    pushing.join();
    claimable.add(ms);
    pushes.add(quantile(others.latencies_ms, 0.99));
  }
  report.addMost(backend.titled("100,000 downstream jobs, answer"), answers.median(), 50);
  report.addMost("  all claimable", claimable.median(), 3000);
  report.addMost("  p99 of other pushes meanwhile", pushes.median(), 50);
}

void measureLargeFlow(const Workshop& shop, Report& report, const Backend& backend) {
  constexpr int kJobs = 100'000;
  const auto server = backend.serve("large"), plain = backend.serve("large-plain");
  shop.fill(*plain, "bench", kJobs);
  Series gets, cancels, retries;
  for (int i = 0; i < (shop.quick() ? 1 : 3); ++i) {
    const std::string path = "/v1/flows/" + createFlow(*server, kJobs, behindGate);
    const auto show = getRequest(path);
    gets.add(quantile(shop.measure(*server, 1, repeat(show, 200), {.requests = 200}).latencies_ms,
                      0.99));
    auto began = Clock::now();
    ask(*server, postRequest(path + "/cancel", "{}"));
    cancels.add(millisUntil(began, [&] {
      return ask(*server, show).body.find(R"("status":"cancelled")") != std::string::npos;
    }));
    began = Clock::now();
    ask(*server, postRequest(path + "/retry", "{}"));
    retries.add(millisUntil(began, [&] {
      return numberOf(ask(*server, show), {R"("counts":)", R"("blocked":)"}) == kJobs - 1;
    }));
  }
  report.addMost(backend.titled("flow of 100,000: GET, p99"), gets.median(), 5);
  report.addMost("  cancel, until all are", cancels.median(), 5000);
  report.addMost("  retry, until all are back", retries.median(), 5000);
  const double megabytes =
      static_cast<double>(server->residentBytes() - plain->residentBytes()) / 1e6;
  report.add({"  resident memory, more than 100 k plain jobs", fmt::format("{:+.0f} MB", megabytes),
              "", "", "<= 20 MB", megabytes <= 20});
}

// The same shapes as in peers/peer.mjs.
Shape shapeNamed(const std::string& name, int jobs) {
  constexpr int kWidth = 100, kEdges = 10;
  return [name, jobs](int i) {
    Place place;
    if (name == "fan-out" && i > 0) place.after = {0};
    if (name == "chain" && i > 0) place.after = {i - 1};
    if (name == "fan-in" && i == jobs - 1) {
      for (int upstream = 0; upstream < i; ++upstream) place.after.push_back(upstream);
    }
    if (name == "layers" && i >= kWidth) {
      const int layer = i / kWidth - 1;
      for (int k = 0; k < kEdges; ++k) place.after.push_back(layer * kWidth + (i + k) % kWidth);
    }
    return place;
  };
}

// Jobs a second, from the first request to the last completion.
double flowRate(const Workshop& shop, const Backend& backend, const std::string& shape, int jobs,
                int tracks) {
  const auto server = backend.serve("peer-" + shape);
  WorkedOff work;
  work.jobs = jobs;
  work.in_one_trip = tracks == 1;
  const auto began = Clock::now();
  createFlow(*server, jobs, shapeNamed(shape, jobs));
  shop.measure(*server, tracks, workOff("bench", work), {.over = &work.over});
  return jobs / std::chrono::duration<double>(work.finished - began).count();
}

void measureAgainstPeer(const Workshop& shop, Report& report, const Backend& backend) {
  const int jobs = shop.quick() ? 2'000 : 10'000;
  for (const std::string shape : {"fan-out", "fan-in", "layers", "chain"}) {
    const bool one_by_one = shape == "chain";
    Series ours, theirs;
    for (int i = 0; i < (shop.quick() ? 1 : 3); ++i) {
      double best = 0;
      for (const int tracks : {32, 64}) {
        best = std::max(best, flowRate(shop, backend, shape, jobs, one_by_one ? 1 : tracks));
        if (one_by_one) break;
      }
      ours.add(best);
      theirs.add(one_by_one ? bestPeerRate(shop, "pg-boss-flow", jobs, {1}, shape)
                            : bestPeerRate(shop, "pg-boss-flow", jobs, {8, 32}, shape));
    }
    report.addShare(backend.titled(fmt::format("{} of {}", shape, jobs)), rateText(ours.median()),
                    "pg-boss " + rateText(theirs.median()), ours.ratioTo(theirs), 2.0);
  }
}

}  // namespace

void measureFlows(const Workshop& shop, Report& report) {
  for (const Backend& backend : backends(shop)) {
    measureCreation(shop, report, backend);
    measureCompletions(shop, report, backend);
    measureFan(shop, report, backend);
    measureLargeFlow(shop, report, backend);
    measureBehindBlocked(shop, report, backend);
    if (backend.name == "PostgreSQL") measureAgainstPeer(shop, report, backend);
  }
}

}  // namespace muster::bench
