#include <signal.h>

#include "tests/cluster/cluster_fixture.h"

namespace muster::test {
namespace {

// A worker stays with its job until there is a file in the folder of its node.
const std::string kWait =
    "templates:\n  wait: {run: [/bin/sh, -c, 'while [ ! -e go ]; do sleep 0.05; done']}\n";
const std::string kPool = "pools: {p: {template: wait}}\n";
const std::string kHang = "templates:\n  hang: {worker: [/bin/sleep, '1000']}\n";

class LaunchingTest : public ClusterFixture {
 protected:
  std::vector<Json::Value> workers(const std::string& by) {
    const Json::Value items = at(by).get("/v1/workers?pool_id=p&limit=200").json["items"];
    return {items.begin(), items.end()};
  }
  int active(const std::string& by) {
    int count = 0;
    for (const Json::Value& worker : workers(by)) count += worker["status"] == "active";
    return count;
  }
  static bool isRunning(const Json::Value& worker) {
    return worker.isMember("pid") && ::kill(worker["pid"].asInt(), 0) == 0;
  }
};

TEST_F(LaunchingTest, aNodeThatComesBackKnowsItsOwnWorkersAndLeavesTheOthersAlone) {
  for (const char* id : {"a", "b"}) start(id, kWait + kPool);
  leader({"a", "b"});
  pool("a").push();
  ASSERT_TRUE(becomes([&] { return active("a") == 1; }));
  pool("b").push();
  ASSERT_TRUE(becomes([&] { return active("a") == 2; }));
  node("a").kill9();
  start("a", kWait);
  ASSERT_TRUE(becomes([&] { return !cluster("a")["nodes"].empty(); }));
  for (const Json::Value& worker : workers("a")) {
    EXPECT_EQ(worker["status"], "active") << worker;
    EXPECT_TRUE(isRunning(worker)) << worker;
  }
  EXPECT_TRUE(events("a", "worker.exited").empty());
  // The one of `b` ends, and `b` sees it.
  writeFile(node("b").folder() / "go", "");
  EXPECT_TRUE(becomes([&] { return events("b", "worker.exited").size() == 1; }));
  EXPECT_EQ(events("b", "worker.exited")[0]["details"]["exit_code"], 0)
      << "its parent alone can know";
}

TEST_F(LaunchingTest, whatTheLeaderGivesUpIsStoppedByItsNode) {
  start("lead", "node_role: leader\n" + kHang);
  ASSERT_EQ(leader({"lead"}), "lead");
  start("w", "node_role: worker\nworker_start_timeout_seconds: 2\n" + kHang +
                 "pools: {p: {template: hang}}\n");
  pool("w").push();
  ASSERT_TRUE(becomes([&] { return !events("w", "worker.starting").empty(); }));
  EXPECT_TRUE(becomes([&] { return !events("lead", "worker.lost").empty(); }));
  ASSERT_TRUE(becomes([&] { return !events("w", "worker.exited").empty(); }));
  EXPECT_EQ(events("w", "worker.exited")[0]["details"]["exit_signal"], SIGTERM);
}

TEST_F(LaunchingTest, theProcessesOfANodeThatIsGoneAreSeenToByItsNeighbour) {
  for (const char* id : {"a", "b"}) start(id, kWait + kPool);
  leader({"a", "b"});
  pool("a").push();
  ASSERT_TRUE(becomes([&] { return active("b") == 1; }));
  node("a").kill9();
  const Json::Value worker = workers("b").front();
  ASSERT_TRUE(isRunning(worker));
  ::kill(-worker["pid"].asInt(), SIGKILL);
  EXPECT_TRUE(becomes([&] { return !events("b", "worker.exited").empty(); }));
}

TEST_F(LaunchingTest, aLimitPerHostHoldsForAllNodesOfAMachine) {
  for (const char* id : {"a", "b"}) {
    start(id, kWait + "pools: {p: {template: wait, max_workers_per_host: 2}}\n");
  }
  leader({"a", "b"});
  for (int i = 0; i < 3; ++i) {
    pool("a").push();
    pool("b").push();
  }
  ASSERT_TRUE(becomes([&] { return active("a") == 2; }));
  for (const char* id : {"a", "b"}) {
    const Json::Value decision = at(id).post("/v1/pools/p/check").json;
    EXPECT_EQ(decision["binding_limit"], "host_slots") << decision;
    EXPECT_EQ(decision["launched"], 0);
  }
}

}  // namespace
}  // namespace muster::test
