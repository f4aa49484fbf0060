// A trigger that runs the real `muster check` and `muster reap` in a process of its own.
#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

constexpr const char* kTriggers =
    "launch_rate: 1000\n"
    "pools:\n"
    "  p: {template: echo}\n"
    "triggers:\n"
    "  - {name: sub, type: subprocess, on: work_added, machine: parallelization_checker, "
    "input: {max_workers: 1}}\n"
    "  - {name: reaping, type: subprocess, on: pool_paused, machine: stale_worker_reaper, "
    "input: {stale_threshold_seconds: 0.001}}\n";

TEST(SubprocessTrigger, brings_a_worker_up_when_work_is_added) {
  Service service({.settings = kTriggers});
  PoolClient pool(service.url(), "p");
  const auto listed = [&] { return pool.http().get("/v1/pools/p/decisions").json["items"]; };
  // The service's own look at its start is over: it launches nobody any more.
  ASSERT_TRUE(eventually(kPatience, [&] { return !listed().empty(); }));
  const Json::Value job = pool.push(R"("data":"hello")");
  ASSERT_TRUE(eventually(kPatience, [&] { return pool.job(job)["status"] == "done"; }))
      << service.log();
  EXPECT_EQ(pool.job(job)["result"], "hello");
  const auto decisions = listed();
  int launched = 0;
  for (const auto& decision : decisions) {
    if (decision["launched"] == 0) continue;
    ++launched;
    EXPECT_EQ(decision["trigger"], "api") << "it was the process that checked";
    EXPECT_EQ(decision["limits"]["max_workers"], 1);
  }
  EXPECT_EQ(launched, 1) << decisions;
  const auto fired = pool.events("types=trigger.fired");
  ASSERT_GE(fired.size(), 1U);
  EXPECT_EQ(fired[0]["details"]["trigger"], "sub") << fired[0];
  EXPECT_EQ(service.log().find("trigger failed"), std::string::npos) << service.log();
}

TEST(SubprocessTrigger, reaps_by_its_own_threshold) {
  Service service({.settings = kTriggers});
  PoolClient pool(service.url(), "p");
  pool.registerWorker("silent");
  pool.http().post("/v1/pools/p/pause");
  EXPECT_TRUE(eventually(kPatience, [&] { return pool.worker("silent")["status"] == "lost"; }))
      << service.log();
}

TEST(SubprocessTrigger, uses_the_token_of_the_services_environment) {
  // The token is "secret".
  const std::string tokens =
      "tokens:\n  - {name: all, scopes: [read, produce, work, admin], sha256: "
      "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}\n";
  Service service({.settings = kTriggers + tokens, .env = {"MUSTER_TOKEN=secret"}});
  Http http(service.url());
  const Headers authorized = {{"Authorization", "Bearer secret"}};
  ASSERT_EQ(http.post("/v1/pools/p/jobs", R"({"data":1})", authorized).status, 201);
  EXPECT_TRUE(eventually(kPatience, [&] {
    return http.get("/v1/pools/p/stats", authorized).json["done"] == 1;
  })) << service.log();
}

}  // namespace
}  // namespace muster::test
