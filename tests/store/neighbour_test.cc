#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Several nodes on one store; `a` and `b` stand on one machine, `c` on another.
class NeighbourTest : public StoreTest {
 protected:
  NeighbourTest() {
    rules.templates = {{"t", {"v1"}}};
    reopen();
    setPool(with<PoolSettings>([](auto& s) {
      s.template_name = "t";
      s.max_workers_per_host = 3;
    }));
    for (const char* id : {"a", "b", "c"}) join(id);
  }

  // Runs `work` as the node would: with its rules, in a session of its own.
  template <class Work>
  auto as(const std::string& node, Work work) {
    StoreRules own = rules;
    own.node = node;
    own.host = node == "c" ? "far" : "here";
    return write([&](Store& store) {
      Store mine(store.session.db, own);
      mine.session.begin(store.now(), std::nullopt);
      auto answer = work(mine);
      mine.session.flush();
      return answer;
    });
  }
  void join(const std::string& id) {
    as(id, [&](Store& s) {
      Node node;
      node.id = id;
      node.host = s.rules().host;
      s.cluster().join(node, "i");
      return 0;
    });
  }
  WorkerId launch(const std::string& node, const std::string& process_key = "7:1:boot") {
    return as(node, [&](Store& s) {
      const WorkerId id = s.launches().order(*pool(s), 30s).worker;
      if (!process_key.empty()) s.launches().started(id, process_key);
      return id;
    });
  }
  void lose(const WorkerId& id) {
    as("c", [&](Store& s) {
      s.workers().end(*s.workers().find(id), worker_status::kLost, "silent");
      return 0;
    });
  }
  Names running(const std::string& node) {
    return namesOf(as(node, [](Store& s) { return s.launches().running(); }));
  }
  Names orphans(const std::string& node) {
    return namesOf(as(node, [](Store& s) { return s.launches().orphans(10); }));
  }
  static Names namesOf(const std::vector<RunningProcess>& processes) {
    Names names;
    for (const auto& process : processes) names.push_back(process.worker.str());
    return names;
  }
  ScaleState state(const std::string& node) {
    return as(node, [](Store& s) { return s.scaling().state(*pool(s)); });
  }
  std::int64_t hostSlots(const std::string& node) {
    return as(node, [](Store& s) {
      return s.scaling().limits(*pool(s), s.scaling().state(*pool(s))).host_slots.value();
    });
  }
  std::int64_t failures(const std::string& node) {
    return as(node, [](Store& s) { return s.launches().record(*pool(s)).failures; });
  }
  static std::shared_ptr<const Pool> pool(Store& s) { return s.pools().find(PoolId("p")); }
};
MUSTER_ON_EVERY_BACKEND(NeighbourTest);

TEST_P(NeighbourTest, aNodeRecognisesItsOwnLaunchesOnly) {
  const WorkerId of_a = launch("a"), of_b = launch("b");
  EXPECT_EQ(running("a"), Names{of_a.str()});
  EXPECT_EQ(running("b"), Names{of_b.str()});
  EXPECT_EQ(running("c"), Names{});
  rules.host = "here";
  reopen();  // the only node of its store, which had been one of several
  if (!GetParam().keeps_data) return;
  EXPECT_EQ(read([](Store& s) { return s.launches().running(); }).size(), 2U);
}

TEST_P(NeighbourTest, aMachineHasItsPlacesForAllItsNodes) {
  launch("a");
  launch("b");
  EXPECT_EQ(hostSlots("a"), 1);
  EXPECT_EQ(hostSlots("b"), 1);
  EXPECT_EQ(hostSlots("c"), 3);
}

TEST_P(NeighbourTest, whatMayBeAliveElsewhereHoldsNoPlaceHere) {
  lose(launch("a"));
  EXPECT_EQ(state("a").maybe_alive, 1);
  EXPECT_EQ(state("b").maybe_alive, 1) << "the same machine";
  EXPECT_EQ(state("c").maybe_alive, 0);
}

TEST_P(NeighbourTest, theProcessesOfANodeThatIsNoMoreAreSeenToByItsNeighbour) {
  const WorkerId of_a = launch("a");
  launch("a", "");  // nobody knows of a process
  EXPECT_EQ(orphans("b"), Names{});
  as("a", [](Store& s) { return s.cluster().leave("a", "i"), 0; });
  EXPECT_EQ(orphans("b"), Names{of_a.str()});
  EXPECT_EQ(orphans("c"), Names{}) << "another machine cannot see them";
  join("a");
  EXPECT_EQ(orphans("b"), Names{}) << "it is back";
  clock.advance(121s);
  as("b", [](Store& s) { return s.cluster().beat("b", "i"); });
  as("b", [](Store& s) { return s.cluster().noteSilent({30s, 120s}).size(); });
  EXPECT_EQ(orphans("b"), Names{of_a.str()});
}

TEST_P(NeighbourTest, anEndIsNotedOnce) {
  const WorkerId id = launch("a");
  const auto seen = lastEvent();
  for (const char* node : {"a", "b"}) {
    as(node, [&](Store& s) { return s.launches().exited(id, {.exit_code = 0}), 0; });
  }
  EXPECT_EQ(eventTypesAfter(seen), (Names{"worker.terminated", "worker.exited"}));
}

TEST_P(NeighbourTest, aFailedLaunchIsChargedToTheHostItWasOn) {
  launch("a");
  clock.advance(31s);
  EXPECT_EQ(as("c", [](Store& s) { return s.launches().giveUpStarting(10); }), 1);
  EXPECT_EQ(failures("a"), 1);
  EXPECT_EQ(failures("c"), 0);
}

TEST_P(NeighbourTest, aDecisionSaysForWhichLeaderItWasMade) {
  const auto add = [this](std::optional<std::int64_t> epoch) {
    write([&](Store& s) {
      Decision decision;
      decision.pool = PoolId("p");
      decision.at = s.now();
      decision.direction = "up";
      decision.inputs = decision.limits = "{}";
      decision.leader_epoch = epoch;
      s.decisions().add(decision);
    });
  };
  add(std::nullopt);
  add(7);
  const auto page = read([](Store& s) { return s.decisions().list(PoolId("p"), 0, 10); });
  ASSERT_EQ(page.decisions.size(), 2U);
  EXPECT_EQ(page.decisions[0].leader_epoch, 7);
  EXPECT_EQ(page.decisions[1].leader_epoch, std::nullopt);
}

}  // namespace
}  // namespace muster::test
