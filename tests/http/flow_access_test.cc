// Who may do what with flows: scopes, tokens for some pools, tokens of workers, rates of tenants.
#include "tests/support/flow_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

using Strings = std::vector<std::string>;

std::string flowJob(const std::string& pool, const std::string& name,
                    const std::string& more = {}) {
  return "{" +
         fields({R"("name":)" + inQuotes(name), R"("pool_id":)" + inQuotes(pool), R"("data":1)",
                 more}) +
         "}";
}

std::string jobsOf(const Strings& jobs) { return R"("jobs":[)" + fields(jobs) + "]"; }

class FlowAccess : public testing::Test {
 protected:
  static Service& service() {
    static Service made(
        {.store = anyStore(),
         .settings = "tokens:\n" + tokenLine("all", "admin") + tokenLine("reader", "read") +
                     tokenLine("producer", "produce") + tokenLine("worker", "work") +
                     tokenLine("mine", "'read:team.*', 'produce:team.*', 'work:team.*'") +
                     tokenLine("mixed", "'work:team.*', 'produce:shared'")});
    return made;
  }
  Reply create(const Strings& jobs, const Headers& who, const std::string& more = {}) {
    return http_.post("/v1/flows", "{" + fields({jobsOf(jobs), more}) + "}", who);
  }
  // The answer, or null and a failure.
  Json::Value created(const Strings& jobs, const std::string& more = {}) {
    const Reply reply = create(jobs, all_, more);
    EXPECT_EQ(reply.status, 201) << reply;
    return reply.json;
  }
  Json::Value claim(const std::string& pool, const std::string& worker, const Headers& who) {
    const Reply reply = http_.post("/v1/pools/" + pool + "/claim",
                                   R"({"worker_id":)" + inQuotes(worker) + "}", who);
    EXPECT_EQ(reply.json["items"].size(), 1U) << reply;
    return reply.json["items"].empty() ? Json::Value() : reply.json["items"][0];
  }
  Headers enrolled(const std::string& worker, const std::string& pool) {
    const Reply reply =
        http_.post("/v1/workers",
                   R"({"worker_id":)" + inQuotes(worker) + R"(,"pool_id":)" + inQuotes(pool) + "}",
                   bearer("worker"));
    EXPECT_EQ(reply.status, 201) << reply;
    return bearer(reply.json["worker_token"].asString());
  }
  Reply addChildren(const Json::Value& claimed, const Strings& jobs, const Headers& who) {
    return http_.post("/v1/jobs/" + claimed["id"].asString() + "/children",
                      "{" +
                          fields({R"("lease_token":)" + inQuotes(claimed["lease_token"].asString()),
                                  jobsOf(jobs)}) +
                          "}",
                      who);
  }
  // Everything that can be asked of one flow: method, path behind the flow's, body.
  static std::vector<std::array<std::string, 3>> requests() {
    return {{"GET", "", ""},
            {"GET", "?wait_seconds=1", ""},
            {"GET", "/jobs", ""},
            {"GET", "/edges", ""},
            {"POST", "/jobs", "{" + jobsOf({flowJob("team.a", "x")}) + "}"},
            {"POST", "/close", ""},
            {"POST", "/retry", ""},
            {"POST", "/cancel", ""},
            {"DELETE", "", ""}};
  }
  Http http_{service().url()};
  const Headers all_ = bearer("all"), mine_ = bearer("mine");
};

TEST_F(FlowAccess, needs_the_scope_of_the_request) {
  const Json::Value made = created({flowJob("scopes", "a")}, R"("open":true)");
  const std::string flow = "/v1/flows/" + flowId(made);
  for (const auto& [method, path, body] : requests()) {
    const bool reads = method == "GET";
    for (const char* who : {"reader", "producer", "worker"}) {
      if (who == std::string(reads ? "reader" : "producer")) continue;
      const Reply reply = http_.send({method, flow + path, body, bearer(who)});
      EXPECT_TRUE(isProblem(reply, 403, "forbidden")) << who << " " << method << path << reply;
    }
    EXPECT_TRUE(isProblem(http_.send({method, flow + path, body}), 401)) << method << path;
  }
  EXPECT_TRUE(isProblem(create({flowJob("scopes", "a")}, bearer("reader")), 403, "forbidden"));
  EXPECT_TRUE(isProblem(create({flowJob("scopes", "a")}, bearer("worker")), 403, "forbidden"));
  EXPECT_EQ(create({flowJob("scopes.more", "a")}, bearer("producer")).status, 201);
  EXPECT_TRUE(isProblem(http_.get("/v1/flows", bearer("producer")), 403, "forbidden"));
  EXPECT_EQ(http_.get("/v1/flows", bearer("reader")).status, 200);
  EXPECT_EQ(http_.get(flow, bearer("reader")).status, 200);

  const Json::Value claimed = claim("scopes", "w", bearer("worker"));
  for (const char* who : {"reader", "producer"}) {
    EXPECT_TRUE(isProblem(addChildren(claimed, {flowJob("scopes", "x")}, bearer(who)), 403)) << who;
  }
  EXPECT_EQ(addChildren(claimed, {flowJob("scopes", "x")}, bearer("worker")).status, 201);
}

