// The number of workers follows a target, or depth and latency, and nothing is lost on the way.
#include <algorithm>

#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

class Scaled : public LaunchFixture {
 protected:
  Scaled()
      : LaunchFixture(
            "worker_idle_timeout_seconds: 1\n"
            "templates:\n"
            "  wait: {run: [sh, -c, 'while [ ! -e go ]; do sleep 0.02; done; cat']}\n"
            "pools:\n"
            "  p: {template: echo, worker_mode: loop, scaling: {max_workers: 8}}\n") {}

  int alive() {
    return static_cast<int>(
        http().get("/v1/workers?pool_id=p&status=active,starting").json["items"].size());
  }
  void setTarget(int workers) {
    const Reply reply =
        http().put(pool().path("/scale"), R"({"target_workers":)" + std::to_string(workers) + "}");
    ASSERT_EQ(reply.status, 200) << reply;
    check();
  }
};

TEST_F(Scaled, up_and_down_a_hundred_times_under_load_drops_nothing) {
  int pushed = 0;
  const auto turn = [&](int number) {
    pushed += 5;
    pool().pushMany(5);
    setTarget(number % 3 == 0 ? 4 : number % 3 == 1 ? 1 : 3);
  };
  int turns = 0;
  while (turns < 100) turn(turns++);
  // Those that have not even started are no surplus: a slow machine takes more turns.
  EXPECT_TRUE(becomes([&] {
    if (eventsOf("worker.terminating").size() >= 30U) return true;
    turn(turns++);
    return false;
  })) << "there was never a surplus";
  setTarget(4);
  ASSERT_TRUE(allDone(pushed));
  for (const Json::Value& job : pool().list("status=done")) {
    ASSERT_EQ(job["attempts"], 1) << "a try was lost: " << job;
  }
  EXPECT_TRUE(eventsOf("job.reassigned").empty());
  EXPECT_TRUE(eventsOf("job.failed").empty());
  EXPECT_TRUE(eventsOf("worker.lost").empty());
  setTarget(0);
  ASSERT_TRUE(nobodyLeft());
}

TEST_F(Scaled, workers_that_a_pool_keeps_do_not_leave_when_they_are_idle) {
  pool().configure(
      R"("template":"echo","worker_mode":"loop","scaling":{"min_workers":2,"max_workers":8})");
  ASSERT_TRUE(becomes([this] {
    const auto active = http().get("/v1/workers?pool_id=p&status=active").json["items"];
    return active.size() == 2;
  }));
  // One that leaves after a second of idleness is seen beside them: it comes and goes.
  pool().http().put("/v1/pools/q", R"({"template":"echo","worker_mode":"loop"})");
  PoolClient other(service().url(), "q");
  other.push();
  ASSERT_TRUE(becomes([&] { return other.stats()["done"] == 1; }));
  ASSERT_TRUE(becomes([&] {
    const auto left = http().get("/v1/workers?pool_id=q&status=terminated").json["items"];
    return left.size() == 1;
  }));
  EXPECT_EQ(alive(), 2);
  EXPECT_EQ(workers().size(), 2U) << "nobody had to come again";
}

TEST_F(Scaled, a_warm_once_worker_waits_for_its_job_and_ends_with_it) {
  pool().configure(R"("template":"echo","scaling":{"warm_idle":1,"max_workers":8})");
  std::string waiting;
  ASSERT_TRUE(becomes([&] {
    const auto active = http().get("/v1/workers?pool_id=p&status=active").json["items"];
    if (active.size() == 1) waiting = active[0]["worker_id"].asString();
    return active.size() == 1;
  }));
  const Json::Value job = pool().push();
  ASSERT_TRUE(allDone(1));
  const auto tries = http().get("/v1/jobs/" + job["id"].asString() + "/attempts").json["items"];
  EXPECT_EQ(tries[0]["worker_id"], waiting) << "it was there before the job";
  ASSERT_TRUE(becomes([&] {
    return http().get("/v1/workers/" + waiting).json["status"] == "terminated";
  })) << "one job each";
}

TEST_F(Scaled, an_adaptive_pool_goes_up_by_steps_with_a_cooldown_between) {
  pool().configure(
      R"("template":"wait","worker_mode":"loop","scaling":{"mode":"adaptive","max_workers":5,)"
      R"("target_queue_depth":3,"target_p95_latency_ms":600000,)"
      R"("scale_decision_interval_ms":600000})");
  ASSERT_TRUE(becomes([this] { return alive() == 1; })) << "min_workers of adaptive mode";
  ASSERT_TRUE(becomes([this] { return check()["binding_limit"] == "cooldown"; }));
  pool().pushMany(10);
  const Json::Value held = check();
  EXPECT_EQ(held["binding_limit"], "cooldown") << held;
  EXPECT_EQ(held["direction"], "hold");
  EXPECT_TRUE(held["reason"].asString().starts_with("Cooldown active (")) << held;
  EXPECT_TRUE(held["inputs"].isMember("last_scale_age_ms"));
  ASSERT_EQ(http().patch(pool().path(), R"({"scaling":{"scale_decision_interval_ms":0}})").status,
            200);
  ASSERT_TRUE(becomes([this] { return alive() == 5; }));
  const auto decisions = http().get(pool().path("/decisions")).json["items"];
  const auto up = std::find_if(decisions.begin(), decisions.end(),
                               [](const auto& each) { return each["direction"] == "up"; });
  ASSERT_NE(up, decisions.end());
  EXPECT_NE((*up)["reason"].asString().find("queue depth"), std::string::npos) << *up;
  EXPECT_EQ((*up)["limits"]["target_queue_depth"], 3);
  EXPECT_LE((*up)["to_launch"].asInt(), 2) << "the step";
  allow("go");
  ASSERT_TRUE(allDone(10));
  // Nothing to do: one after the other they end, down to the last.
  ASSERT_TRUE(becomes([this] {
    check();
    return alive() == 1;
  }));
  EXPECT_TRUE(eventsOf("worker.lost").empty());
}

TEST_F(Scaled, an_adaptive_pool_of_once_workers_launches_one_for_each_job) {
  pool().configure(R"("template":"echo","scaling":{"mode":"adaptive","preset":"low-latency",)"
                   R"("scale_decision_interval_ms":0})");
  pool().pushMany(20);
  ASSERT_TRUE(allDone(20));
  ASSERT_TRUE(nobodyLeft());
  EXPECT_EQ(eventsOf("worker.starting").size(), 20U);
}

}  // namespace
}  // namespace muster::test
