#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/cluster/cluster_fixture.h"

namespace muster::test {
namespace {

class RequestsTest : public ClusterFixture {};

TEST_F(RequestsTest, eightClaimersOverThreeNodesGetEachJobOnce) {
  constexpr int kJobs = 2000, kClaimers = 8;
  const std::vector<std::string> ids = {"a", "b", "c"};
  for (const std::string& id : ids) start(id);
  leader(ids);
  for (int i = 0; i < kJobs / 500; ++i) pool(ids[static_cast<std::size_t>(i) % 3]).pushMany(500);
  std::mutex mutex;
  std::multiset<std::string> claimed;
  std::atomic<int> completed = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kClaimers; ++i) {
      threads.emplace_back([&, i] {
        // Claims at one node and reports at another.
        PoolClient claims(node(ids[static_cast<std::size_t>(i) % 3]).url(), "p");
        PoolClient reports(node(ids[static_cast<std::size_t>(i + 1) % 3]).url(), "p");
        for (;;) {
          const auto jobs = claims.claim("w" + std::to_string(i), R"("max":20)");
          if (jobs.empty()) return;
          for (const Json::Value& job : jobs) {
            {
              const std::lock_guard lock(mutex);
              claimed.insert(job["id"].asString());
            }
            if (reports.report("complete", job).status == 200) ++completed;
          }
        }
      });
    }
  }
  EXPECT_EQ(claimed.size(), static_cast<std::size_t>(kJobs));
  EXPECT_EQ(std::set<std::string>(claimed.begin(), claimed.end()).size(), claimed.size());
  EXPECT_EQ(completed, kJobs);
  for (const std::string& id : ids) {
    EXPECT_EQ(pool(id).stats()["done"], kJobs);
    EXPECT_EQ(pool(id).stats()["queue_depth"], 0);
  }
}

TEST_F(RequestsTest, anObserverReadsAndRefusesTheRest) {
  start("a");
  start("o", "node_role: observer\npools: {configured: {paused: true}}\n");
  leader({"a", "o"});
  const Json::Value job = pool("a").push();
  EXPECT_EQ(at("o").get("/v1/jobs/" + job["id"].asString()).status, 200);
  EXPECT_EQ(at("o").get("/v1/pools/p/check").status, 200) << "a preview changes nothing";
  EXPECT_EQ(at("o").get("/readyz").status, 200);
  EXPECT_EQ(at("o").get("/v1/pools/configured").status, 404) << "nor does its own start";
  ASSERT_TRUE(becomes(
      [&] { return pool("o").tryPush(R"("data":1)").json["leader_url"] == node("a").url(); }));
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
           {"POST", "/v1/pools/p/jobs"},
           {"POST", "/v1/pools/p/claim"},
           {"POST", "/v1/pools/p/check"},
           {"PUT", "/v1/pools/q"},
           {"DELETE", "/v1/jobs/" + job["id"].asString()},
           {"POST", "/v1/hooks/work_added"},
           {"POST", "/v1/tick"}}) {
    const Reply reply = at("o").send({method, path});
    EXPECT_TRUE(isProblem(reply, 503, "read_only_node")) << method << " " << path << reply;
    EXPECT_EQ(reply.json["leader_url"], node("a").url());
    EXPECT_TRUE(reply.hasHeader("retry-after"));
    EXPECT_TRUE(reply.json["retryable"].asBool());
  }
  EXPECT_EQ(pool("a").stats()["queue_depth"], 1) << "nothing was changed";
  EXPECT_TRUE(isProblem(at("o").post("/v1/cluster/resign"), 503, "not_leader"));
}

TEST_F(RequestsTest, writesCanBeLeftToTheLeader) {
  for (const char* id : {"a", "b"}) start(id, "write_policy: leader\n");
  const std::string first = leader({"a", "b"}), second = first == "a" ? "b" : "a";
  EXPECT_EQ(pool(first).tryPush(R"("data":1)").status, 201);
  const Reply refused = pool(second).tryPush(R"("data":1)");
  EXPECT_TRUE(isProblem(refused, 503, "not_leader")) << refused;
  EXPECT_TRUE(refused.hasHeader("retry-after"));
  ASSERT_TRUE(becomes(
      [&] { return pool(second).tryPush(R"("data":1)").json["leader_url"] == node(first).url(); }));
  EXPECT_EQ(pool(second).stats()["queue_depth"], 1);
  const TempFolder folder;
  ChildProcess push(
      {{musterBinary(), "push", "p", "--data", "2", "--url", node(second).url()}, folder.path()});
  EXPECT_EQ(push.wait(), 0) << push.err();
  ChildProcess worker(
      {{musterBinary(), "worker", "--pool", "p", "--url", node(second).url(), "--", "/bin/cat"},
       folder.path()});
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_EQ(pool(first).stats()["done"], 1) << "the command and the worker went on to the leader";
}

TEST_F(RequestsTest, aTriggerPutAtOneNodeIsKnownAtTheOthers) {
  for (const char* id : {"a", "b"}) start(id);
  const std::string hook =
      R"({"type":"webhook","machine":"parallelization_checker","auth":{"type":"none"}})";
  ASSERT_EQ(at("a").put("/v1/triggers/mine", hook).status, 201);
  EXPECT_TRUE(becomes([&] { return at("b").post("/v1/hooks/mine").status == 202; }));
  ASSERT_EQ(at("b").del("/v1/triggers/mine").status, 204);
  EXPECT_TRUE(becomes([&] { return at("a").post("/v1/hooks/mine").status == 404; }));
}

}  // namespace
}  // namespace muster::test
