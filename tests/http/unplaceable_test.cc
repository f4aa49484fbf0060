#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Unplaceable = ServiceFixture;

TEST_F(Unplaceable, jobs_are_counted_and_a_check_says_why) {
  for (int i = 0; i < 3; ++i) {
    pool_.push(R"("data":1,"placement":{"requires_capabilities":{"gpu":"nvidia"}})");
  }
  pool_.push(R"("data":1,"placement":{"allowed_nodes":["mars"],"max_parallel_per_node":2})");
  pool_.push();
  EXPECT_EQ(pool_.stats()["unplaceable"], 4);
  EXPECT_EQ(pool_.stats()["runnable"], 1);
  const std::string gauge = "\nmuster_pool_jobs_unplaceable{pool=\"" + pool_.name() + "\"} ";
  EXPECT_NE(http_.get("/metrics").body.find(gauge + "4\n"), std::string::npos);

  const Json::Value look = http_.get(pool_.path("/check")).json;
  EXPECT_EQ(look["inputs"]["unplaceable"], 4);
  const std::string why =
      R"(no worker has the capability "gpu=nvidia", and the pool has no template to launch one from)";
  EXPECT_EQ(look["reason"],
            "the pool has no template, so nothing can be launched for it; 4 jobs cannot be placed, "
            "3 of them because " +
                why);
  ASSERT_EQ(look["unplaceable"].size(), 2U);
  EXPECT_EQ(look["unplaceable"][0]["count"], 3);
  EXPECT_EQ(look["unplaceable"][0]["placement"]["requires_capabilities"][0], "gpu=nvidia");
  EXPECT_EQ(look["unplaceable"][0]["reason"], why);
  EXPECT_EQ(look["unplaceable"][1]["count"], 1);
  EXPECT_EQ(look["unplaceable"][1]["placement"]["max_parallel_per_node"], 2);
  EXPECT_EQ(look["unplaceable"][1]["reason"],
            R"(only the node "mars" may run it: it has no worker, and the pool has no template to )"
            "launch one from");

  const Json::Value checked = http_.post(pool_.path("/check")).json;
  EXPECT_EQ(checked["unplaceable"], look["unplaceable"]);
  const Json::Value kept = http_.get(pool_.path("/decisions")).json["items"][0];
  EXPECT_EQ(kept["inputs"]["unplaceable"], 4);
  EXPECT_EQ(kept["reason"], look["reason"]);
  EXPECT_FALSE(kept.isMember("unplaceable")) << "the reasons are those of the moment";

  pool_.registerWorker(name("gpu"), R"("capabilities":["gpu=nvidia"])");
  pool_.registerWorker(name("rover"), R"("host":"mars")");
  EXPECT_EQ(pool_.stats()["unplaceable"], 0);
  EXPECT_EQ(pool_.stats()["runnable"], 5);
  EXPECT_FALSE(http_.get(pool_.path("/check")).json.isMember("unplaceable"));
  EXPECT_NE(http_.get("/metrics").body.find(gauge + "0\n"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
