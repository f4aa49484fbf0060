#include "tests/cluster/cluster_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

using Access = ClusterFixture;

TEST_F(Access, tokens_of_workers_that_one_node_ends_are_refused_by_all) {
  const std::string tokens = "tokens:\n" + tokenLine("ops", "admin");
  start("a", tokens);
  start("b", tokens);
  const auto enrol = [&](const std::string& node) {
    const Reply reply = at(node).post("/v1/workers", R"({"worker_id":"w"})", bearer("ops"));
    EXPECT_EQ(reply.status, 201) << reply;
    return bearer(reply.json["worker_token"].asString());
  };
  const auto beat = [&](const std::string& node, const Headers& token) {
    return at(node).post("/v1/workers/w/heartbeat", "", token).status;
  };
  const Headers before = enrol("a");
  EXPECT_EQ(beat("b", before), 200) << "one key for all nodes";
  ASSERT_EQ(at("a").post("/v1/tokens/rotate_workers", "", bearer("ops")).status, 200);
  EXPECT_EQ(beat("a", before), 401);
  EXPECT_TRUE(becomes([&] { return beat("b", before) == 401; }));
  EXPECT_EQ(beat("b", enrol("a")), 200);
}

TEST_F(Access, the_audit_has_the_changes_of_all_nodes) {
  start("a");
  start("b");
  ASSERT_EQ(at("a").put("/v1/pools/x", "{}").status, 201);
  ASSERT_EQ(at("b").post("/v1/pools/x/pause").status, 200);
  for (const std::string node : {"a", "b"}) {
    std::set<std::string> paths;
    const Reply audit = at(node).get("/v1/audit");
    for (const Json::Value& entry : audit.json["items"]) {
      paths.insert(entry["path"].asString());
    }
    EXPECT_EQ(paths, (std::set<std::string>{"/v1/pools/x", "/v1/pools/x/pause"})) << node;
  }
}

}  // namespace
}  // namespace muster::test
