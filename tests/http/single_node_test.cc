#include <gtest/gtest.h>

#include "tests/support/http.h"
#include "tests/support/problem.h"
#include "tests/support/service.h"

namespace muster::test {
namespace {

// A service with a store of its own: a cluster of one, without elections.
class SingleNode : public testing::Test {
 protected:
  // Starts a second program; its exit code and what it said.
  static std::pair<std::optional<int>, std::string> serve(const std::vector<std::string>& args) {
    const TempFolder folder;
    std::vector<std::string> argv = {musterBinary(), "serve", "--listen", "127.0.0.1:0"};
    argv.insert(argv.end(), args.begin(), args.end());
    ChildProcess muster({argv, folder.path()});
    const auto code = muster.wait();
    return {code, muster.err()};
  }

  Service service_{{.store = "sqlite:muster.db"}};
  Http http_{service_.url()};
};

TEST_F(SingleNode, leadsAndSaysSo) {
  const Reply reply = http_.get("/v1/cluster");
  ASSERT_EQ(reply.status, 200) << reply;
  const Json::Value& cluster = reply.json;
  EXPECT_EQ(cluster["role"], "leader");
  EXPECT_EQ(cluster["leader"]["node_id"], cluster["node_id"]);
  EXPECT_EQ(cluster["leader"]["url"], service_.url());
  EXPECT_EQ(cluster["leader"]["epoch"], 0);
  EXPECT_FALSE(cluster["leader"].isMember("expires_at"));
  ASSERT_EQ(cluster["nodes"].size(), 1U);
  EXPECT_EQ(cluster["nodes"][0]["node_id"], cluster["node_id"]);
  EXPECT_EQ(cluster["nodes"][0]["role"], "leader");
  EXPECT_EQ(cluster["nodes"][0]["status"], "healthy");
  EXPECT_NE(http_.get("/metrics").body.find("\nmuster_leader 1\n"), std::string::npos);
}

TEST_F(SingleNode, electsNobody) {
  http_.post("/v1/tick");
  const Reply reply = http_.get("/v1/events?types=node.joined,leader.elected");
  EXPECT_EQ(reply.status, 200) << reply;
  EXPECT_TRUE(reply.json["items"].empty()) << reply;
}

TEST_F(SingleNode, cannotResign) {
  EXPECT_TRUE(isProblem(http_.post("/v1/cluster/resign"), 409, "not_clustered"));
  EXPECT_TRUE(isProblem(http_.post("/v1/cluster/resign", R"({"a":1})"), 422));
  EXPECT_TRUE(isProblem(http_.get("/v1/cluster/resign"), 405));
}

TEST_F(SingleNode, aClusterOnItsStoreIsRefused) {
  const auto [code, said] = serve({"--cluster", "on"});
  EXPECT_EQ(code, 2);
  EXPECT_NE(said.find("cluster is on, which only a PostgreSQL store can serve"), std::string::npos)
      << said;
}

TEST_F(SingleNode, aSecondServiceOnItsFileIsRefused) {
  const auto [code, said] = serve({"--store", "sqlite:" + service_.database()});
  EXPECT_EQ(code, 2);
  EXPECT_NE(said.find(service_.database()), std::string::npos) << said;
  EXPECT_EQ(http_.get("/readyz").status, 200) << "the first one is left alone";
}

}  // namespace
}  // namespace muster::test
