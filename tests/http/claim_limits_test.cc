#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Placement = ServiceFixture;
using Tenants = ServiceFixture;

TEST_F(Placement, a_constrained_job_goes_only_to_a_worker_that_fits) {
  pool_.registerWorker(name("plain"));
  pool_.registerWorker(name("gpu"), R"("capabilities":["gpu","cuda"],"executor_types":["python"])");
  const Json::Value job = pool_.push(
      R"("data":1,"placement":{"requires_capabilities":["gpu"],"requires_executors":["python"]})");
  EXPECT_TRUE(pool_.claim(name("plain")).empty());
  EXPECT_TRUE(pool_.claim("unregistered").empty());
  EXPECT_EQ(pool_.claimOne(name("gpu"))["id"], job["id"]);
}

TEST_F(Placement, capabilities_match_exactly_and_by_case) {
  pool_.registerWorker(name("w"), R"("capabilities":["GPU","gpus","gpu=amd"])");
  pool_.push(R"("data":1,"placement":{"requires_capabilities":["gpu"]})");
  pool_.push(R"("data":1,"placement":{"requires_capabilities":["gpu","GPU"]})");
  EXPECT_TRUE(pool_.claim(name("w"), R"("max":10)").empty());
}

TEST_F(Placement, the_map_form_means_name_equals_value) {
  pool_.registerWorker(name("amd"), R"("capabilities":["gpu=amd","fast"])");
  pool_.registerWorker(name("nvidia"), R"("capabilities":["gpu=nvidia","fast"])");
  pool_.push(R"("data":1,"placement":{"requires_capabilities":{"gpu":"nvidia","fast":true}})");
  EXPECT_TRUE(pool_.claim(name("amd")).empty());
  EXPECT_EQ(pool_.claim(name("nvidia")).size(), 1U);
}

TEST_F(Placement, forbidden_nodes_beat_allowed_ones) {
  pool_.registerWorker(name("a"), R"("host":"node-a")");
  pool_.registerWorker(name("b"), R"("host":"node-b")");
  pool_.push(R"("data":1,"placement":{"allowed_nodes":["node-a","node-b"],)"
             R"("forbidden_nodes":["node-a"]})");
  EXPECT_TRUE(pool_.claim(name("a")).empty());
  EXPECT_EQ(pool_.claim(name("b")).size(), 1U);
}

TEST_F(Placement, an_empty_list_of_allowed_nodes_means_nobody) {
  pool_.registerWorker(name("a"), R"("host":"node-a")");
  pool_.push(R"("data":1,"placement":{"allowed_nodes":[]})");
  EXPECT_TRUE(pool_.claim(name("a")).empty());
  EXPECT_TRUE(pool_.claim("unregistered").empty());
}

TEST_F(Placement, at_most_so_many_run_on_one_node) {
  pool_.registerWorker(name("a1"), R"("host":"node-a","slots":9)");
  pool_.registerWorker(name("a2"), R"("host":"node-a","slots":9)");
  pool_.registerWorker(name("b"), R"("host":"node-b","slots":9)");
  for (int i = 0; i < 5; ++i) pool_.push(R"("data":1,"placement":{"max_parallel_per_node":2})");
  const std::vector<Json::Value> first = pool_.claim(name("a1"), R"("max":5)");
  ASSERT_EQ(first.size(), 2U);
  EXPECT_TRUE(pool_.claim(name("a2")).empty());
  EXPECT_EQ(pool_.claim(name("b"), R"("max":5)").size(), 2U);
  ASSERT_EQ(pool_.report("complete", first.at(0)).status, 200);
  EXPECT_EQ(pool_.claim(name("a2"), R"("max":5)").size(), 1U);
}

TEST_F(Placement, another_region_gets_nothing) {
  pool_.push(R"("data":1,"placement":{"region":"mars"})");
  pool_.registerWorker(name("w"));
  EXPECT_TRUE(pool_.claim(name("w")).empty());
  const Json::Value here = pool_.push(R"("data":1,"placement":{"region":"default"})");
  EXPECT_EQ(pool_.claimOne(name("w"))["id"], here["id"]);
}

TEST_F(Placement, a_head_of_constrained_jobs_hides_nothing) {
  for (int i = 0; i < 300; ++i) {
    pool_.push(R"("data":1,"priority":9,"placement":{"requires_capabilities":["c)" +
               std::to_string(i % 60) + R"("]})");
  }
  const Json::Value free = pool_.push();
  EXPECT_EQ(pool_.claimOne()["id"], free["id"]);
  pool_.registerWorker(name("c7"), R"("capabilities":["c7"])");
  EXPECT_EQ(pool_.claim(name("c7"), R"("max":10)").size(), 5U);
}

