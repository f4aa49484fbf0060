// Flows that are listed, cancelled, retried and deleted, and what they push at their end.
#include <set>

#include "tests/support/flow_fixture.h"

namespace muster::test {
namespace {

using Strings = std::vector<std::string>;

class FlowLists : public FlowFixture {
 protected:
  Strings listed(const std::string& query) {
    Strings ids;
    for (const Json::Value& flow : flows_.all("/v1/flows", query)) {
      ids.push_back(flow["flow_id"].asString());
    }
    return ids;
  }
};
class FlowCancelling : public FlowFixture {};
class FlowRetrying : public FlowFixture {};
class FlowCallbacks : public FlowFixture {};

TEST_F(FlowLists, show_the_newest_first_and_can_be_filtered) {
  const std::string tenant = R"("tenant":)" + inQuotes(name("t"));
  const std::string named = R"("name":)" + inQuotes(name("n"));
  Strings made;
  for (const std::string& more : {tenant, fields({tenant, named}), tenant}) {
    made.push_back(flowId(flows_.create({flows_.job("a")}, more)));
  }
  ASSERT_EQ(flows_.act("cancel", made[0]).status, 200);
  ASSERT_EQ(flows_.ended(made[0])["status"], "cancelled");
  const std::string mine = "tenant=" + name("t");
  EXPECT_EQ(listed(mine), (Strings{made[2], made[1], made[0]}));
  EXPECT_EQ(listed(mine + "&limit=1"), listed(mine)) << "page by page";
  EXPECT_EQ(listed(mine + "&status=running"), (Strings{made[2], made[1]}));
  EXPECT_EQ(listed(mine + "&status=cancelled"), (Strings{made[0]}));
  EXPECT_EQ(listed("name=" + name("n")), (Strings{made[1]}));
  EXPECT_TRUE(listed(mine + "&name=nobody").empty());
  for (const char* query : {"status=done", "limit=0", "limit=201", "cursor=a%20b", "colour=red"}) {
    const Reply reply = http_.get(std::string("/v1/flows?") + query);
    EXPECT_TRUE(isProblem(reply, 400, "invalid_query")) << query << reply;
  }
}

TEST_F(FlowLists, of_jobs_and_edges_come_in_pages) {
  const Json::Value created = flows_.create(
      {flows_.job("a"), flows_.job("b", after({"a"})),
       flows_.job("c", fields({after({"a"}, "after_any"), after({"b"}, "after_failure")}))});
  const std::string flow = "/v1/flows/" + flowId(created);
  Strings names, edges;
  for (const Json::Value& job : flows_.all(flow + "/jobs", "limit=1")) {
    names.push_back(job["name"].asString());
  }
  EXPECT_EQ(names, (Strings{"a", "b", "c"}));
  EXPECT_EQ(flows_.all(flow + "/jobs", "status=blocked").size(), 2U);
  EXPECT_TRUE(flows_.all(flow + "/jobs", "status=claimed").empty());
  for (const Json::Value& edge : flows_.all(flow + "/edges", "limit=1")) {
    edges.push_back(edge["from"].asString() + " " + edge["to"].asString() + " " +
                    edge["when"].asString());
  }
  EXPECT_EQ(edges, (Strings{"a b after", "a c after_any", "b c after_failure"}));
  for (const char* query : {"/jobs?status=running", "/jobs?limit=0", "/edges?status=done"}) {
    EXPECT_TRUE(isProblem(http_.get(flow + query), 400, "invalid_query")) << query;
  }
}

TEST_F(FlowCancelling, ends_what_has_not_started_and_stops_the_rest) {
  pool_.registerWorker(name("w"));
  const Json::Value created =
      flows_.create({flows_.job("a"), flows_.job("b"), flows_.job("c", after({"a"}))});
  const std::string flow = flowId(created);
  const Json::Value claimed = pool_.claimOne(name("w"));
  ASSERT_EQ(claimed["name"], "a");
  const Reply cancelled = flows_.act("cancel", flow, R"({"reason":"not wanted"})");
  ASSERT_EQ(cancelled.status, 200) << cancelled;
  EXPECT_EQ(cancelled.json["status"], "cancelling");
  EXPECT_EQ(cancelled.json["closed"], true);
  EXPECT_EQ(flows_.job(flow, "b", "cancelled")["reason"], "flow_cancelled");
  EXPECT_EQ(flows_.job(flow, "c", "cancelled")["reason"], "flow_cancelled");
  const Reply beat = pool_.heartbeat(name("w"));
  ASSERT_EQ(beat.json["commands"].size(), 1U) << beat;
  EXPECT_EQ(beat.json["commands"][0]["type"], "cancel");
  EXPECT_EQ(beat.json["commands"][0]["job_id"], claimed["id"]);
  EXPECT_TRUE(isProblem(http_.del("/v1/flows/" + flow), 409, "flow_running"));
  EXPECT_TRUE(isProblem(flows_.act("retry", flow), 409, "flow_running"));
  ASSERT_EQ(pool_.report("fail", claimed, R"("cancelled":true)").status, 200);
  const Json::Value ended = flows_.ended(flow);
  EXPECT_EQ(ended["status"], "cancelled");
  EXPECT_EQ(ended["reason"], "not wanted");
  EXPECT_EQ(flows_.job(flow, "a", "cancelled")["reason"], "flow_cancelled");
  EXPECT_TRUE(isProblem(flows_.act("cancel", flow), 409, "already_finished"));
}

TEST_F(FlowCancelling, gives_a_reason_of_its_own_where_none_is_given) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}));
  ASSERT_EQ(flows_.act("cancel", flow).status, 200);
  EXPECT_EQ(flows_.ended(flow)["reason"], "requested");
  EXPECT_TRUE(isProblem(flows_.act("cancel", flow, R"({"reason":""})"), 422, "validation_failed"));
  EXPECT_TRUE(isProblem(flows_.act("cancel", flow, R"({"why":"x"})"), 422, "validation_failed"));
}

