#include <atomic>
#include <set>
#include <thread>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class ClusterTest : public StoreTest {
 protected:
  void join(const std::string& id, const std::string& instance = "i1",
            NodeRole role = NodeRole::kAuto) {
    Node node;
    node.id = id;
    node.role = role;
    node.url = "http://" + id + ":8080";
    node.version = "1";
    node.host = "host-" + id;
    write([&](Store& s) { s.cluster().join(node, instance); });
  }
  bool beat(const std::string& id, const std::string& instance = "i1") {
    return write([&](Store& s) { return s.cluster().beat(id, instance); });
  }
  void leave(const std::string& id, const std::string& instance = "i1") {
    write([&](Store& s) { s.cluster().leave(id, instance); });
  }
  Names noteSilent() {
    return write([&](Store& s) { return s.cluster().noteSilent(silence); });
  }
  std::vector<Node> nodes() {
    return read([&](Store& s) { return s.cluster().list(silence, 100); });
  }
  Names statuses() {
    Names all;
    for (const Node& node : nodes()) all.push_back(node.id + " " + node.status);
    return all;
  }
  std::optional<LeaderLease> acquire(const std::string& id, Millis lease = 30s) {
    return write([&](Store& s) { return s.cluster().acquire(id, lease); });
  }
  bool renew(const LeaderLease& held, Millis lease = 30s) {
    return write([&](Store& s) { return s.cluster().renew(held, lease); });
  }
  bool resign(const LeaderLease& held) {
    return write([&](Store& s) { return s.cluster().resign(held); });
  }
  bool holds(const LeaderLease& held) {
    return write([&](Store& s) { return s.cluster().holds(held); });
  }
  std::optional<Leader> leader() {
    return read([](Store& s) { return s.cluster().leader(); });
  }
  // The types of new events with their node and details.
  Names story(std::int64_t after) {
    Names lines;
    for (const Event& event : eventsAfter(after)) {
      lines.push_back(event.type + " " + event.node + " " + event.details);
    }
    return lines;
  }

  NodeSilence silence{30s, 120s};
};
MUSTER_ON_EVERY_BACKEND(ClusterTest);

TEST_P(ClusterTest, aNodeThatJoinsIsListedAsItSaidItIs) {
  join("b", "i1", NodeRole::kObserver);
  join("a");
  const auto all = nodes();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id, "a");
  EXPECT_EQ(all[1].role, NodeRole::kObserver);
  EXPECT_EQ(all[1].url, "http://b:8080");
  EXPECT_EQ(all[1].host, "host-b");
  EXPECT_EQ(all[1].status, "healthy");
  EXPECT_EQ(all[1].heartbeat_at, clock.now());
  EXPECT_EQ(all[1].registered_at, clock.now());
  const auto events = eventsAfter(0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].type, "node.joined");
  EXPECT_EQ(events[0].node, "b");
  EXPECT_EQ(events[0].details, R"({"role":"observer","url":"http://b:8080"})");
}

TEST_P(ClusterTest, silenceMakesANodeStaleThenDeadAndIsToldOnce) {
  join("a");
  join("b");
  const auto seen = lastEvent();
  clock.advance(30s);
  EXPECT_TRUE(beat("a"));
  EXPECT_EQ(statuses(), (Names{"a healthy", "b healthy"})) << "exactly at the threshold";
  clock.advance(1ms);
  EXPECT_EQ(noteSilent(), Names{});
  EXPECT_EQ(statuses(), (Names{"a healthy", "b stale"}));
  EXPECT_TRUE(beat("b")) << "a stale one may come back";
  EXPECT_EQ(statuses(), (Names{"a healthy", "b healthy"}));
  EXPECT_EQ(story(seen), Names{}) << "and nobody was told";
  clock.advance(120s + 1ms);
  EXPECT_TRUE(beat("a"));
  EXPECT_EQ(noteSilent(), Names{"b"});
  EXPECT_EQ(noteSilent(), Names{}) << "once";
  EXPECT_EQ(statuses(), (Names{"a healthy", "b dead"}));
  EXPECT_EQ(story(seen), Names{R"(node.lost b {"reason":"dead"})"});
}

TEST_P(ClusterTest, oneThatWasDeadJoinsAnew) {
  join("a");
  clock.advance(121s);
  noteSilent();
  EXPECT_FALSE(beat("a"));
  EXPECT_EQ(statuses(), Names{"a dead"});
  join("a");
  EXPECT_TRUE(beat("a"));
  EXPECT_EQ(eventTypesAfter(0), (Names{"node.joined", "node.lost", "node.joined"}));
}

TEST_P(ClusterTest, aNodeThatLeavesIsGoneAtOnce) {
  join("a");
  leave("a", "another instance");
  EXPECT_EQ(nodes().size(), 1U);
  const auto seen = lastEvent();
  leave("a");
  EXPECT_TRUE(nodes().empty());
  leave("a");
  EXPECT_EQ(story(seen), Names{R"(node.lost a {"reason":"left"})"});
}

