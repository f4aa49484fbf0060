#include "tests/launch/launch_fixture.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/launch/process_table.h"

namespace muster::test {
namespace {

// Workers are heard from each second, and not given up because they stand still for a while.
constexpr const char* kFast =
    "launch_rate: 1000\nheartbeat_interval_seconds: 1\nstale_threshold_seconds: 60\n";

}  // namespace

LaunchFixture::LaunchFixture(const std::string& settings)
    : service_({.settings = kFast + settings, .ticker = true}), pool_(service_.url(), "p") {}

LaunchFixture::~LaunchFixture() {
  if (!service_.running()) service_.start();
  PoolClient last(service_.url(), "p");
  const auto page = last.http().get("/v1/workers?limit=200");
  service_.kill9();  // it would launch others for their jobs
  for (const auto& worker : page.json["items"]) {
    if (worker.isMember("exited_at") || !worker.isMember("launched_at")) continue;
    if (const int pid = worker["pid"].asInt(); pid > 1) ::kill(-pid, SIGKILL);
  }
}

Json::Value LaunchFixture::check(const std::string& body) {
  return http().post(pool_.path("/check"), body).json;
}

Json::Value LaunchFixture::explain() { return http().get(pool_.path("/check")).json; }

std::vector<Json::Value> LaunchFixture::workers() {
  std::vector<Json::Value> all;
  std::string cursor;
  do {
    const auto page =
        http().get("/v1/workers?limit=200&pool_id=p" + (cursor.empty() ? "" : "&cursor=" + cursor));
    EXPECT_EQ(page.status, 200) << page;
    for (const auto& worker : page.json["items"]) all.push_back(worker);
    cursor = page.json["next_cursor"].asString();
  } while (!cursor.empty());
  return all;
}

std::vector<Json::Value> LaunchFixture::eventsOf(const std::string& type) {
  return pool_.events("types=" + type);
}

std::string LaunchFixture::outputOf(const std::string& worker) {
  return http().get("/v1/workers/" + worker + "/output").json["output"].asString();
}

bool LaunchFixture::allDone(int jobs) {
  return becomes([&] { return pool_.stats()["done"] == jobs; });
}

bool LaunchFixture::nobodyLeft() {
  return becomes([&] {
    const auto all = workers();
    return std::all_of(all.begin(), all.end(),
                       [](const auto& worker) { return worker.isMember("exited_at"); });
  });
}

bool LaunchFixture::appears(const std::string& file) {
  return becomes([&] { return std::filesystem::exists(service_.folder() / file); });
}

int zombiesOf(pid_t parent) {
  int zombies = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;
    const auto fields = line.substr(line.rfind(')') + 1);
    zombies += fields.starts_with(" Z " + std::to_string(parent) + " ") ? 1 : 0;
  }
  return zombies;
}

bool isRunning(pid_t pid) { return processKey(pid).has_value(); }

}  // namespace muster::test