TEST_F(FlowRetrying, puts_back_what_did_not_end_well_in_a_new_round) {
  const Json::Value created =
      flows_.create({flows_.job("a"), flows_.job("b", after({"a"})), flows_.job("c", after({"b"}))},
                    R"("deadline_seconds":86400)");
  const std::string flow = flowId(created);
  EXPECT_TRUE(flows_.shown(flow).isMember("deadline_at"));
  EXPECT_TRUE(isProblem(flows_.act("retry", flow), 409, "flow_running"));
  flows_.runs("a", R"({"kept":true})");
  flows_.poisoned(flows_.claim("b"));
  ASSERT_EQ(flows_.ended(flow)["status"], "failed");

  const Reply retried = flows_.act("retry", flow);
  ASSERT_EQ(retried.status, 200) << retried;
  EXPECT_EQ(retried.json["count"], 2);
  EXPECT_EQ(retried.json["flow"]["status"], "running");
  EXPECT_EQ(retried.json["flow"]["round"], 2);
  EXPECT_FALSE(retried.json["flow"].isMember("deadline_at")) << "it is dropped";
  EXPECT_FALSE(retried.json["flow"].isMember("ended_at"));
  EXPECT_EQ(flows_.statuses(flow), (std::map<std::string, std::string>{
                                       {"a", "done"}, {"b", "pending"}, {"c", "blocked"}}));
  const Json::Value second = flows_.claim("b");
  EXPECT_EQ(second["attempt"], 1);
  EXPECT_EQ(second["flow"]["round"], 2);
  EXPECT_EQ(second["upstream"]["items"][0]["result"]["kept"], true);
  flows_.done(second);
  flows_.runs("c");
  EXPECT_EQ(flows_.ended(flow)["status"], "succeeded");
  EXPECT_TRUE(isProblem(flows_.act("retry", flow), 409, "not_retryable"));
}

TEST_F(FlowRetrying, of_chosen_jobs_takes_what_is_downstream_of_them) {
  const Json::Value created =
      flows_.create({flows_.job("a"), flows_.job("b"), flows_.job("c", after({"a"})),
                     flows_.job("d", after({"b"}))});
  const std::string flow = flowId(created);
  flows_.poisoned(flows_.claim("a"));
  flows_.poisoned(flows_.claim("b"));
  ASSERT_EQ(flows_.ended(flow)["status"], "failed");
  const std::string chosen = inQuotes(jobId(created, "a"));
  const Reply retried =
      flows_.act("retry", flow, R"({"deadline_seconds":3600,"jobs":[)" + chosen + "]}");
  ASSERT_EQ(retried.status, 200) << retried;
  EXPECT_EQ(retried.json["count"], 2);
  EXPECT_TRUE(retried.json["flow"].isMember("deadline_at"));
  EXPECT_EQ(flows_.statuses(flow),
            (std::map<std::string, std::string>{
                {"a", "pending"}, {"b", "poisoned"}, {"c", "blocked"}, {"d", "cancelled"}}));
}

