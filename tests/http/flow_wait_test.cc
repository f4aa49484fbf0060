#include "tests/support/flow_fixture.h"

namespace muster::test {
namespace {

class FlowWait : public FlowFixture {
 protected:
  Request waiting(const std::string& flow, double seconds) const {
    return {"GET", "/v1/flows/" + flow + "?wait_seconds=" + std::to_string(seconds)};
  }
};

TEST_F(FlowWait, is_over_when_the_flow_ends) {
  const std::string flow = flowId(flows_.create({flows_.job("a"), flows_.job("b", after({"a"}))}));
  PendingReply wait(service().url(), waiting(flow, 30));
  EXPECT_FALSE(wait.finished(150ms));
  flows_.runs("a");
  EXPECT_FALSE(wait.finished(100ms)) << "there is a job left";
  flows_.runs("b");
  ASSERT_TRUE(wait.finished(20s)) << "the end of the flow did not wake it";
  EXPECT_EQ(wait.reply().json["status"], "succeeded") << wait.reply();
  EXPECT_EQ(wait.reply().json["counts"]["done"], 2);
}

TEST_F(FlowWait, is_over_for_all_who_wait) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  PendingReply first(service().url(), waiting(flow, 30));
  PendingReply second(service().url(), waiting(flow, 30));
  EXPECT_FALSE(first.finished(100ms) || second.finished(100ms));
  flows_.poisoned(flows_.claim("a"));
  for (PendingReply* wait : {&first, &second}) {
    ASSERT_TRUE(wait->finished(20s));
    EXPECT_EQ(wait->reply().json["status"], "failed") << wait->reply();
    EXPECT_EQ(wait->reply().json["failed_jobs"].size(), 1U);
  }
}

TEST_F(FlowWait, is_over_when_the_flow_is_cancelled) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  PendingReply wait(service().url(), waiting(flow, 30));
  EXPECT_FALSE(wait.finished(100ms));
  ASSERT_EQ(flows_.act("cancel", flow).status, 200);
  ASSERT_TRUE(wait.finished(20s));
  EXPECT_EQ(wait.reply().json["status"], "cancelled") << wait.reply();
}

TEST_F(FlowWait, shows_the_flow_as_it_is_when_the_time_is_over) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  PendingReply wait(service().url(), waiting(flow, 0.2));
  ASSERT_TRUE(wait.finished(kPatience));
  EXPECT_EQ(wait.reply().status, 200) << wait.reply();
  EXPECT_EQ(wait.reply().json["status"], "running");
}

TEST_F(FlowWait, is_none_for_a_flow_that_has_ended) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  flows_.runs("a");
  flows_.ended(flow);
  PendingReply wait(service().url(), waiting(flow, 30));
  ASSERT_TRUE(wait.finished(20s));
  EXPECT_EQ(wait.reply().json["status"], "succeeded") << wait.reply();
}

TEST_F(FlowWait, goes_on_in_the_next_round) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  flows_.poisoned(flows_.claim("a"));
  flows_.ended(flow);
  ASSERT_EQ(flows_.act("retry", flow).status, 200);
  PendingReply wait(service().url(), waiting(flow, 30));
  EXPECT_FALSE(wait.finished(100ms));
  flows_.runs("a");
  ASSERT_TRUE(wait.finished(20s));
  EXPECT_EQ(wait.reply().json["status"], "succeeded") << wait.reply();
  EXPECT_EQ(wait.reply().json["round"], 2);
}

TEST_F(FlowWait, is_bounded) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  for (const char* seconds : {"-1", "31", "soon", ""}) {
    const Reply reply = http_.get("/v1/flows/" + flow + "?wait_seconds=" + std::string(seconds));
    EXPECT_TRUE(isProblem(reply, 400, "invalid_query")) << seconds;
  }
}

TEST(FlowWaitAtTheEnd, of_the_service_is_answered) {
  Service service({.store = anyStore()});
  PoolClient pool(service.url(), "p");
  FlowClient flows(pool);
  const std::string flow = flowId(flows.create({flows.job("a")}));
  PendingReply wait(service.url(), {"GET", "/v1/flows/" + flow + "?wait_seconds=30"});
  EXPECT_FALSE(wait.finished(100ms));
  service.interrupt();
  ASSERT_TRUE(wait.finished(20s)) << "it still waits";
  EXPECT_EQ(wait.reply().json["status"], "running") << wait.reply();
  EXPECT_EQ(service.awaitExit(), 0) << service.log();
}

}  // namespace
}  // namespace muster::test