TEST_F(FlowAccess, creates_only_where_the_token_may_push) {
  const Reply refused = create({flowJob("team.a", "a"), flowJob("theirs", "b")}, mine_);
  EXPECT_TRUE(isProblem(refused, 403, "forbidden"));
  EXPECT_NE(refused.json["detail"].asString().find("'theirs'"), std::string::npos) << refused;
  const auto callback = [](const std::string& pool) {
    return R"("callbacks":[{"when":"ended","job":{"data":1,"pool_id":)" + inQuotes(pool) + "}}]";
  };
  const Reply called = create({flowJob("team.a", "a")}, mine_, callback("theirs.too"));
  EXPECT_TRUE(isProblem(called, 403, "forbidden"));
  EXPECT_NE(called.json["detail"].asString().find("'theirs.too'"), std::string::npos) << called;
  EXPECT_TRUE(isProblem(http_.get("/v1/pools/theirs", all_), 404)) << "nothing was made";
  EXPECT_EQ(create({flowJob("team.a", "a")}, mine_, callback("team.b")).status, 201);
}

TEST_F(FlowAccess, adds_only_where_the_token_may_push) {
  const Reply made = create({}, mine_, R"("open":true)");
  ASSERT_EQ(made.status, 201) << made;
  const std::string path = "/v1/flows/" + flowId(made.json) + "/jobs";
  const auto add = [&](const std::string& pool) {
    return http_.post(path, "{" + jobsOf({flowJob(pool, pool)}) + "}", mine_);
  };
  EXPECT_EQ(add("team.adds").status, 201);
  const Reply refused = add("others.adds");
  EXPECT_TRUE(isProblem(refused, 403, "forbidden"));
  EXPECT_NE(refused.json["detail"].asString().find("'others.adds'"), std::string::npos) << refused;
}

TEST_F(FlowAccess, a_flow_with_a_job_elsewhere_is_not_there) {
  const Json::Value made =
      created({flowJob("team.a", "a"), flowJob("elsewhere", "b", after({"a"}))}, R"("open":true)");
  const std::string flow = flowId(made);
  for (const auto& [method, path, body] : requests()) {
    const Reply hidden = http_.send({method, "/v1/flows/" + flow + path, body, mine_});
    EXPECT_TRUE(isProblem(hidden, 404, "not_found")) << method << path << hidden;
    const Reply absent = http_.send({method, "/v1/flows/nowhere" + path, body, mine_});
    std::string detail = absent.json["detail"].asString();
    detail.replace(detail.find("nowhere"), 7, flow);
    EXPECT_EQ(hidden.json["detail"], detail) << "the same answer for both";
  }
  const Reply now = http_.get("/v1/flows/" + flow, all_);
  EXPECT_EQ(now.json["status"], "running") << now;
  EXPECT_EQ(now.json["closed"], false);
}

