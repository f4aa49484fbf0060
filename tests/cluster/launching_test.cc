#include <signal.h>

#include <algorithm>
#include <set>

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
  // A node in a region of its own, and a job that it alone can launch a worker for.
  static std::string region(const std::string& id) { return "current_region: of-" + id + "\n"; }
  void pushFor(const std::string& id) {
    pool(id).push(R"("data":1,"placement":{"region":"of-)" + id + R"("})");
  }
  static bool isRunning(const Json::Value& worker) {
    return worker.isMember("pid") && ::kill(worker["pid"].asInt(), 0) == 0;
  }
};

TEST_F(LaunchingTest, aNodeThatComesBackKnowsItsOwnWorkersAndLeavesTheOthersAlone) {
  for (const char* id : {"a", "b"}) startShortLived(id, kWait + kPool + region(id));
  leader({"a", "b"});
  pushFor("a");
  ASSERT_TRUE(becomes([&] { return active("a") == 1; }));
  pushFor("b");
  ASSERT_TRUE(becomes([&] { return active("a") == 2; }));
  node("a").kill9();
  startShortLived("a", kWait + region("a"));
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
  for (const char* id : {"a", "b"}) startShortLived(id, kWait + kPool + region(id));
  leader({"a", "b"});
  pushFor("a");
  ASSERT_TRUE(becomes([&] { return active("b") == 1; }));
  // Written after what the node noted of its launch: by now that is in the store.
  ASSERT_EQ(at("a").post("/v1/pools/p/check").status, 200);
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

// Two nodes whose workers differ: those of `a`, which leads, are in the north.
class BoundJobsTest : public LaunchingTest {
 protected:
  BoundJobsTest() {
    start("a", "node_role: leader\ncurrent_region: north\n" + kWait + kPool);
    start("b", "node_role: worker\ncurrent_region: south\n" + kWait);
    leader({"a", "b"});
  }
  void go() {
    for (const char* id : {"a", "b"}) writeFile(node(id).folder() / "go", "");
  }
  std::string pushAt(const std::string& id, const std::string& fields) {
    return pool(id).push(fields)["id"].asString();
  }
  bool isDone(const std::string& job) {
    return becomes([&] { return at("a").get("/v1/jobs/" + job).json["status"] == "done"; });
  }
  // Of the decisions that launched somebody.
  std::set<std::string> triggers(const std::string& pool = "p") {
    std::set<std::string> found;
    const Json::Value decisions =
        at("a").get("/v1/pools/" + pool + "/decisions?limit=200").json["items"];
    for (const Json::Value& decision : decisions) {
      if (decision["launched"].asInt() > 0) found.insert(decision["trigger"].asString());
    }
    return found;
  }
  // Pushes such jobs for `b` at `a` until one of these triggers has launched a worker for one. Each
  // has a worker of its own, launched by `b`, whatever else came first.
  void expectLaunchedThere(const std::string& fields, const std::set<std::string>& wanted,
                           std::set<std::string> others) {
    std::size_t jobs = 0;
    const auto launched = [&] {
      ++jobs;
      EXPECT_TRUE(isDone(pushAt("a", fields + R"(,"placement":{"region":"south"})")));
      EXPECT_TRUE(becomes([&] { return events("b", "worker.exited").size() == jobs; }));
      const auto seen = triggers();
      return HasFailure() || std::any_of(wanted.begin(), wanted.end(), [&](const auto& trigger) {
               return seen.contains(trigger);
             });
    };
    EXPECT_TRUE(becomes(launched)) << testing::PrintToString(triggers());
    EXPECT_EQ(workers("a").size(), jobs);
    for (const Json::Value& worker : workers("a")) EXPECT_EQ(worker["region"], "south");
    others.insert(wanted.begin(), wanted.end());
    for (const std::string& trigger : triggers()) EXPECT_TRUE(others.contains(trigger)) << trigger;
  }
};

TEST_F(BoundJobsTest, aJobThatOnlyAnotherNodeCanLaunchForIsLaunchedThere) {
  go();
  // What may come first: a tick, the end of the worker before, or the check of a node that starts.
  expectLaunchedThere(R"("data":1)", {"work_added_elsewhere"},
                      {"tick", "check_on_worker_exited", "started"});
}

TEST_F(BoundJobsTest, nobodyIsLaunchedWhereTheJobCannotRun) {
  ASSERT_EQ(at("a").put("/v1/pools/p", R"({"template":"wait","max_workers_per_host":1})").status,
            200);
  const char* const south = R"("data":1,"placement":{"region":"south"})";
  const std::string first = pushAt("a", south);
  ASSERT_TRUE(becomes([&] { return pool("a").stats()["busy_workers"] == 1; }));
  const std::string second = pushAt("a", south);
  const Json::Value decision = at("a").post("/v1/pools/p/check").json;
  EXPECT_EQ(decision["inputs"]["runnable"], 1) << "the worker of `b` may take it, later";
  EXPECT_EQ(decision["inputs"]["elsewhere"], 1);
  EXPECT_EQ(decision["binding_limit"], "no_demand");
  go();
  EXPECT_TRUE(isDone(first));
  EXPECT_TRUE(isDone(second));
  for (const Json::Value& worker : workers("a")) EXPECT_EQ(worker["region"], "south");
}

TEST_F(BoundJobsTest, theTickFindsWhatNoEventTellsOf) {
  go();
  // A tick that came before the job was due has looked when it will be. Whatever else was asked for
  // when the job came may be late, and then it comes after the job is due.
  expectLaunchedThere(R"("data":1,"delay_seconds":1)", {"tick", "job_due"},
                      {"work_added_elsewhere", "check_on_worker_exited", "started"});
}

TEST_F(BoundJobsTest, otherNodesDoNotCheckAPoolForJobsThatAnybodyCanRun) {
  go();
  start("c", kWait +
                 "  only_c: {builtin: echo}\n"
                 "pools: {q: {template: only_c}}\n");
  PoolClient q(node("a").url(), "q");
  const auto began = [&] { return !at("a").get("/v1/pools/q/decisions").json["items"].empty(); };
  ASSERT_TRUE(becomes(began)) << "a node checks once when it starts";
  q.push();  // `a` cannot launch for it, and `c` would if it checked
  ASSERT_TRUE(isDone(pushAt("a", R"("data":1,"placement":{"region":"south"})")));
  EXPECT_EQ(triggers("q"), std::set<std::string>());
  q.push(R"("data":1,"placement":{"region":"default"})");
  EXPECT_TRUE(becomes([&] { return q.stats()["done"] == 2; })) << "while it is at it";
}

}  // namespace
}  // namespace muster::test
