// Workers as processes, held against what the machine needs to start processes at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "bench/conversations.h"
#include "bench/rows.h"
#include "models/json/json_doc.h"
#include "models/time.h"

extern char** environ;

namespace muster::bench {
namespace {

using Clock = std::chrono::steady_clock;

double millisSince(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

pid_t spawnQuiet(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  if (::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot spawn " + command.front());
  }
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// One answer to one request.
struct Exchange : Conversation {
  std::string request;
  std::string* answer;
  std::string_view next() override { return request; }
  bool heard(int status, std::string_view body) override {
    *answer = body;
    return status < 300;
  }
};

std::string call(const ServerProcess& server, const std::string& request) {
  std::string answer;
  const auto result = runLoad(server.port(), 1,
                              [&](int) {
                                auto talk = std::make_unique<Exchange>();
                                talk->request = request;
                                talk->answer = &answer;
                                return talk;
                              },
                              {.requests = 1});
  if (result.failures > 0) throw std::runtime_error("refused: " + answer);
  return answer;
}

std::string get(const ServerProcess& server, const std::string& path) {
  return call(server, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
}

std::string member(const std::string& json, std::string_view name) {
  const auto doc = JsonDoc::parse(json);
  if (!doc) throw std::runtime_error("no JSON: " + json);
  const JsonValue object = doc->root();
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (it.key() == name) return (*it).string().value_or(std::string((*it).raw()));
  }
  return {};
}

// From the hook's arrival to the claim, by the one clock of this machine.
void measureHook(const Workshop& shop, Report& report) {
  const int rounds = shop.quick() ? 15 : 60;
  const auto server =
      shop.configured("hook", "triggers: []\nlaunch_rate: 1000\npools:\n  p: {template: echo}\n");
  std::vector<double> launches, spawns;
  for (int i = 0; i < rounds + 3; ++i) {
    // Idle: the moment in which hooks are served together has passed, and so has the last worker.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::string job = member(call(*server, postRequest("/v1/pools/p/jobs", jobBody())), "id");
    const auto sent = std::chrono::system_clock::now();
    call(*server, postRequest("/v1/hooks/work_added?pool_id=p", "{}"));
    const std::string done = get(*server, "/v1/jobs/" + job + "?wait_seconds=10");
    const auto claimed = parseTime(member(done, "claimed_at"));
    if (!claimed) throw std::runtime_error("not claimed: " + done);
    const auto began = Clock::now();
    const pid_t pid = spawnQuiet({shop.options().one_request, std::to_string(server->port())});
    ::waitpid(pid, nullptr, 0);
    if (i < 3) continue;
    spawns.push_back(millisSince(began));
    // The service's times are whole milliseconds, rounded down.
    launches.push_back(std::chrono::duration<double, std::milli>(*claimed - sent).count() + 0.5);
  }
  const double ratio = quantile(launches, 0.5) / quantile(spawns, 0.5);
  report.add({"hook to first claim, idle machine",
              fmt::format("p50 {:.1f} ms, p99 {:.1f} ms", quantile(launches, 0.5),
                          quantile(launches, 0.99)),
              fmt::format("spawn + one request p50 {:.1f} ms", quantile(spawns, 0.5)),
              fmt::format("{:.1f}", ratio), "<= 4.0", ratio <= 4});
}

double spawnRate(const std::string& program, int count, int at_once) {
  const auto began = Clock::now();
  int started = 0, alive = 0;
  while (started < count || alive > 0) {
    while (started < count && alive < at_once) {
      spawnQuiet({program, "version"});
      ++started;
      ++alive;
    }
    if (::wait(nullptr) > 0) --alive;
  }
  return count / (millisSince(began) / 1000);
}

void measureWorkers(const Workshop& shop, Report& report) {
  const int jobs = shop.quick() ? 200 : 500;
  const auto server = shop.configured("workers",
                                      "launch_rate: 100000\npools:\n"
                                      "  p: {template: echo, scaling: {max_workers: 8}}\n");
  const auto await = [&](std::int64_t done, std::int64_t& most) {
    for (;;) {
      const std::string stats = get(*server, "/v1/pools/p/stats");
      const auto number = [&](std::string_view name) { return std::stoll(member(stats, name)); };
      most = std::max<std::int64_t>(most, number("starting_workers") + number("active_workers") +
                                              number("terminating_workers"));
      if (number("done") >= done) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  std::int64_t most = 0;
  shop.fill(*server, "p", 20);  // the template proves itself
  await(20, most);
  const double spawns_before = spawnRate(shop.options().muster, jobs, 8);
  const auto began = Clock::now();
  shop.fill(*server, "p", jobs);
  await(20 + jobs, most);
  const double rate = jobs / (millisSince(began) / 1000);
  const double spawns = (spawns_before + spawnRate(shop.options().muster, jobs, 8)) / 2;
  report.addShare(fmt::format("{} one-job workers of the template echo, 8 at a time", jobs),
                  rateText(rate), "spawn of muster " + rateText(spawns), rate / spawns, 0.35);
  std::int64_t launched = 0;
  std::string cursor;
  do {
    const std::string page = get(
        *server, "/v1/workers?pool_id=p&limit=200" + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (std::size_t at = 0; (at = page.find("\"worker_id\":", at)) != std::string::npos; ++at) {
      ++launched;
    }
    cursor = member(page, "next_cursor");
  } while (!cursor.empty());
  const bool exact = launched == 20 + jobs && most <= 8;
  report.add({"  workers launched per job; most alive at once",
              fmt::format("{:.2f}; {}", static_cast<double>(launched) / (20 + jobs), most), "", "",
              "1.00; <= 8", exact});
}

void measureManyHooks(const Workshop& shop, Report& report) {
  const auto server = shop.configured("hooks", "pools:\n  p: {template: echo}\n");
  const auto echo_server = shop.echo(true);
  // In turn, and several times: the slowest of a hundred are few in a thousand.
  std::vector<double> echo, hooks;
  double seconds = 0;
  const auto measure = [&shop](const ServerProcess& at, const std::string& request, int status,
                               std::vector<double>& latencies) {
    auto load = shop.measure(at, 1, repeat(request, status), {.requests = 1000});
    latencies.insert(latencies.end(), load.latencies_ms.begin(), load.latencies_ms.end());
    return load.seconds;
  };
  constexpr int kRounds = 5;
  for (int i = 0; i < kRounds; ++i) {
    measure(*echo_server, postRequest("/echo", jobBody()), 200, echo);
    seconds += measure(*server, postRequest("/v1/hooks/work_added?pool_id=p", "{}"), 202, hooks);
  }
  std::int64_t checks = 0;
  const std::string metrics = get(*server, "/metrics");
  for (std::size_t at = 0;
       (at = metrics.find("\nmuster_checker_runs_total{", at)) != std::string::npos; ++at) {
    checks += std::stoll(metrics.substr(metrics.find("} ", at) + 2));
  }
  const double ratio = quantile(hooks, 0.99) / quantile(echo, 0.99);
  report.add({fmt::format("{} hooks in {:.2f} s: checks", kRounds * 1000, seconds),
              std::to_string(checks), "", "",
              fmt::format("<= {:.0f}", std::max(50.0, 50 * seconds)),
              static_cast<double>(checks) <= std::max(50.0, 50 * seconds)});
  report.add({"  latency of a hook", fmt::format("p99 {:.2f} ms", quantile(hooks, 0.99)),
              fmt::format("JSON echo p99 {:.2f} ms", quantile(echo, 0.99)),
              fmt::format("{:.1f}", ratio), "<= 5.0", ratio <= 5});
}

}  // namespace

void measureLaunching(const Workshop& shop, Report& report) {
  measureHook(shop, report);
  measureWorkers(shop, report);
  measureManyHooks(shop, report);
}

}  // namespace muster::bench
