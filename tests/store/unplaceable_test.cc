#include "models/store/sql/placing.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

NewJob asking(const std::string& capability, const std::string& tenant = "") {
  NewJob job{.data = "1", .tenant = tenant};
  job.placement.capabilities = {capability};
  return job;
}

// A service on "here", in the region "home", that can launch the template "echo".
class UnplaceableTest : public StoreTest {
 protected:
  UnplaceableTest() {
    rules.host = "here";
    rules.region = "home";
    rules.templates = {{"echo", {"1"}}};
    reopen();
  }
  void giveTemplate() {
    setPool(with<PoolSettings>([](auto& s) { s.template_name = "echo"; }));
  }
  void change(const std::string& worker, const std::string& status) {
    write([&](Store& s) {
      return s.workers().change(WorkerId(worker),
                                with<WorkerChange>([&](auto& c) { c.status = status; }));
    }).value();
  }
  // "COUNT PLACEMENT: REASON", as a check has it.
  Names groups() {
    Names lines;
    const ScaleState state =
        read([](Store& s) { return s.scaling().state(*s.pools().find(PoolId("p"))); });
    EXPECT_EQ(state.unplaceable, stats().unplaceable);
    for (const auto& [count, placement, reason] : state.unplaceable_jobs) {
      lines.push_back(std::to_string(count) + " " + placement + ": " + reason);
    }
    return lines;
  }
};
MUSTER_ON_EVERY_BACKEND(UnplaceableTest);

// Tests in which the service comes back as another.
class UnplaceableAfterRestartTest : public UnplaceableTest {};
MUSTER_ON_BACKENDS(UnplaceableAfterRestartTest, backendsThat(&Backend::keeps_data));

TEST_P(UnplaceableTest, areJobsThatNobodyThereAndNobodyLaunchedCouldRun) {
  giveTemplate();
  push();
  push(asking("gpu")), push(asking("gpu"));
  NewJob here{.data = "1"};
  here.placement.allowed_nodes = {"here"};
  push(here);
  EXPECT_EQ(stats().unplaceable, 2);
  EXPECT_EQ(stats().runnable, 2);
  EXPECT_EQ(groups(), (Names{R"(2 {"requires_capabilities":["gpu"]}: no worker has the capability )"
                             R"("gpu", and the template "echo" is not known to give it)"}));
  registerWorker(newWorker("w", "", {"gpu"}));
  EXPECT_EQ(stats().unplaceable, 0);
  EXPECT_EQ(stats().runnable, 4);
  EXPECT_EQ(groups(), Names{});
}

TEST_P(UnplaceableAfterRestartTest, whatTheTemplateDeclaresCounts) {
  giveTemplate();
  push(asking("gpu"));
  NewJob both = asking("gpu"), tpu = asking("tpu");
  both.placement.executors = {"docker"};
  tpu.placement.executors = {"docker"};
  push(both), push(tpu);
  EXPECT_EQ(stats().unplaceable, 3);
  rules.templates = {{"echo", {"2", {"gpu"}, {"docker"}}}};
  reopen();
  EXPECT_EQ(stats().runnable, 2);
  EXPECT_EQ(groups(),
            (Names{R"(1 {"requires_executors":["docker"],"requires_capabilities":["tpu"]})"
                   R"(: no worker has the capability "tpu", and the template "echo" is )"
                   "not known to give it"}));
}

TEST_P(UnplaceableTest, withoutATemplateOnlyWorkersCount) {
  NewJob job{.data = "1"};
  job.placement.allowed_nodes = {"here"};
  push(job);
  EXPECT_EQ(groups(), (Names{R"(1 {"allowed_nodes":["here"]}: only the node "here" may run it: it )"
                             "has no worker, and the pool has no template to launch one from"}));
  giveTemplate();
  EXPECT_EQ(groups(), Names{});
}

