#include "models/policy/unplaceable.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Names = std::vector<std::string>;

template <class T, class Change>
T with(Change change) {
  T made;
  change(made);
  return made;
}

template <class Change>
Placement asking(Change change) {
  return with<Placement>(change);
}

// A service on "here" in the region "home" that can launch, and a worker with a GPU elsewhere.
PlacementSupply supply() {
  PlacementSupply supply;
  supply.workers = {{"box1", "eu", {"gpu", "ssd"}, {"python"}}};
  supply.template_name = "resize";
  supply.launchable = WorkerTraits{"here", "home", {}, {}};
  return supply;
}

TEST(Unplaceable, isWhatNeitherAWorkerNorALaunchedOneCanRun) {
  const PlacementSupply all = supply();
  EXPECT_TRUE(isPlaceable(asking([](auto& p) { p.capabilities = {"gpu"}; }), all));
  EXPECT_TRUE(isPlaceable(asking([](auto& p) { p.allowed_nodes = Names{"here"}; }), all));
  EXPECT_TRUE(isPlaceable(asking([](auto& p) { p.region = "home"; }), all));
  EXPECT_FALSE(isPlaceable(asking([](auto& p) { p.capabilities = {"tpu"}; }), all));
  EXPECT_FALSE(isPlaceable(asking([](auto& p) { p.allowed_nodes = Names{"box2"}; }), all));
  EXPECT_FALSE(isPlaceable(asking([](auto& p) {
                             p.capabilities = {"gpu"};
                             p.region = "home";
                           }),
                           all));
}

TEST(Unplaceable, isNotWhatIsOnlyLimitedForNow) {
  const Placement limited = asking([](auto& p) { p.max_parallel_per_node = 1; });
  EXPECT_TRUE(isPlaceable(limited, supply()));
  EXPECT_TRUE(isPlaceable(limited, {})) << "anybody may come and claim it";
  EXPECT_TRUE(isPlaceable({}, {}));
}

TEST(Unplaceable, everyKindOfReason) {
  const auto launching_nothing = [](auto& s) {
    s.launchable.reset();
    s.template_name.clear();
  };
  const auto unconfigured = [](auto& s) { s.launchable.reset(); };
  const auto as_it_is = [](auto&) {};
  const auto no_workers = [](auto& s) { s.workers.clear(); };
  struct Row {
    Placement placement;
    void (*change)(PlacementSupply&);
    std::string reason;
  };
  const Row rows[] = {
      {asking([](auto& p) { p.capabilities = {"tpu"}; }), as_it_is,
       R"(no worker has the capability "tpu", and the template "resize" is not known to give it)"},
      {asking([](auto& p) {
         p.capabilities = {"fpga", "gpu", "tpu"};
       }),
       as_it_is,
       R"(no worker has the capabilities "fpga", "tpu", and the template "resize" is not known )"
       "to give them"},
      {asking([](auto& p) { p.capabilities = {"tpu"}; }), launching_nothing,
       R"(no worker has the capability "tpu", and the pool has no template to launch one from)"},
      {asking([](auto& p) { p.capabilities = {"tpu"}; }), unconfigured,
       R"(no worker has the capability "tpu", and the pool's template "resize" is not )"
       "configured here"},
      {asking([](auto& p) { p.capabilities = {"tpu"}; }), [](auto& s) { s = {}; },
       R"(no worker has the capability "tpu", and the pool has no template to launch one from)"},
      {asking([](auto& p) { p.executors = {"ruby"}; }), as_it_is,
       R"(no worker has the executor "ruby", and the template "resize" is not known to give it)"},
      {asking([](auto& p) { p.executors = {"a", "b", "c", "d", "e", "f", "g"}; }),
       launching_nothing,
       R"(no worker has the executors "a", "b", "c", "d", "e" and 2 more, and the pool has no )"
       "template to launch one from"},
      {asking([](auto& p) { p.region = "us"; }), as_it_is,
       R"(no worker is in the region "us", and this service launches in "home")"},
      {asking([](auto& p) { p.region = "us"; }), launching_nothing,
       R"(no worker is in the region "us", and the pool has no template to launch one from)"},
      {asking([](auto& p) { p.allowed_nodes = Names{"box2"}; }), as_it_is,
       R"(only the node "box2" may run it: it has no worker, and this service launches on "here")"},
      {asking([](auto& p) {
         p.allowed_nodes = Names{"box2", "box3"};
       }),
       launching_nothing,
       R"(only the nodes "box2", "box3" may run it: none of them has a worker, and the pool )"
       "has no template to launch one from"},
      {asking([](auto& p) {
         p.allowed_nodes = Names{"box1", "box2"};
         p.forbidden_nodes = {"box1"};
       }),
       as_it_is,
       R"(only the node "box2" may run it: it has no worker, and this service launches on "here")"},
      {asking([](auto& p) { p.allowed_nodes = Names{}; }), as_it_is,
       "allowed_nodes is empty, so no node may run it"},
      {asking([](auto& p) {
         p.allowed_nodes = Names{"box1"};
         p.forbidden_nodes = {"box1"};
       }),
       as_it_is, "every node in allowed_nodes is forbidden, so no node may run it"},
      {asking([](auto& p) {
         p.forbidden_nodes = {"box1", "here"};
       }),
       as_it_is,
       R"(all workers are on forbidden nodes, and this service launches on "here", which is )"
       "forbidden too"},
      {asking([](auto& p) { p.forbidden_nodes = {"here"}; }), no_workers,
       R"(there is no worker, and this service launches on "here", which is forbidden)"},
      {asking([](auto& p) { p.forbidden_nodes = {"here"}; }), [](auto& s) { s = {}; },
       "there is no worker, and the pool has no template to launch one from"},
      {asking([](auto& p) { p.forbidden_nodes = {"box1"}; }), launching_nothing,
       "all workers are on forbidden nodes, and the pool has no template to launch one from"},
      {asking([](auto& p) {
         p.capabilities = {"gpu"};
         p.region = "home";
       }),
       as_it_is,
       R"(no single worker has all it asks for (the capability "gpu"; the region "home"), nor )"
       "would one that this service launches"},
      {asking([](auto& p) {
         p.executors = {"python"};
         p.capabilities = {"gpu", "ssd"};
         p.forbidden_nodes = {"box1"};
       }),
       as_it_is,
       R"(no single worker has all it asks for (a node that is not forbidden; the executor )"
       R"("python"; the capabilities "gpu", "ssd"), nor would one that this service launches)"},
      {asking([](auto& p) {
         p.capabilities = {"gpu"};
         p.allowed_nodes = Names{"here"};
       }),
       as_it_is,
       R"(no single worker has all it asks for (an allowed node; the capability "gpu"), nor would )"
       "one that this service launches"},
      {asking([](auto& p) {
         p.capabilities = {"gpu"};
         p.region = "us";
       }),
       [](auto& s) {
         s.workers.push_back({"box2", "us", {}, {}});
         s.launchable.reset();
         s.template_name.clear();
       },
       R"(no single worker has all it asks for (the capability "gpu"; the region "us"), and the )"
       "pool has no template to launch one from"},
  };
  for (const Row& row : rows) {
    PlacementSupply given = supply();
    row.change(given);
    EXPECT_FALSE(isPlaceable(row.placement, given)) << row.reason;
    EXPECT_EQ(whyUnplaceable(row.placement, given), row.reason);
  }
}

