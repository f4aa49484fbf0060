#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

int number(const Reply& reply, const std::string& header) {
  EXPECT_TRUE(reply.hasHeader(header)) << header << " " << reply;
  return reply.hasHeader(header) ? std::stoi(reply.header(header)) : -1;
}

TEST(RateLimits, are_told_with_every_answer_and_refuse_what_is_too_much) {
  Service service({.store = anyStore(), .settings = "global_qps_limit: 0.002\n"});
  Http http(service.url());
  const Reply first = http.get("/v1/pools/none");
  EXPECT_EQ(first.status, 404);
  EXPECT_EQ(number(first, "ratelimit-limit"), 1);
  EXPECT_EQ(number(first, "ratelimit-remaining"), 0);
  EXPECT_GT(number(first, "ratelimit-reset"), 400);

  const Reply second = http.get("/v1/pools/none");
  EXPECT_TRUE(isProblem(second, 429, "rate_limited"));
  EXPECT_EQ(number(second, "ratelimit-limit"), 1);
  EXPECT_EQ(number(second, "ratelimit-remaining"), 0);
  EXPECT_GT(number(second, "retry-after"), 400);
  EXPECT_EQ(number(second, "ratelimit-reset"), number(second, "retry-after"));

  for (const char* open : {"/healthz", "/readyz", "/metrics"}) {
    const Reply reply = http.get(open);
    EXPECT_EQ(reply.status, 200) << open << " is for those who see to the service";
    EXPECT_FALSE(reply.hasHeader("ratelimit-limit")) << open;
  }
  EXPECT_TRUE(isProblem(http.post("/v1/hooks/work_added", "{}"), 429)) << "hooks count like others";
}

TEST(RateLimits, are_not_told_where_there_are_none) {
  Service service({.store = anyStore()});
  PoolClient pool(service.url(), "p");
  const Reply reply = pool.tryPush(R"("data":1,"tenant":"a")");
  EXPECT_EQ(reply.status, 201);
  EXPECT_FALSE(reply.hasHeader("ratelimit-limit"));
}

class TenantRate : public testing::Test {
 protected:
  TenantRate() : service_({.store = anyStore(), .settings = "tenant_qps_limit: 2.001\n"}) {
    pool_ = std::make_unique<PoolClient>(service_.url(), "p");
  }
  Reply batch(const std::vector<std::string>& tenants) {
    std::string items;
    for (const std::string& tenant : tenants) {
      items += (items.empty() ? "" : ",") + (R"({"data":1,"tenant":)" + inQuotes(tenant) + "}");
    }
    return pool_->http().post(pool_->path("/jobs/batch"), R"({"items":[)" + items + "]}");
  }
  Service service_;
  std::unique_ptr<PoolClient> pool_;
};

TEST_F(TenantRate, is_that_of_the_tenant_a_push_names) {
  const Reply reply = pool_->tryPush(R"("data":1,"tenant":"a")");
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(number(reply, "ratelimit-limit"), 4);
  EXPECT_EQ(number(reply, "ratelimit-remaining"), 3);
  EXPECT_EQ(number(reply, "ratelimit-reset"), 1);
  EXPECT_FALSE(pool_->tryPush(R"("data":1)").hasHeader("ratelimit-limit"));
  EXPECT_FALSE(pool_->http().get(pool_->path()).hasHeader("ratelimit-limit"));
}

TEST_F(TenantRate, of_one_that_is_over_costs_the_others_of_the_batch_nothing) {
  const std::vector<std::string> many(400, "z");
  EXPECT_EQ(batch(many).status, 201) << "a full bucket takes a large batch";
  std::vector<std::string> both{"a", "a", "a", "a"};
  both.emplace_back("z");
  const Reply refused = batch(both);
  EXPECT_TRUE(isProblem(refused, 429, "rate_limited"));
  EXPECT_NE(refused.json["detail"].asString().find("'z'"), std::string::npos);
  EXPECT_EQ(number(refused, "ratelimit-remaining"), 0);
  EXPECT_GT(number(refused, "retry-after"), 100);
  const Reply passed = batch({"a", "a", "a", "a"});
  EXPECT_EQ(passed.status, 201) << passed;
  EXPECT_EQ(number(passed, "ratelimit-remaining"), 0);
  EXPECT_EQ(pool_->stats()["queue_depth"], 404);
}

TEST(RateLimits, of_both_kinds_tell_the_one_that_is_nearer) {
  Service service(
      {.store = anyStore(), .settings = "global_qps_limit: 50\ntenant_qps_limit: 2.001\n"});
  PoolClient pool(service.url(), "p");
  EXPECT_EQ(number(pool.tryPush(R"("data":1,"tenant":"a")"), "ratelimit-limit"), 4);
  EXPECT_EQ(number(pool.tryPush(R"("data":1)"), "ratelimit-limit"), 100);
}

}  // namespace
}  // namespace muster::test
