// What outlives jobs: the cost of refs, keys and pins, and of bytes that come and go.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "bench/backends.h"
#include "bench/conversations.h"
#include "bench/database.h"
#include "bench/rows.h"
#include "bench/single_requests.h"

namespace muster::bench {
namespace {

constexpr int kConnections = 64;
constexpr std::int64_t kPartBytes = 4 << 20;
constexpr double kMega = 1e6;

using Clock = std::chrono::steady_clock;

// Jobs whose `extra` says what they refer to; `each` gives it for the number of a job.
void pushEach(const ServerProcess& server, const std::string& pool, int jobs,
              const std::function<std::string(int)>& each) {
  constexpr int kAtOnce = 500;
  for (int first = 0; first < jobs; first += kAtOnce) {
    std::string items;
    for (int i = first; i < std::min(jobs, first + kAtOnce); ++i) {
      items += (items.empty() ? "" : ",") + jobBody(each(i));
    }
    ask(server, postRequest(fmt::format("/v1/pools/{}/jobs/batch", pool),
                            fmt::format(R"({{"items":[{}]}})", items)));
  }
}

// One worker claims, one job after the other: keys are bound to it.
void measureClaims(const Workshop& shop, Report& report, const Backend& backend) {
  constexpr int kJobs = 1000;
  const auto server = backend.serve("resource-claims");
  ask(*server, postRequest("/v1/workers", R"({"worker_id":"bench-0","pool_id":"kinds",)"
                                          R"("mode":"loop","host":"here"})"));
  ask(*server, postRequest("/v1/resources", R"({"resource_id":"model","type":"m",)"
                                            R"("holder":"external","uri":"s3://m"})"));
  struct Kind {
    std::string what;
    double bar;
    std::function<std::string(int round, int job)> extra;
    Series series = {};
  };
  std::vector<Kind> kinds{
      {"plain", 0, [](int, int) { return std::string(); }},
      {"claim, one ref", 0.8,
       [](int, int) { return std::string(R"(,"resource_refs":[{"resource_id":"model"}])"); }},
      {"claim, a bound key", 0.8, [](int, int) { return std::string(R"(,"affinity":"bound")"); }},
      {"claim, a new key", 0.6,
       [](int round, int job) { return fmt::format(R"(,"affinity":"new-{}-{}")", round, job); }}};
  for (int round = 0; round < (shop.quick() ? 4 : 10); ++round) {
    for (Kind& kind : kinds) {
      pushEach(*server, "kinds", kJobs, [&](int job) { return kind.extra(round, job); });
      Held held;
      shop.sample(kind.series, *server, 1, claimAndKeep("kinds", held), {.requests = kJobs});
      shop.measure(*server, 1, repeat(doneReports("kinds", held.jobs), 200), {.requests = 1});
    }
  }
  for (std::size_t i = 1; i < kinds.size(); ++i) {
    report.addShare(backend.titled(kinds[i].what), rateText(kinds[i].series.median()),
                    "plain " + rateText(kinds[0].series.median()),
                    kinds[i].series.overallRatioTo(kinds[0].series), kinds[i].bar);
  }
}

// Jobs pinned to ten thousand others stand before those of the pool.
void measureForeignPins(const Workshop& shop, Report& report, const Backend& backend) {
  const int holders = shop.quick() ? 1000 : 10'000;
  const auto with = backend.serve("pinned"), without = backend.serve("unpinned");
  constexpr int kJobs = 1000;
  for (int i = 0; i < holders; ++i) {
    ask(*with, postRequest("/v1/workers", fmt::format(R"({{"worker_id":"other-{}",)"
                                                      R"("pool_id":"bench","mode":"loop"}})",
                                                      i)));
  }
  pushEach(*with, "bench", holders, [](int i) {
    return fmt::format(R"(,"resource_refs":[{{"resource_id":"r{}","worker_id":"other-{}"}}])", i,
                       i);
  });
  const auto claiming =
      repeat(postRequest("/v1/pools/bench/claim", R"({"worker_id":"bench"})"), 200, "lease_token");
  Series measured, baseline;
  for (int i = 0; i < (shop.quick() ? 10 : 30); ++i) {
    for (const auto& [series, server] :
         {std::pair(&baseline, without.get()), std::pair(&measured, with.get())}) {
      shop.fill(*server, "bench", kJobs);
      shop.sample(*series, *server, kConnections, claiming, {.requests = kJobs});
    }
  }
  report.addShare(backend.titled(fmt::format("claim, {} lanes pinned to others", holders)),
                  rateText(measured.median(), measured.medianCpuUs()),
                  "none " + rateText(baseline.median(), baseline.medianCpuUs()),
                  measured.overallRatioTo(baseline), 0.9);
}

void measureTick(const Workshop& shop, Report& report, const Backend& backend) {
  const int resources = shop.quick() ? 20'000 : 1'000'000;
  const auto server = backend.serve("many-resources");
  struct Register : Conversation {
    const std::string request = postRequest(
        "/v1/resources", R"({"type":"t","holder":"external","uri":"s3://x","ttl_seconds":86400})");
    std::string_view next() override { return request; }
    bool heard(int status, std::string_view) override { return status == 201; }
  };
  shop.measure(*server, kConnections, [](int) { return std::make_unique<Register>(); },
               {.requests = resources});
  Series ticks;
  for (int i = 0; i < 20; ++i) ticks.add(ask(*server, postRequest("/v1/tick", "")).ms);
  report.addMost(backend.titled(fmt::format("tick, {} k resources", resources / 1000)),
                 ticks.median(), 5);
}

// A body of parts, one after the other.
class Upload : public Conversation {
 public:
  Upload(const std::string& uid, std::int64_t bytes) : uid_(uid), bytes_(bytes) {}
  std::string_view next() override {
    const std::int64_t part = std::min(kPartBytes, bytes_ - at_);
    request_ = fmt::format(
        "PATCH /v1/resources/{}/content HTTP/1.1\r\nHost: 127.0.0.1\r\nUpload-Offset: {}\r\n"
        "Content-Length: {}\r\n\r\n",
        uid_, at_, part);
    request_.append(static_cast<std::size_t>(part), static_cast<char>('a' + at_ / kPartBytes % 26));
    at_ += part;
    return request_;
  }
  bool heard(int status, std::string_view) override { return status == 200; }

 private:
  const std::string uid_;
  const std::int64_t bytes_;
  std::int64_t at_ = 0;
  std::string request_;
};

std::string uploadOne(const Workshop& shop, const ServerProcess& server, std::int64_t bytes,
                      Series& rates) {
  const auto made =
      ask(server,
          postRequest("/v1/resources", fmt::format(R"({{"type":"file","size_bytes":{}}})", bytes)));
  const std::string uid = textOf(made, R"("uid":")");
  const auto result =
      shop.measure(server, 1, [&](int) { return std::make_unique<Upload>(uid, bytes); },
                   {.requests = (bytes + kPartBytes - 1) / kPartBytes});
  rates.add(static_cast<double>(bytes) / result.seconds);
  return uid;
}

// Bytes a second that curl gets.
double downloadRate(const ServerProcess& server, const std::string& path) {
  return std::stod(
      outputOf(fmt::format("curl -sf -o /dev/null -w '%{{speed_download}}' http://127.0.0.1:{}{}",
                           server.port(), path)));
}

std::string megabytes(double per_second) { return fmt::format("{:.0f} MB/s", per_second / kMega); }

void measureBytes(const Workshop& shop, Report& report) {
  const std::int64_t bytes = shop.quick() ? 256 << 20 : 1 << 30;
  const auto server = shop.service("bytes.db", Durability::kFull);
  const auto echo = shop.echo(false);
  ask(*server, getRequest("/v1/pools"));
  const std::int64_t resident = server->residentBytes();
  const std::string plain = shop.options().folder + "/dd.bin";
  Series up, disk, down, framework;
  std::string uid;
  for (int i = 0; i < shop.rounds(); ++i) {
    const auto began = Clock::now();
    outputOf(fmt::format("dd if=/dev/zero of={} bs=4M count={} conv=fsync 2>&1", plain,
                         bytes / kPartBytes));
    disk.add(static_cast<double>(bytes) /
             std::chrono::duration<double>(Clock::now() - began).count());
    uid = uploadOne(shop, *server, bytes, up);
    down.add(downloadRate(*server, "/v1/resources/" + uid + "/content"));
    framework.add(downloadRate(*echo, "/file?path=" + plain));
  }
  report.addShare(fmt::format("{} MiB up in parts of 4 MiB", bytes >> 20), megabytes(up.median()),
                  "dd conv=fsync " + megabytes(disk.median()), up.ratioTo(disk), 0.5);
  report.addShare("  down", megabytes(down.median()),
                  "the framework's file " + megabytes(framework.median()), down.ratioTo(framework),
                  0.9);
  const auto more = [&] {
    return static_cast<double>(server->peakResidentBytes() - resident) / kMega;
  };
  report.add(
      {"  resident memory", fmt::format("{:+.0f} MB", more()), "", "", "<= 24 MB", more() <= 24});
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += fmt::format("curl -sf -o /dev/null http://127.0.0.1:{}/v1/resources/{}/content & ",
                       server->port(), uid);
  }
  outputOf(all + "wait");
  report.add({"  with 20 downloads at once", fmt::format("{:+.0f} MB", more()), "", "", "<= 32 MB",
              more() <= 32});

  // Pushes while four large files are read that are in no cache.
  std::vector<std::string> files;
  Series ignored;
  for (int i = 0; i < 4; ++i) files.push_back(uploadOne(shop, *server, bytes, ignored));
  outputOf("sync; (echo 1 >/proc/sys/vm/drop_caches) 2>/dev/null; true");
  std::atomic<bool> over = false;
  LoadResult pushes;
  std::jthread pushing([&] {
    pushes = runLoad(server->port(), 1, repeat(postRequest("/v1/pools/p/jobs", jobBody()), 201),
                     {.over = &over});
  });
  std::string reading;
  for (const std::string& file : files) {
    reading += fmt::format("curl -sf -o /dev/null http://127.0.0.1:{}/v1/resources/{}/content & ",
                           server->port(), file);
  }
  outputOf(reading + "wait");
  over = true;
  pushing.join();
  report.addMost("  p99 of a push while four are read", quantile(pushes.latencies_ms, 0.99), 20);
}

}  // namespace

void measureResources(const Workshop& shop, Report& report) {
  for (const Backend& backend : backends(shop)) {
    measureClaims(shop, report, backend);
    measureForeignPins(shop, report, backend);
    measureTick(shop, report, backend);
  }
  measureBytes(shop, report);
}

}  // namespace muster::bench