TEST(Unplaceable, namesTheOtherServicesThatMayBeAbleToLaunch) {
  PlacementSupply given = supply();
  given.other_nodes = {"box2", "box3", "here"};
  const auto why = [&](const Placement& placement) { return whyUnplaceable(placement, given); };
  EXPECT_EQ(why(asking([](auto& p) { p.allowed_nodes = Names{"box2"}; })),
            R"(only the node "box2" may run it: it has no worker, and this service launches on )"
            R"("here"; the service on "box2" may be able to launch one)");
  EXPECT_EQ(why(asking([](auto& p) {
              p.region = "us";
              p.forbidden_nodes = {"here"};
            })),
            R"(no worker is in the region "us", and this service launches in "home"; the services )"
            R"(on "box2", "box3" may be able to launch one)")
      << "their regions are not known";
  EXPECT_EQ(why(asking([](auto& p) { p.capabilities = {"tpu"}; })),
            R"(no worker has the capability "tpu", and the template "resize" is not known to )"
            "give it")
      << "they launch the same template";
  given.launchable.reset();
  EXPECT_EQ(why(asking([](auto& p) { p.allowed_nodes = Names{"box2"}; })),
            R"(only the node "box2" may run it: it has no worker, and the pool's template )"
            R"("resize" is not configured here; the service on "box2" may be able to launch one)");
  given.template_name.clear();
  EXPECT_EQ(why(asking([](auto& p) { p.allowed_nodes = Names{"box2"}; })),
            R"(only the node "box2" may run it: it has no worker, and the pool has no )"
            "template to launch one from")
      << "without a template nobody launches";
}

TEST(Unplaceable, isToldWithTheCountAndTheReasonOfTheLargestGroup) {
  EXPECT_EQ(unplaceableText(0, {}), "");
  EXPECT_EQ(unplaceableText(2, {}), "2 jobs cannot be placed");
  EXPECT_EQ(unplaceableText(1, {{1, "{}", "why"}}), "1 job cannot be placed: why");
  EXPECT_EQ(unplaceableText(5, {{3, "{}", "why"}, {2, "{}", "other"}}),
            "5 jobs cannot be placed, 3 of them because why");
}

}  // namespace
}  // namespace muster
