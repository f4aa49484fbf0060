#include <signal.h>

#include <algorithm>

#include "tests/cluster/cluster_fixture.h"

namespace muster::test {
namespace {

// Pushes start no check by themselves here: what is launched, the leader's tick has launched.
constexpr const char* kOnlyTheTickChecks =
    "triggers: [{name: unused, type: webhook, machine: parallelization_checker, "
    "auth: {type: token, header: X, secrets: [s]}}]\n"
    "pools: {p: {template: echo}}\n";

class DutyTest : public ClusterFixture {
 protected:
  void startAll() {
    for (const std::string id : {"a", "b", "c"}) startShortLived(id, kOnlyTheTickChecks);
  }
  // One job goes through, with the help of the leader; the decisions that were made, newest first.
  std::vector<Json::Value> runAJob(const std::string& by) {
    const Json::Value job = pool(by).push();
    EXPECT_TRUE(becomes([&] { return pool(by).job(job)["status"] == "done"; }))
        << at(by).get("/v1/pools/p/decisions");
    const Json::Value items = at(by).get("/v1/pools/p/decisions?limit=200").json["items"];
    return {items.begin(), items.end()};
  }
  // No decision for a leader was made after the next one had been elected.
  void expectNobodyActedAfterItsTime(const std::string& by) {
    std::map<Json::Int64, std::string> elected;
    for (const Json::Value& event : events(by, "leader.elected")) {
      elected[event["details"]["epoch"].asInt64()] = event["at"].asString();
    }
    const Json::Value items = at(by).get("/v1/pools/p/decisions?limit=200").json["items"];
    for (const Json::Value& decision : items) {
      if (!decision.isMember("leader_epoch")) continue;
      const Json::Int64 epoch = decision["leader_epoch"].asInt64();
      const std::string made = decision["at"].asString();
      ASSERT_TRUE(elected.contains(epoch)) << decision;
      EXPECT_GE(made, elected[epoch]) << decision;
      if (!elected.contains(epoch + 1)) continue;
      EXPECT_LE(made, elected[epoch + 1]) << decision;
    }
  }
};

TEST_F(DutyTest, theTickOfTheLeaderLaunchesAndNobodyElses) {
  for (const std::string id : {"a", "b", "c"}) start(id, kOnlyTheTickChecks);
  leader({"a", "b", "c"});
  const auto decisions = runAJob("b");
  ASSERT_FALSE(decisions.empty());
  for (const Json::Value& decision : decisions) {
    if (decision["trigger"] != "tick") continue;
    EXPECT_EQ(decision["leader_epoch"], 1) << decision;
  }
  EXPECT_EQ(pool("b").stats()["done"], 1);
}

TEST_F(DutyTest, dutiesGoOnAfterTheLeaderWasKilledAndAreNotDoneTwice) {
  startAll();
  const std::string first = leader({"a", "b", "c"});
  const std::string other = first == "a" ? "b" : "a";
  runAJob(other);
  const Json::Int64 before = epoch(other);
  node(first).kill9();
  ASSERT_TRUE(becomes([&] { return epoch(other) > before; }));
  const auto decisions = runAJob(other);
  EXPECT_GT(decisions.front()["leader_epoch"].asInt64(), before) << decisions.front();
  expectNobodyActedAfterItsTime(other);
  std::map<std::string, int> launches;  // per job there was one worker
  for (const Json::Value& event : events(other, "worker.starting")) {
    ++launches[event["worker_id"].asString()];
  }
  EXPECT_EQ(launches.size(), 2U);
}

TEST_F(DutyTest, aLeaderThatStoodStillActsOnNothingWhenItGoesOn) {
  startAll();
  const std::string first = leader({"a", "b", "c"});
  const std::string other = first == "a" ? "b" : "a";
  runAJob(other);
  const auto timesElected = [&] {
    const auto elected = events(other, "leader.elected");
    return std::count_if(elected.begin(), elected.end(),
                         [&](const Json::Value& event) { return event["node_id"] == first; });
  };
  const Json::Int64 before = epoch(other);
  const auto times = timesElected();
  ::kill(node(first).pid(), SIGSTOP);
  ASSERT_TRUE(becomes([&] { return epoch(other) > before; }));
  runAJob(other);
  ::kill(node(first).pid(), SIGCONT);
  EXPECT_TRUE(becomes([&] { return cluster(first)["role"] == "worker"; }));
  EXPECT_TRUE(becomes([&] {
    return at(first).get("/metrics").body.find("\nmuster_leader 0\n") != std::string::npos;
  }));
  EXPECT_EQ(timesElected(), times) << "it did not take the lead back";
  for (int i = 0; i < 2; ++i) runAJob(first);
  expectNobodyActedAfterItsTime(other);
}

TEST_F(DutyTest, leasesExpireUnderWhoeverLeads) {
  startAll();
  const std::string first = leader({"a", "b", "c"});
  const std::string other = first == "a" ? "b" : "a";
  PoolClient plain(node(other).url(), "plain");
  plain.configure(R"("lease_seconds":1,"heartbeat_interval_seconds":1,"retry":{"base_ms":0})");
  const Json::Value job = plain.push();
  plain.claimOne();
  EXPECT_TRUE(becomes([&] { return plain.lastEventType(job) == "job.reassigned"; }));
  node(first).kill9();
  plain.claimOne();
  EXPECT_TRUE(becomes([&] {
    int count = 0;
    for (const std::string& type : plain.eventTypes(job)) count += type == "job.reassigned";
    return count == 2;
  }));
}

}  // namespace
}  // namespace muster::test