TEST_P(ClusterTest, aSecondInstanceTakesTheIdAndTheFirstOneNotices) {
  join("a", "old");
  join("a", "new");
  EXPECT_EQ(nodes().size(), 1U);
  EXPECT_FALSE(beat("a", "old"));
  EXPECT_TRUE(beat("a", "new"));
  clock.advance(31s);
  const auto found = read([&](Store& s) { return s.cluster().occupant("a", silence); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->instance, "new");
  EXPECT_EQ(found->node.status, "stale");
  EXPECT_FALSE(read([&](Store& s) { return s.cluster().occupant("b", silence); }));
}

TEST_P(ClusterTest, deadNodesAreForgottenInTheEnd) {
  join("a");
  join("b");
  clock.advance(121s);
  beat("b");
  const auto removeDead = [&] {
    return write([&](Store& s) { return s.cluster().removeDead(clock.now(), 10); });
  };
  EXPECT_EQ(removeDead(), 0) << "nobody has noted yet that it is dead";
  noteSilent();
  EXPECT_EQ(removeDead(), 1);
  EXPECT_EQ(statuses(), Names{"b healthy"});
}

TEST_P(ClusterTest, thereIsOneHolderAtATime) {
  join("a");
  EXPECT_FALSE(leader());
  const auto won = acquire("a");
  ASSERT_TRUE(won);
  EXPECT_EQ(won->epoch, 1);
  EXPECT_FALSE(won->token.empty());
  EXPECT_TRUE(holds(*won));
  EXPECT_FALSE(acquire("b"));
  EXPECT_FALSE(acquire("a")) << "not even for the holder itself";
  const auto now = leader();
  ASSERT_TRUE(now);
  EXPECT_EQ(now->node, "a");
  EXPECT_EQ(now->url, "http://a:8080");
  EXPECT_EQ(now->epoch, 1);
  EXPECT_EQ(now->acquired_at, clock.now());
  EXPECT_EQ(now->expires_at, clock.now() + 30s);
}

TEST_P(ClusterTest, aRenewedLeaseHoldsOnAndAnExpiredOneIsTakenOver) {
  const auto first = acquire("a").value();
  clock.advance(20s);
  EXPECT_TRUE(renew(first));
  clock.advance(30s - 1ms);
  EXPECT_TRUE(holds(first));
  EXPECT_FALSE(acquire("b"));
  clock.advance(1ms);
  EXPECT_FALSE(holds(first));
  EXPECT_FALSE(renew(first)) << "what has run out cannot be renewed";
  EXPECT_FALSE(leader());
  const auto seen = lastEvent();
  const auto second = acquire("b").value();
  EXPECT_EQ(second.epoch, 2);
  EXPECT_FALSE(renew(first));
  EXPECT_FALSE(resign(first));
  EXPECT_TRUE(holds(second));
  EXPECT_EQ(story(seen), (Names{R"(leader.lost a {"epoch":1,"reason":"expired"})",
                                R"(leader.elected b {"epoch":2})"}));
}

TEST_P(ClusterTest, resigningHandsOverAtOnce) {
  const auto first = acquire("a").value();
  const auto seen = lastEvent();
  EXPECT_TRUE(resign(first));
  EXPECT_FALSE(holds(first));
  EXPECT_FALSE(renew(first));
  EXPECT_FALSE(resign(first));
  EXPECT_FALSE(leader());
  EXPECT_EQ(acquire("b").value().epoch, 2);
  EXPECT_EQ(story(seen), (Names{R"(leader.lost a {"epoch":1,"reason":"resigned"})",
                                R"(leader.elected b {"epoch":2})"}));
}

TEST_P(ClusterTest, aLeaseIsProvenByEpochAndToken) {
  const auto won = acquire("a").value();
  EXPECT_FALSE(holds({won.epoch, "guessed"}));
  EXPECT_FALSE(holds({won.epoch + 1, won.token}));
  EXPECT_FALSE(renew({won.epoch, "guessed"}));
  EXPECT_FALSE(resign({won.epoch, ""})) << "an empty token is nobody's";
  EXPECT_TRUE(holds(won));
  EXPECT_TRUE(holds({})) << "the only node has nothing to prove";
}

TEST_P(ClusterTest, whatAnUndoneUnitWonWasNotWon) {
  EXPECT_FALSE(storage->writeAndWait([](Store& s) {
    s.cluster().acquire("a", 30s);
    throw std::runtime_error("no");
  }));
  EXPECT_FALSE(leader());
  EXPECT_EQ(acquire("b").value().epoch, 1);
  EXPECT_EQ(eventTypesAfter(0), Names{"leader.elected"});
}

// Many threads race for a lease that is over at once, again and again, in units that run beside
// each other where the store can.
TEST_P(ClusterTest, racersGetEpochsOfTheirOwn) {
  constexpr int kThreads = 4, kEach = 50;
  std::mutex mutex;
  std::multiset<std::int64_t> epochs;
  std::atomic<int> holders = 0, most = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, id = "n" + std::to_string(i)] {
        for (int won = 0; won < kEach;) {
          std::optional<LeaderLease> lease;
          const auto status = storage->writeAndWait(
              [&](Store& s) { lease = s.cluster().acquire(id, 30s); }, Isolation::kShared);
          ASSERT_TRUE(status) << status.error().detail;
          if (!lease) continue;
          ++won;
          most = std::max<int>(most, ++holders);
          {
            const std::lock_guard lock(mutex);
            epochs.insert(lease->epoch);
          }
          --holders;
          EXPECT_TRUE(resign(*lease));
        }
      });
    }
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(epochs.size(), static_cast<std::size_t>(kThreads * kEach));
  EXPECT_EQ(std::set<std::int64_t>(epochs.begin(), epochs.end()).size(), epochs.size());
  EXPECT_EQ(*epochs.rbegin(), kThreads * kEach) << "none was skipped";
}

}  // namespace
}  // namespace muster::test
