#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Explain = ServiceFixture;

TEST_F(Explain, an_adaptive_decision_says_why) {
  const Reply reply = http_.post(
      "/v1/autoscaler/explain",
      R"({"state":{"current_workers":5,"queue_depth":100,"p95_latency_ms":3000,"in_flight_jobs":5},
          "preset":"balanced"})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["direction"], "up");
  EXPECT_EQ(reply.json["desired_workers"], 7);
  EXPECT_EQ(reply.json["delta"], 2);
  EXPECT_EQ(reply.json["reason"],
            "queue depth 100 > 50 (2.0x); P95 latency 3000.0ms > 2000ms (1.5x); all 5 workers "
            "busy, 100 queued");
  EXPECT_EQ(reply.json["up_reasons"].size(), 3U);
  EXPECT_EQ(reply.json["cooldown"]["active"], false);
  EXPECT_EQ(reply.json["config"]["max_workers"], 12);
}

TEST_F(Explain, queue_mode_answers_like_a_check) {
  const Reply reply =
      http_.post("/v1/autoscaler/explain",
                 R"({"mode":"queue","state":{"runnable":10},"config":{"max_workers":3}})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["to_launch"], 3);
  EXPECT_EQ(reply.json["launched"], 0);
  EXPECT_EQ(reply.json["binding_limit"], "max_workers");
}

TEST_F(Explain, bad_figures_are_named) {
  const Reply reply = http_.post(
      "/v1/autoscaler/explain",
      R"({"state":{"current_workers":-1,"queue_depth":"many","p95_latency_ms":1,"in_flight_jobs":0},
          "config":{"min_workers":5,"max_workers":4},"colour":1})");
  ASSERT_TRUE(isProblem(reply, 422)) << reply;
  EXPECT_EQ(reply.json["errors"].size(), 4U) << reply;
  EXPECT_TRUE(isProblem(http_.post("/v1/autoscaler/explain", "{"), 400));
  EXPECT_TRUE(isProblem(http_.get("/v1/autoscaler/explain"), 405));
}

TEST_F(Explain, a_preset_fills_what_a_pool_does_not_set) {
  const Reply pool = http_.put(
      pool_.path(), R"({"scaling":{"mode":"adaptive","preset":"cost-optimized","max_workers":4}})");
  ASSERT_EQ(pool.status, 201) << pool;
  const Json::Value& scaling = pool.json["scaling"];
  EXPECT_EQ(scaling["min_workers"], 1);
  EXPECT_EQ(scaling["max_workers"], 4) << "a single key overrides the preset";
  EXPECT_EQ(scaling["target_p95_latency_ms"], 8000);
  EXPECT_EQ(scaling["scale_decision_interval_ms"], 3000);
  const Reply plain = http_.patch(pool_.path() + "?unset=scaling.preset,scaling.max_workers", "{}");
  EXPECT_EQ(plain.json["scaling"]["max_workers"], 12) << "the default of adaptive mode";
  const Reply queue = http_.patch(pool_.path(), R"({"scaling":{"mode":"queue"}})");
  EXPECT_EQ(queue.json["scaling"]["min_workers"], 0);
}

TEST_F(Explain, schedules_are_kept_and_checked) {
  const Reply kept = http_.put(
      pool_.path(),
      R"({"scaling":{"schedules":[{"cron":"0 8 * * 1-5","timezone":"UTC","min_workers":5}]}})");
  ASSERT_EQ(kept.status, 201) << kept;
  EXPECT_EQ(kept.json["scaling"]["schedules"][0]["cron"], "0 8 * * 1-5");
  const Reply bad =
      http_.put(pool_.path(),
                R"({"scaling":{"schedules":[{"cron":"soon","min_workers":5},{"cron":"@daily"}]}})");
  EXPECT_TRUE(isProblem(bad, 422)) << bad;
  EXPECT_EQ(bad.json["errors"][0]["pointer"], "/scaling/schedules/1/min_workers") << bad;
  const Reply never =
      http_.put(pool_.path(), R"({"scaling":{"schedules":[{"cron":"soon","min_workers":5}]}})");
  EXPECT_TRUE(isProblem(never, 422)) << never;
  EXPECT_EQ(never.json["errors"][0]["pointer"], "/scaling/schedules/0/cron") << never;
  const Reply high =
      http_.put(pool_.path(), R"({"scaling":{"schedules":[{"cron":"@daily","min_workers":50}]}})");
  EXPECT_TRUE(isProblem(high, 422)) << high;
}

}  // namespace
}  // namespace muster::test
