#include <set>

#include "tests/support/flow_fixture.h"

namespace muster::test {
namespace {

using Strings = std::vector<std::string>;

using FlowChildren = FlowFixture;

TEST_F(FlowChildren, are_waited_for_with_their_parent) {
  const Json::Value created =
      flows_.create({flows_.job("split"), flows_.job("join", after({"split"}))},
                    R"("tenant":"acme","priority":3)");
  const std::string flow = flowId(created);
  const Json::Value split = flows_.claim("split");
  const Reply added =
      flows_.addChildren(split, {flows_.job("part-1"), flows_.job("part-2", after({"part-1"}))});
  ASSERT_EQ(added.status, 201) << added;
  EXPECT_EQ(added.json["flow"]["flow_id"], flow);
  EXPECT_EQ(added.json["flow"]["counts"]["total"], 4);
  EXPECT_EQ(added.json["jobs"][0]["status"], "pending");
  EXPECT_EQ(added.json["jobs"][1]["status"], "blocked");
  const Json::Value part = http_.get("/v1/jobs/" + jobId(added.json, "part-1")).json;
  EXPECT_EQ(part["parent_id"], split["id"]);
  EXPECT_EQ(part["flow_id"], flow);
  EXPECT_EQ(part["tenant"], "acme");
  EXPECT_EQ(part["priority"], 3);
  flows_.done(split, R"("split")");
  EXPECT_EQ(flows_.job(flow, "join", "blocked")["blocked_by"], 1) << "its children are open";
  flows_.runs("part-1", R"("one")");
  flows_.runs("part-2", R"("two")");
  const Reply claim = pool_.tryClaim("w", R"("wait_seconds":30)");
  ASSERT_EQ(claim.json["items"].size(), 1U) << claim;
  const Json::Value join = claim.json["items"][0];
  EXPECT_EQ(join["name"], "join");
  Strings items;
  for (const Json::Value& item : join["upstream"]["items"]) {
    items.push_back(item["name"].asString() + " " + item["parent"].asString() + " " +
                    item["result"].asString());
  }
  EXPECT_EQ(items, (Strings{"split  split", "part-1 split one", "part-2 split two"}));
  Strings pages;
  for (const Json::Value& item :
       flows_.all("/v1/jobs/" + join["id"].asString() + "/upstream", "limit=1")) {
    EXPECT_EQ(item["verdict"], "succeeded");
    pages.push_back(item["name"].asString());
  }
  EXPECT_EQ(pages, (Strings{"split", "part-1", "part-2"}));
  Strings children;
  for (const Json::Value& job :
       flows_.all("/v1/flows/" + flow + "/jobs", "parent=" + split["id"].asString())) {
    children.push_back(job["name"].asString());
  }
  EXPECT_EQ(children, (Strings{"part-1", "part-2"}));
  flows_.done(join);
  EXPECT_EQ(flows_.ended(flow)["status"], "succeeded");
}

TEST_F(FlowChildren, that_were_added_before_are_the_same) {
  flows_.create({flows_.job("split")});
  const Json::Value split = flows_.claim("split");
  const Strings parts{flows_.job("p1"), flows_.job("p2", after({"p1"}))};
  const Reply first = flows_.addChildren(split, parts);
  ASSERT_EQ(first.status, 201) << first;
  const Reply second = flows_.addChildren(split, parts);
  ASSERT_EQ(second.status, 200) << second;
  EXPECT_EQ(second.json["jobs"], first.json["jobs"]);
  EXPECT_EQ(second.json["flow"]["counts"], first.json["flow"]["counts"]);
  const Reply more = flows_.addChildren(split, {flows_.job("p1"), flows_.job("p3")});
  ASSERT_EQ(more.status, 201) << more;
  EXPECT_EQ(jobId(more.json, "p1"), jobId(first.json, "p1"));
  EXPECT_TRUE(isProblem(flows_.addChildren(split, {flows_.job("p2")}), 409, "name_taken"));
}

TEST_F(FlowChildren, of_a_second_try_are_those_of_the_first) {
  flows_.create({flows_.job("split")});
  pool_.configure(R"("retry":{"base_ms":0})");
  const Json::Value first = flows_.claim("split");
  ASSERT_EQ(flows_.addChildren(first, {flows_.job("part", R"("priority":-1)")}).status, 201);
  ASSERT_EQ(pool_.report("fail", first).json["status"], "pending");
  const Json::Value second = flows_.claim("split");
  EXPECT_EQ(flows_.addChildren(second, {flows_.job("part", R"("priority":-1)")}).status, 200);
  EXPECT_TRUE(isProblem(flows_.addChildren(first, {flows_.job("late")}), 409, "lease_lost"));
}

TEST_F(FlowChildren, make_a_flow_of_a_job_that_has_none) {
  const Json::Value job = pool_.push(R"("data":1,"tenant":"acme")");
  const Json::Value claimed = pool_.claimOne();
  const Reply added = flows_.addChildren(claimed, {flows_.job("part")});
  ASSERT_EQ(added.status, 201) << added;
  const std::string flow = flowId(added.json);
  EXPECT_EQ(added.json["flow"]["closed"], true);
  EXPECT_EQ(added.json["flow"]["counts"]["total"], 2);
  const Json::Value parent = pool_.job(job);
  EXPECT_EQ(parent["flow_id"], flow);
  EXPECT_EQ(parent["name"], job["id"]);
  EXPECT_EQ(http_.get("/v1/jobs/" + jobId(added.json, "part")).json["tenant"], "acme");
  EXPECT_EQ(flows_.addChildren(claimed, {flows_.job("part")}).status, 200);
  flows_.done(claimed);
  flows_.runs("part");
  EXPECT_EQ(flows_.ended(flow)["status"], "succeeded");
}

TEST_F(FlowChildren, need_the_lease_of_their_parent) {
  flows_.create({flows_.job("a"), flows_.job("b")});
  const Json::Value a = flows_.claim("a"), b = flows_.claim("b");
  Json::Value mixed = a;
  mixed["lease_token"] = b["lease_token"];
  EXPECT_TRUE(isProblem(flows_.addChildren(mixed, {flows_.job("x")}), 409, "lease_lost"));
  const Reply tokenless = http_.post("/v1/jobs/" + a["id"].asString() + "/children",
                                     R"({"jobs":[)" + flows_.job("x") + "]}");
  EXPECT_TRUE(isProblem(tokenless, 422, "validation_failed"));
  EXPECT_EQ(pointers(tokenless), (std::set<std::string>{"/lease_token"}));
  flows_.done(a);
  EXPECT_TRUE(isProblem(flows_.addChildren(a, {flows_.job("x")}), 409, "lease_lost"));
}

TEST_F(FlowChildren, have_the_faults_of_jobs_of_flows) {
  flows_.create({flows_.job("a"), flows_.job("b")});
  const Json::Value a = flows_.claim("a");
  struct Case {
    Strings children;
    std::string pointer, code;
  };
  for (const Case& each : std::vector<Case>{
           {{flows_.job("x", after({"b"}))}, "/jobs/0/after/0", "unknown_dependency"},
           {{flows_.job("x", after({"a"}))}, "/jobs/0/after/0", "unknown_dependency"},
           {{flows_.job("x", after({"y"})), flows_.job("y", after({"x"}))}, "/jobs/", "cycle"},
           {{flows_.job("x"), flows_.job("x")}, "/jobs/1/name", "duplicate_name"},
           {{R"({"pool_id":"p","data":1})"}, "/jobs/0/name", "name_required"},
           {{}, "/jobs", "length"}}) {
    const Reply reply = flows_.addChildren(a, each.children);
    EXPECT_TRUE(isProblem(reply, 422, "validation_failed"));
    const Json::Value& fault = reply.json["errors"][0];
    EXPECT_TRUE(fault["pointer"].asString().starts_with(each.pointer)) << reply;
    EXPECT_EQ(fault["code"], each.code) << reply;
  }
  pool_.push(R"("data":1,"unique_key":"k")");
  const Reply taken = flows_.addChildren(a, {flows_.job("x", R"("unique_key":"k")")});
  EXPECT_TRUE(isProblem(taken, 409, "unique_key_taken"));
}

TEST_F(FlowChildren, end_where_the_levels_do) {
  flows_.create({flows_.job("1")});
  Json::Value parent = flows_.claim("1");
  for (int level = 2; level <= 16; ++level) {  // flow_max_depth, as it is by default
    const std::string child = std::to_string(level);
    ASSERT_EQ(flows_.addChildren(parent, {flows_.job(child)}).status, 201) << level;
    parent = flows_.claim(child);
  }
  const Reply refused = flows_.addChildren(parent, {flows_.job("17")});
  EXPECT_TRUE(isProblem(refused, 422, "validation_failed"));
  EXPECT_EQ(refused.json["errors"][0]["code"], "too_deep") << refused;
}

TEST_F(FlowChildren, are_refused_once_the_flow_is_coming_to_its_end) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  const Json::Value a = flows_.claim("a");
  ASSERT_EQ(flows_.act("cancel", flow).json["status"], "cancelling");
  EXPECT_TRUE(isProblem(flows_.addChildren(a, {flows_.job("x")}), 409, "flow_closed"));
}

}  // namespace
}  // namespace muster::test