TEST_F(FlowAccess, lists_only_flows_that_the_token_may_read) {
  const std::string tenant = R"("tenant":"listed")";
  const std::string seen =
      flowId(created({flowJob("team.a", "a"), flowJob("team.b", "b")}, tenant));
  created({flowJob("team.a", "a"), flowJob("elsewhere", "b")}, tenant);
  created({flowJob("elsewhere", "b")}, tenant);
  const auto listed = [this](const Headers& who) {
    Strings ids;
    std::string cursor;
    do {
      const Reply page = http_.get(
          "/v1/flows?tenant=listed&limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor), who);
      EXPECT_EQ(page.status, 200) << page;
      for (const Json::Value& flow : page.json["items"]) ids.push_back(flow["flow_id"].asString());
      cursor = page.json["next_cursor"].asString();
    } while (!cursor.empty());
    return ids;
  };
  EXPECT_EQ(listed(mine_), (Strings{seen}));
  EXPECT_EQ(listed(all_).size(), 3U);
}

TEST_F(FlowAccess, a_worker_token_adds_children_to_the_child_pools_alone) {
  ASSERT_TRUE(http_.put("/v1/pools/narrow", R"({"child_pools":["narrow","parts"]})", all_).ok());
  created({flowJob("narrow", "a")});
  created({flowJob("plain", "a")});
  const Headers own = enrolled("narrow-worker", "narrow");
  const Json::Value a = claim("narrow", "narrow-worker", own);
  EXPECT_EQ(addChildren(a, {flowJob("narrow", "x"), flowJob("parts", "y")}, own).status, 201);
  const Reply refused = addChildren(a, {flowJob("narrow", "z"), flowJob("wide", "w")}, own);
  EXPECT_TRUE(isProblem(refused, 403, "forbidden"));
  EXPECT_NE(refused.json["detail"].asString().find("wide"), std::string::npos) << refused;
  EXPECT_EQ(addChildren(a, {flowJob("wide", "w")}, bearer("worker")).status, 201)
      << "another token may";

  const Headers plain = enrolled("plain-worker", "plain");
  const Json::Value b = claim("plain", "plain-worker", plain);
  EXPECT_EQ(addChildren(b, {flowJob("plain", "x")}, plain).status, 201);
  EXPECT_TRUE(isProblem(addChildren(b, {flowJob("parts", "y")}, plain), 403, "forbidden"));
  Json::Value stolen = a;
  stolen["lease_token"] = b["lease_token"];
  EXPECT_TRUE(isProblem(addChildren(stolen, {flowJob("narrow", "q")}, own), 409, "lease_lost"));
}

TEST_F(FlowAccess, other_tokens_add_children_where_they_may_push) {
  created({flowJob("team.parent", "a"), flowJob("elsewhere.parent", "b")});
  const Headers mixed = bearer("mixed");
  const Json::Value a = claim("team.parent", "w", mixed);
  EXPECT_EQ(addChildren(a, {flowJob("team.child", "x")}, mixed).status, 201);
  EXPECT_EQ(addChildren(a, {flowJob("shared", "y")}, mixed).status, 201);
  const Reply refused = addChildren(a, {flowJob("others", "z")}, mixed);
  EXPECT_TRUE(isProblem(refused, 403, "forbidden"));
  EXPECT_NE(refused.json["detail"].asString().find("'others'"), std::string::npos) << refused;
  const Json::Value b = claim("elsewhere.parent", "w", all_);
  EXPECT_TRUE(isProblem(addChildren(b, {flowJob("team.child", "x")}, mixed), 404, "not_found"));
}

TEST_F(FlowAccess, what_a_job_waited_for_is_for_readers_and_for_its_worker) {
  const Json::Value made =
      created({flowJob("team.up", "a"), flowJob("team.up", "b", after({"a"}))});
  const Headers own = enrolled("up-1", "team.up"), other = enrolled("up-2", "team.up");
  const Json::Value a = claim("team.up", "up-1", own);
  ASSERT_EQ(
      http_
          .post("/v1/jobs/" + a["id"].asString() + "/complete",
                R"({"result":7,"lease_token":)" + inQuotes(a["lease_token"].asString()) + "}", own)
          .status,
      200);
  const Json::Value b = claim("team.up", "up-1", own);
  ASSERT_EQ(b["id"], jobId(made, "b"));
  const std::string path = "/v1/jobs/" + b["id"].asString() + "/upstream";
  for (const Headers& who :
       {own, all_, mine_, bearer("reader"), bearer("worker"), bearer("mixed")}) {
    const Reply reply = http_.get(path, who);
    ASSERT_EQ(reply.status, 200) << reply;
    EXPECT_EQ(reply.json["items"][0]["result"], 7) << reply;
  }
  EXPECT_TRUE(isProblem(http_.get(path, other), 403, "forbidden"));
  EXPECT_TRUE(isProblem(http_.get(path, bearer("producer")), 403, "forbidden"));
  EXPECT_TRUE(isProblem(http_.get(path), 401));
  const std::string there = jobId(created({flowJob("elsewhere", "a")}), "a");
  EXPECT_TRUE(isProblem(http_.get("/v1/jobs/" + there + "/upstream", mine_), 404, "not_found"));
}

TEST(FlowRates, count_the_jobs_of_a_tenant_also_where_it_is_inherited) {
  Service service({.store = anyStore(), .settings = "tenant_qps_limit: 0.002\n"});
  PoolClient pool(service.url(), "p");
  FlowClient flows(pool);
  const auto create = [&](const std::string& tenant) {
    return flows.tryCreate({flows.job("a")}, R"("open":true,"tenant":)" + inQuotes(tenant));
  };
  const Reply first = create("a");
  ASSERT_EQ(first.status, 201) << first;
  EXPECT_EQ(first.header("ratelimit-remaining"), "0");
  EXPECT_TRUE(isProblem(create("a"), 429, "rate_limited"));

  const Reply added = flows.addJobs(flowId(first.json), {flows.job("b")});
  EXPECT_TRUE(isProblem(added, 429, "rate_limited"));
  EXPECT_NE(added.json["detail"].asString().find("'a'"), std::string::npos) << added;
  EXPECT_FALSE(added.header("retry-after").empty());
  const Json::Value claimed = pool.claimOne();
  EXPECT_TRUE(isProblem(flows.addChildren(claimed, {flows.job("x")}), 429, "rate_limited"));
  const Reply of_another = flows.addChildren(claimed, {flows.job("x", R"("tenant":"b")")});
  EXPECT_EQ(of_another.status, 201) << of_another;
  EXPECT_EQ(flows.shown(flowId(first.json))["counts"]["total"], 2);
}

}  // namespace
}  // namespace muster::test
