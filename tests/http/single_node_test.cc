#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

// A service with a store of its own: a cluster of one, without elections.
class SingleNode : public ServiceFixture {
 protected:
  // Starts a second program; its exit code and what it said.
  static std::pair<std::optional<int>, std::string> serve(const std::vector<std::string>& args,
                                                          const std::filesystem::path& folder) {
    std::vector<std::string> argv = {musterBinary(), "serve", "--listen", "127.0.0.1:0"};
    argv.insert(argv.end(), args.begin(), args.end());
    ChildProcess muster({argv, folder});
    const auto code = muster.wait();
    return {code, muster.err()};
  }
};

TEST_F(SingleNode, leadsAndSaysSo) {
  const Reply reply = http_.get("/v1/cluster");
  ASSERT_EQ(reply.status, 200) << reply;
  const Json::Value& cluster = reply.json;
  EXPECT_EQ(cluster["role"], "leader");
  EXPECT_EQ(cluster["leader"]["node_id"], cluster["node_id"]);
  EXPECT_EQ(cluster["leader"]["url"], service().url());
  EXPECT_EQ(cluster["leader"]["epoch"], 0);
  EXPECT_FALSE(cluster["leader"].isMember("expires_at"));
  ASSERT_EQ(cluster["nodes"].size(), 1U);
  EXPECT_EQ(cluster["nodes"][0]["node_id"], cluster["node_id"]);
  EXPECT_EQ(cluster["nodes"][0]["role"], "leader");
  EXPECT_EQ(cluster["nodes"][0]["status"], "healthy");
  EXPECT_NE(http_.get("/metrics").body.find("\nmuster_leader 1\n"), std::string::npos);
}

TEST_F(SingleNode, electsNobody) {
  for (const char* type : {"node.joined", "leader.elected"}) {
    const Reply reply = http_.get(std::string("/v1/events?types=") + type);
    EXPECT_TRUE(reply.json["items"].empty()) << reply;
  }
}

TEST_F(SingleNode, cannotResign) {
  EXPECT_TRUE(isProblem(http_.post("/v1/cluster/resign"), 409, "not_clustered"));
  EXPECT_TRUE(isProblem(http_.post("/v1/cluster/resign", R"({"a":1})"), 422));
  EXPECT_TRUE(isProblem(http_.get("/v1/cluster/resign"), 405));
}

TEST_F(SingleNode, aClusterOnItsStoreIsRefused) {
  const TempFolder folder;
  const auto [code, said] = serve({"--cluster", "on"}, folder.path());
  EXPECT_EQ(code, 2);
  EXPECT_NE(said.find("cluster is on, which only a PostgreSQL store can serve"), std::string::npos)
      << said;
}

TEST_F(SingleNode, aSecondServiceOnItsFileIsRefused) {
  const TempFolder folder;
  const auto [code, said] = serve({"--store", "sqlite:" + service().database()}, folder.path());
  EXPECT_EQ(code, 2);
  EXPECT_NE(said.find(service().database()), std::string::npos) << said;
}

}  // namespace
}  // namespace muster::test