TEST_F(FlowRetrying, refuses_jobs_of_other_flows) {
  const Json::Value created = flows_.create({flows_.job("a")});
  const std::string flow = flowId(created);
  const std::string other = pool_.push()["id"].asString();
  flows_.poisoned(flows_.claim("a"));
  flows_.ended(flow);
  for (const std::string& body :
       {R"({"jobs":[)" + inQuotes(other) + "]}", std::string(R"({"jobs":["none"]})"),
        std::string(R"({"jobs":[]})"), std::string(R"({"jobs":"all"})"),
        std::string(R"({"deadline_seconds":-1})"), std::string(R"({"all":true})")}) {
    EXPECT_TRUE(isProblem(flows_.act("retry", flow, body), 422, "validation_failed")) << body;
  }
  EXPECT_EQ(flows_.shown(flow)["round"], 1);
}

TEST_F(FlowRetrying, of_one_job_begins_a_round_too) {
  const Json::Value created = flows_.create({flows_.job("a"), flows_.job("b", after({"a"}))});
  const std::string flow = flowId(created);
  flows_.poisoned(flows_.claim("a"));
  ASSERT_EQ(flows_.ended(flow)["status"], "failed");
  const Reply retried = http_.post("/v1/jobs/" + jobId(created, "a") + "/retry");
  ASSERT_EQ(retried.status, 200) << retried;
  EXPECT_EQ(retried.json["status"], "pending");
  EXPECT_EQ(retried.json["flow_id"], flow);
  EXPECT_EQ(flows_.shown(flow)["round"], 2);
  flows_.runs("a");
  flows_.runs("b");
  EXPECT_EQ(flows_.ended(flow)["status"], "succeeded");
}

TEST_F(FlowRetrying, leaves_a_deleted_flow_and_its_jobs_gone) {
  const Json::Value created = flows_.create({flows_.job("a"), flows_.job("b", after({"a"}))});
  const std::string flow = flowId(created), path = "/v1/flows/" + flow;
  EXPECT_TRUE(isProblem(http_.del(path), 409, "flow_running"));
  ASSERT_EQ(flows_.act("cancel", flow).status, 200);
  flows_.ended(flow);
  const Reply gone = http_.del(path);
  EXPECT_EQ(gone.status, 204) << gone;
  EXPECT_TRUE(gone.body.empty());
  EXPECT_TRUE(isProblem(http_.get(path), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.get("/v1/jobs/" + jobId(created, "a")), 404, "not_found"));
  EXPECT_TRUE(isProblem(flows_.act("retry", flow), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.del(path), 404, "not_found"));
  EXPECT_EQ(pool_.stats()["cancelled"], 0);
}

TEST_F(FlowCallbacks, run_outside_of_the_flow_and_know_how_it_ended) {
  const auto callback = [this](const std::string& when) {
    return R"({"when":)" + inQuotes(when) + R"(,"job":{"pool_id":)" + inQuotes(name("after")) +
           R"(,"data":)" + inQuotes(when) + "}}";
  };
  const Json::Value created = flows_.create(
      {flows_.job("a")},
      R"("name":"called","metadata":{"run":7},"callbacks":[)" +
          fields({callback("succeeded"), callback("failed"), callback("ended")}) + "]");
  const std::string flow = flowId(created);
  EXPECT_EQ(created["flow"]["callbacks"].size(), 3U);
  EXPECT_EQ(created["flow"]["metadata"]["run"], 7);
  flows_.poisoned(flows_.claim("a"));
  flows_.ended(flow);
  PoolClient after(service().url(), name("after"));
  const auto claimed = after.claim("w", R"("max":10)");
  std::set<std::string> fired;
  for (const Json::Value& job : claimed) {
    fired.insert(job["flow"]["callback"].asString());
    EXPECT_EQ(job["data"], job["flow"]["callback"]);
    EXPECT_EQ(job["flow"]["flow_id"], flow);
    EXPECT_EQ(job["flow"]["name"], "called");
    EXPECT_EQ(job["flow"]["round"], 1);
    EXPECT_EQ(job["flow"]["status"], "failed");
    EXPECT_FALSE(job.isMember("flow_id")) << "it is outside: " << job;
  }
  EXPECT_EQ(fired, (std::set<std::string>{"ended", "failed"}));
  EXPECT_EQ(claimed.size(), 2U) << "once each";
}

TEST_F(FlowCallbacks, are_told_of_beside_events_of_the_flow) {
  const std::string flow = flowId(flows_.create({flows_.job("a")}, R"("name":"told")"));
  flows_.runs("a");
  flows_.ended(flow);
  Strings types;
  for (const Json::Value& event : pool_.events("types=flow.created,flow.succeeded,flow.failed")) {
    if (event["details"]["flow_id"] != flow) continue;
    types.push_back(event["type"].asString());
    EXPECT_EQ(event["details"]["name"], "told");
    EXPECT_EQ(event["details"]["round"], 1);
  }
  EXPECT_EQ(types, (Strings{"flow.created", "flow.succeeded"}));
}

}  // namespace
}  // namespace muster::test