TEST_P(UnplaceableAfterRestartTest, aTemplateThatIsNotConfiguredAnyMoreLaunchesNobody) {
  giveTemplate();
  NewJob job{.data = "1"};
  job.placement.region = "home";
  push(job);
  EXPECT_EQ(stats().unplaceable, 0);
  rules.templates.clear();
  reopen();
  EXPECT_EQ(groups(), (Names{R"(1 {"region":"home"}: no worker is in the region "home", and the )"
                             R"(pool's template "echo" is not configured here)"}));
}

TEST_P(UnplaceableTest, workersThatAreLeavingOrGoneDoNotCount) {
  push(asking("gpu"));
  registerWorker(newWorker("w", "", {"gpu"}));
  for (const char* status : {"active", "warming up"}) {
    change("w", status);
    EXPECT_EQ(stats().unplaceable, 0) << status;
  }
  for (const char* status : {"terminating", "lost"}) {
    change("w", status);
    EXPECT_EQ(stats().unplaceable, 1) << status;
    EXPECT_EQ(stats().runnable, 0) << status;
  }
  registerWorker(newWorker("v", "", {"gpu"}, "q"));
  EXPECT_EQ(stats().unplaceable, 1) << "it is another pool's";
}

TEST_P(UnplaceableTest, whatIsOnlyHeldBackForNowIsNotCounted) {
  giveTemplate();
  registerWorker(newWorker("w", "box", {"gpu"}));
  NewJob limited{.data = "1"};
  limited.placement.max_parallel_per_node = 1;
  limited.placement.allowed_nodes = {"box"};
  push(limited), push(limited);
  ASSERT_EQ(claim(2).size(), 1U);
  for (int i = 0; i < 5; ++i) push(asking("gpu", "acme"));
  NewJob later = asking("tpu"), expiring = asking("tpu");
  later.delay = 1h;
  expiring.expires_at = clock.now() + 1s;
  push(later), push(expiring);
  clock.advance(1s);
  EXPECT_EQ(stats().unplaceable, 0);
  EXPECT_EQ(groups(), Names{});
  setPool(with<PoolSettings>([](auto& s) { s.paused = true; }));
  EXPECT_EQ(stats().unplaceable, 0);
  clock.advance(1h);
  EXPECT_EQ(stats().unplaceable, 1) << "no worker has a tpu, paused or not";
}

TEST_P(UnplaceableTest, aJobThatOnlyHasAShareOfANodeIsRunnableLikeAnyOther) {
  NewJob limited{.data = "1"};
  limited.placement.max_parallel_per_node = 1;
  push(limited);
  EXPECT_EQ(stats().runnable, 1);
  EXPECT_EQ(stats().unplaceable, 0);
}

TEST_P(UnplaceableTest, jobsAreBoundHereWhenTheyAskForWhatAWorkerLaunchedHereHas) {
  const auto bound = [this] {
    return read([](Store& s) { return hasJobsBoundHere(s.session, *s.pools().find(PoolId("p"))); });
  };
  const auto allowed = [](const std::string& node) {
    NewJob job{.data = "1"};
    job.placement.allowed_nodes = {node};
    return job;
  };
  NewJob shared{.data = "1"};
  shared.placement.max_parallel_per_node = 1;
  giveTemplate();
  push(), push(shared), push(allowed("there")), push(asking("gpu"));
  EXPECT_FALSE(bound()) << "anybody's, and those of others";
  const Job pushed = push(allowed("here"));
  EXPECT_TRUE(bound());
  setPool({});
  EXPECT_FALSE(bound()) << "nobody is launched";
  giveTemplate();
  EXPECT_TRUE(bound());
  write([&](Store& s) { return s.jobs().cancel(pushed.id, ""); }).value();
  EXPECT_FALSE(bound()) << "it does not wait any more";
}

TEST_P(UnplaceableTest, whatOnlyWorkersOfOthersCanRunIsNotLaunchedFor) {
  const auto state = [this] {
    return read([](Store& s) { return s.scaling().state(*s.pools().find(PoolId("p"))); });
  };
  giveTemplate();
  registerWorker(newWorker("w", "there", {"gpu"}));
  push(asking("gpu"));
  EXPECT_EQ(state().runnable, 1);
  EXPECT_EQ(state().elsewhere, 1);
  NewJob job{.data = "1"};
  job.placement.allowed_nodes = {"there"};
  push(job), push();
  EXPECT_EQ(state().runnable, 3);
  EXPECT_EQ(state().elsewhere, 2);
  EXPECT_EQ(stats().unplaceable, 0);
}