TEST_F(Placement, claiming_by_id_obeys_the_placement) {
  const Json::Value job = pool_.push(R"("data":1,"placement":{"requires_capabilities":["gpu"]})");
  EXPECT_TRUE(isProblem(pool_.tryClaim("w", R"("job_id":)" + inQuotes(job["id"].asString())), 409,
                        "not_claimable"));
}

TEST_F(Placement, bad_placements_are_refused) {
  for (const char* placement :
       {R"(1)", R"({"requires_capabilities":"gpu"})", R"({"requires_capabilities":[1]})",
        R"({"requires_capabilities":{"gpu":1}})", R"({"allowed_nodes":"a"})",
        R"({"max_parallel_per_node":-1})", R"({"region":""})"}) {
    const Reply reply = pool_.tryPush(std::string(R"("data":1,"placement":)") + placement);
    EXPECT_TRUE(isProblem(reply, 422)) << placement;
    for (const std::string& pointer : pointers(reply)) {
      EXPECT_EQ(pointer.find("/placement"), 0U) << pointer;
    }
  }
}

TEST_F(Tenants, over_its_limit_a_tenant_waits_and_others_do_not) {
  pool_.configure(R"("limits":{"per_tenant_concurrency":2})");
  for (int i = 0; i < 4; ++i) pool_.push(R"("data":"a","tenant":"a","priority":5)");
  pool_.push(R"("data":"b","tenant":"b")");
  pool_.push(R"("data":"none")");
  const std::vector<Json::Value> claimed = pool_.claim("w", R"("max":10)");
  std::vector<std::string> who;
  for (const Json::Value& job : claimed) who.push_back(job["data"].asString());
  EXPECT_EQ(who, (std::vector<std::string>{"a", "a", "b", "none"}));
  EXPECT_EQ(pool_.stats()["queue_depth"], 2);
  EXPECT_EQ(pool_.stats()["runnable"], 0);
  ASSERT_EQ(pool_.report("complete", claimed.at(0)).status, 200);
  EXPECT_EQ(pool_.claim("w", R"("max":10)").size(), 1U);
}

TEST_F(Tenants, every_way_a_job_ends_frees_its_place) {
  pool_.configure(R"("limits":{"per_tenant_concurrency":1},"retry":{"base_ms":60000})");
  for (int i = 0; i < 6; ++i) pool_.push(R"("data":1,"tenant":"t","max_retries":5)");
  const auto next = [this] { return pool_.claimOne(name("w")); };
  ASSERT_EQ(pool_.report("complete", next()).status, 200);
  ASSERT_EQ(pool_.report("fail", next()).status, 200);
  ASSERT_EQ(pool_.report("fail", next(), R"("retryable":false)").status, 200);
  const Json::Value to_cancel = next();
  ASSERT_EQ(pool_.act("cancel", to_cancel).status, 200);
  ASSERT_EQ(pool_.report("fail", to_cancel, R"("cancelled":true)").status, 200);
  ASSERT_EQ(pool_.report("release", next()).status, 200);
  const Json::Value held = next();
  EXPECT_TRUE(pool_.claim("w2").empty());
  ASSERT_EQ(http_.post("/v1/workers/" + name("w") + "/release").json["released"], 1);
  EXPECT_EQ(pool_.claim("w2").size(), 1U) << "held " << held["id"];
}

TEST_F(Tenants, runnable_counts_at_most_the_free_places_of_a_tenant) {
  pool_.configure(R"("limits":{"per_tenant_concurrency":3})");
  for (int i = 0; i < 10; ++i) pool_.push(R"("data":1,"tenant":"t")");
  pool_.push();
  EXPECT_EQ(pool_.stats()["queue_depth"], 11);
  EXPECT_EQ(pool_.stats()["runnable"], 4);
  pool_.claim("w", R"("max":2)");
  EXPECT_EQ(pool_.stats()["runnable"], 2);
}

TEST_F(Tenants, the_limit_counts_per_pool) {
  PoolClient other(service().url(), name("other"));
  for (PoolClient* pool : {&pool_, &other}) {
    for (int i = 0; i < 4; ++i) pool->push(R"("data":1,"tenant":"t")");
    EXPECT_EQ(pool->claim("w", R"("max":10)").size(), 3U);
  }
}

TEST_F(Tenants, the_limit_holds_over_a_restart) {
  Service own;
  {
    PoolClient pool(own.url(), "p");
    for (int i = 0; i < 5; ++i) pool.push(R"("data":1,"tenant":"t")");
    EXPECT_EQ(pool.claim("w", R"("max":2)").size(), 2U);
  }
  own.restart();
  PoolClient pool(own.url(), "p");
  EXPECT_EQ(pool.claim("w", R"("max":10)").size(), 1U);
}

}  // namespace
}  // namespace muster::test
