#include "models/policy/placement.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Names = std::vector<std::string>;

WorkerTraits gpuBox() { return {"box1", "eu", {"gpu=nvidia", "ssd"}, {"python", "shell"}}; }

struct Rule {
  std::string_view what;
  Placement placement;
  bool allowed;
};

Placement with(void (*change)(Placement&)) {
  Placement placement;
  change(placement);
  return placement;
}

TEST(Placement, everyRuleOnItsOwn) {
  const Rule rules[] = {
      {"nothing asked", {}, true},
      {"one executor", with([](auto& p) { p.executors = {"python"}; }), true},
      {"all executors", with([](auto& p) {
         p.executors = {"python", "shell"};
       }),
       true},
      {"one executor missing", with([](auto& p) {
         p.executors = {"python", "wasm"};
       }),
       false},
      {"executor in other case", with([](auto& p) { p.executors = {"Python"}; }), false},
      {"one capability", with([](auto& p) { p.capabilities = {"ssd"}; }), true},
      {"capability with value", with([](auto& p) { p.capabilities = {"gpu=nvidia"}; }), true},
      {"capability with other value", with([](auto& p) { p.capabilities = {"gpu=amd"}; }), false},
      {"bare name of a capability with value", with([](auto& p) { p.capabilities = {"gpu"}; }),
       false},
      {"capability in other case", with([](auto& p) { p.capabilities = {"SSD"}; }), false},
      {"part of a capability", with([](auto& p) { p.capabilities = {"ss"}; }), false},
      {"one capability missing", with([](auto& p) {
         p.capabilities = {"ssd", "tpu"};
       }),
       false},
      {"allowed node", with([](auto& p) {
         p.allowed_nodes = Names{"box2", "box1"};
       }),
       true},
      {"not an allowed node", with([](auto& p) { p.allowed_nodes = Names{"box2"}; }), false},
      {"allowed node in other case", with([](auto& p) { p.allowed_nodes = Names{"BOX1"}; }), false},
      {"nobody is allowed", with([](auto& p) { p.allowed_nodes = Names{}; }), false},
      {"forbidden node", with([](auto& p) { p.forbidden_nodes = {"box1"}; }), false},
      {"another node is forbidden", with([](auto& p) { p.forbidden_nodes = {"box2"}; }), true},
      {"forbidden beats allowed",
       with([](auto& p) { p.allowed_nodes = Names{"box1"}, p.forbidden_nodes = {"box1"}; }), false},
      {"the region", with([](auto& p) { p.region = "eu"; }), true},
      {"another region", with([](auto& p) { p.region = "us"; }), false},
      {"region in other case", with([](auto& p) { p.region = "EU"; }), false},
  };
  for (const Rule& rule : rules) {
    const auto obstacle = placementObstacle(rule.placement, gpuBox(), 0);
    EXPECT_EQ(!obstacle, rule.allowed) << rule.what << ": " << obstacle.value_or("no obstacle");
  }
}

TEST(Placement, limitsWhatANodeRunsAtOnce) {
  const auto two = with([](auto& p) { p.max_parallel_per_node = 2; });
  EXPECT_FALSE(placementObstacle(two, gpuBox(), 0));
  EXPECT_FALSE(placementObstacle(two, gpuBox(), 1));
  EXPECT_TRUE(placementObstacle(two, gpuBox(), 2));
  EXPECT_TRUE(placementObstacle(two, gpuBox(), 3));
}

TEST(Placement, aWorkerWithoutTraitsServesOnlyWhatAsksForNothing) {
  const WorkerTraits nobody;
  EXPECT_FALSE(placementObstacle({}, nobody, 0));
  EXPECT_FALSE(placementObstacle(with([](auto& p) { p.forbidden_nodes = {"box1"}; }), nobody, 0));
  EXPECT_TRUE(placementObstacle(with([](auto& p) { p.executors = {"shell"}; }), nobody, 0));
  EXPECT_TRUE(placementObstacle(with([](auto& p) { p.capabilities = {"ssd"}; }), nobody, 0));
  EXPECT_TRUE(placementObstacle(with([](auto& p) { p.allowed_nodes = Names{"box1"}; }), nobody, 0));
  EXPECT_TRUE(placementObstacle(with([](auto& p) { p.region = "eu"; }), nobody, 0));
}

TEST(Placement, theObstacleNamesWhatIsMissing) {
  EXPECT_EQ(placementObstacle(with([](auto& p) { p.capabilities = {"tpu"}; }), gpuBox(), 0),
            "needs capability tpu");
  EXPECT_EQ(placementObstacle(with([](auto& p) { p.forbidden_nodes = {"box1"}; }), gpuBox(), 0),
            "node box1 is forbidden");
}

TEST(Placement, isEmptyOnlyWhenNothingIsAsked) {
  EXPECT_TRUE(Placement{}.empty());
  EXPECT_FALSE(with([](auto& p) { p.executors = {"a"}; }).empty());
  EXPECT_FALSE(with([](auto& p) { p.capabilities = {"a"}; }).empty());
  EXPECT_FALSE(with([](auto& p) { p.allowed_nodes = Names{}; }).empty());
  EXPECT_FALSE(with([](auto& p) { p.forbidden_nodes = {"a"}; }).empty());
  EXPECT_FALSE(with([](auto& p) { p.max_parallel_per_node = 1; }).empty());
  EXPECT_FALSE(with([](auto& p) { p.region = "a"; }).empty());
}

}  // namespace
}  // namespace muster