TEST_P(UnplaceableTest, idleWorkersElsewhereDoNotKeepOneFromBeingLaunchedHere) {
  const auto free_slots = [this] {
    return read([](Store& s) { return s.scaling().state(*s.pools().find(PoolId("p"))); })
        .free_slots;
  };
  giveTemplate();
  registerWorker(newWorker("w", "there"));
  EXPECT_EQ(free_slots(), 1) << "it waits for any job";
  NewJob job{.data = "1"};
  job.placement.allowed_nodes = {"here"};
  push(job);
  EXPECT_EQ(free_slots(), 0);
  registerWorker(newWorker("v", "here"));
  EXPECT_EQ(free_slots(), 1);
  push();
  EXPECT_EQ(free_slots(), 2);
}

TEST_P(UnplaceableTest, theLargestGroupsAreTold) {
  for (int i = 0; i < 12; ++i) {
    for (int j = 0; j <= i; ++j) {
      push(asking("c" + std::to_string(10 + i), j % 2 == 0 ? "acme" : ""));
    }
  }
  EXPECT_EQ(stats().unplaceable, 78);
  const Names told = groups();
  ASSERT_EQ(told.size(), 10U);
  for (int i = 0; i < 10; ++i) {
    const std::string begin = std::to_string(12 - i) + R"( {"requires_capabilities":["c)" +
                              std::to_string(21 - i) + R"("]}: no worker has)";
    EXPECT_TRUE(told[static_cast<std::size_t>(i)].starts_with(begin))
        << told[static_cast<std::size_t>(i)] << " is one group, whatever the tenants";
  }
}

TEST_P(UnplaceableTest, manyWorkersOfOneKindDoNotHideAnother) {
  push(asking("gpu"));
  write([](Store& s) {
    for (int i = 0; i < 1001; ++i) {
      s.workers().registerWorker(newWorker("plain" + std::to_string(i), "box"));
    }
    s.workers().registerWorker(newWorker("zz", "box", {"gpu"}));
  });
  EXPECT_EQ(stats().unplaceable, 0);
}

TEST_P(UnplaceableTest, inAClusterOtherNodesThatMayLaunchAreNamed) {
  rules.node = "n1";
  reopen();
  giveTemplate();
  const auto join = [&](const std::string& id, const std::string& host, NodeRole role) {
    Node node;
    node.id = id;
    node.role = role;
    node.host = host;
    write([&](Store& s) { s.cluster().join(node, "i"); });
  };
  join("n1", "here", NodeRole::kAuto);
  join("n2", "there", NodeRole::kWorker);
  join("n3", "watching", NodeRole::kObserver);
  NewJob job{.data = "1"};
  job.placement.allowed_nodes = {"there", "watching"};
  push(job);
  const std::string why =
      R"(1 {"allowed_nodes":["there","watching"]}: only the nodes "there", "watching" may run it: )"
      R"(none of them has a worker, and this service launches on "here")";
  EXPECT_EQ(groups(), Names{why + R"(; the service on "there" may be able to launch one)"});
  clock.advance(31s);
  write([](Store& s) { return s.cluster().noteSilent({30s, 120s}); });
  EXPECT_EQ(groups(), Names{why}) << "n2 has not been heard of";
}

TEST_P(UnplaceableAfterRestartTest, aWorkerThatIsStartingOnAnotherNodeCounts) {
  giveTemplate();
  NewJob job{.data = "1"};
  job.placement.allowed_nodes = {"there"};
  push(job);
  EXPECT_EQ(stats().unplaceable, 1);
  rules.host = "there";
  reopen();
  write([](Store& s) { return s.launches().order(*s.pools().find(PoolId("p")), 30s); });
  rules.host = "here";
  reopen();
  EXPECT_EQ(stats().unplaceable, 0);
}

}  // namespace
}  // namespace muster::test
