#include "tests/cluster/cluster_fixture.h"
#include "tests/support/flow_client.h"

namespace muster::test {
namespace {

class ClusterFlows : public ClusterFixture {};

TEST_F(ClusterFlows, a_wait_ends_with_a_flow_that_another_node_has_ended) {
  start("a");
  start("b");
  FlowClient here(pool("a")), there(pool("b"));
  const Json::Value created =
      here.create({here.job("first"), here.job("second", after({"first"}))});
  const std::string flow = flowId(created);
  PendingReply wait(node("a").url(), {"GET", "/v1/flows/" + flow + "?wait_seconds=30"});
  EXPECT_FALSE(wait.finished(100ms));
  there.runs("first");
  there.runs("second");
  ASSERT_TRUE(wait.finished(20s)) << "the end on the other node did not wake it";
  EXPECT_EQ(wait.reply().json["status"], "succeeded") << wait.reply();
  EXPECT_EQ(there.shown(flow)["status"], "succeeded");
}

}  // namespace
}  // namespace muster::test
