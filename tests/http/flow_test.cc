#include <set>

#include "tests/support/flow_fixture.h"

namespace muster::test {
namespace {

using Strings = std::vector<std::string>;

class Flows : public FlowFixture {
 protected:
  // The diamond of the contract; its pools are of this test alone.
  Json::Value diamond() {
    const auto in = [this](const char* pool, const std::string& name, const std::string& data,
                           const std::string& edges = {}) {
      return "{" +
             fields({R"("name":)" + inQuotes(name), R"("pool_id":)" + inQuotes(this->name(pool)),
                     R"("data":)" + data, edges}) +
             "}";
    };
    return flows_.create(
        {in("net", "fetch", R"({"url":"https://example.org/data.csv"})"),
         in("cpu", "left", R"({"half":1})", after({"fetch"})),
         in("cpu", "right", R"({"half":2})", after({"fetch"})),
         in("cpu", "merge", "{}", after({"left", "right"})),
         in("net", "alarm", R"({"mail":"ops"})", after({"merge"}, "after_failure"))},
        R"("name":"report")");
  }
  PoolClient net_{service().url(), name("net")};
  PoolClient cpu_{service().url(), name("cpu")};
  FlowClient in_net_{net_}, in_cpu_{cpu_};
};

TEST_F(Flows, a_diamond_runs_to_its_end) {
  const Json::Value created = diamond();
  const Json::Value& flow = created["flow"];
  EXPECT_EQ(flow["name"], "report");
  EXPECT_EQ(flow["status"], "running");
  EXPECT_EQ(flow["closed"], true);
  EXPECT_EQ(flow["round"], 1);
  EXPECT_EQ(flow["fail_fast"], false);
  EXPECT_TRUE(flow["created_at"].isString());
  const Json::Value& counts = flow["counts"];
  EXPECT_EQ(counts["total"], 5);
  EXPECT_EQ(counts["blocked"], 4);
  EXPECT_EQ(counts["live"], 1);
  EXPECT_EQ(counts["done"], 0);
  EXPECT_EQ(counts["poisoned"], 0);
  EXPECT_EQ(counts["cancelled"], 0);
  ASSERT_EQ(created["jobs"].size(), 5U);
  const Strings names{"fetch", "left", "right", "merge", "alarm"};
  for (Json::ArrayIndex i = 0; i < 5; ++i) {
    EXPECT_EQ(created["jobs"][i]["name"], names[i]);
    EXPECT_EQ(created["jobs"][i]["status"], i == 0 ? "pending" : "blocked") << names[i];
  }
  EXPECT_TRUE(cpu_.claim("w").empty());

  in_net_.runs("fetch");
  in_cpu_.runs("left", R"({"rows":1})");
  EXPECT_EQ(in_cpu_.job(flowId(created), "merge", "blocked")["blocked_by"], 1);
  in_cpu_.runs("right", R"({"rows":2})");
  const Json::Value merge = in_cpu_.claim("merge");
  EXPECT_EQ(merge["flow"]["flow_id"], flow["flow_id"]);
  EXPECT_EQ(merge["flow"]["name"], "report");
  EXPECT_EQ(merge["flow"]["round"], 1);
  EXPECT_EQ(merge["upstream"]["count"], 2);
  EXPECT_EQ(merge["upstream"]["truncated"], false);
  ASSERT_EQ(merge["upstream"]["items"].size(), 2U) << merge;
  for (const Json::ArrayIndex i : {0U, 1U}) {
    const Json::Value& item = merge["upstream"]["items"][i];
    EXPECT_EQ(item["name"], i == 0 ? "left" : "right");
    EXPECT_EQ(item["verdict"], "succeeded");
    EXPECT_EQ(item["status"], "done");
    EXPECT_EQ(item["job_id"], jobId(created, item["name"].asString()));
    EXPECT_EQ(item["result"]["rows"].asUInt(), i + 1);
  }
  in_cpu_.done(merge);

  const Json::Value ended = flows_.ended(flowId(created));
  EXPECT_EQ(ended["status"], "succeeded");
  EXPECT_FALSE(ended.isMember("reason")) << ended;
  EXPECT_EQ(ended["counts"]["done"], 4);
  EXPECT_EQ(ended["counts"]["cancelled"], 1);
  EXPECT_TRUE(ended["failed_jobs"].empty());
  const Json::Value alarm = flows_.job(flowId(created), "alarm", "cancelled");
  EXPECT_EQ(alarm["reason"], "not_needed");
  EXPECT_EQ(alarm["flow_id"], flow["flow_id"]);
  EXPECT_FALSE(alarm.isMember("blocked_by"));
}

TEST_F(Flows, a_diamond_with_a_broken_side_runs_its_alarm_and_fails) {
  const Json::Value created = diamond();
  in_net_.runs("fetch");
  in_cpu_.poisoned(in_cpu_.claim("left"), "no memory");
  in_cpu_.runs("right");
  const Json::Value merge =
      http_.get("/v1/jobs/" + jobId(created, "merge") + "?wait_seconds=30").json;
  EXPECT_EQ(merge["status"], "cancelled") << merge;
  EXPECT_EQ(merge["reason"], "upstream_failed");
  const Reply alarm = net_.tryClaim("w", R"("wait_seconds":30)");
  ASSERT_EQ(alarm.json["items"].size(), 1U) << alarm;
  EXPECT_EQ(alarm.json["items"][0]["name"], "alarm");
  in_net_.done(alarm.json["items"][0]);
  const Json::Value ended = flows_.ended(flowId(created));
  EXPECT_EQ(ended["status"], "failed");
  EXPECT_EQ(ended["reason"], "job_failed");
  ASSERT_EQ(ended["failed_jobs"].size(), 1U) << ended;
  EXPECT_EQ(ended["failed_jobs"][0]["name"], "left");
  EXPECT_EQ(ended["failed_jobs"][0]["job_id"], jobId(created, "left"));
  EXPECT_EQ(ended["failed_jobs"][0]["error"], "no memory");
}

// Each with the pointer and the code of its fault.
TEST_F(Flows, faults_are_told_with_their_place) {
  const auto job = [this](const std::string& name, const std::string& more = {}) {
    return flows_.job(name, more);
  };
  const std::string nameless = R"({"pool_id":"p","data":1})";
  const std::string poolless = R"({"name":"a","data":1})";
  Strings too_many, too_many_edges;
  for (int i = 0; i < 1001; ++i) too_many.push_back(job("j" + std::to_string(i)));
  for (int i = 0; i < 150; ++i) {
    Strings names;
    for (int j = 0; j < i; ++j) names.push_back("j" + std::to_string(j));
    too_many_edges.push_back(job("j" + std::to_string(i), after(names)));
  }
  const std::string callback = R"({"when":"ended","job":{"pool_id":"p","data":1}})";
  struct Case {
    Strings jobs;
    std::string more, pointer, code;
  };
  const std::vector<Case> cases = {
      {{job("a", after({"b"})), job("b", after({"a"}))}, "", "/jobs/", "cycle"},
      {{job("a", after({"a"}))}, "", "/jobs/0/after/0", "cycle"},
      {{job("a"), job("b", after({"a", "x"}))}, "", "/jobs/1/after/1", "unknown_dependency"},
      {{job("a", after({"x"}, "after_failure"))},
       "",
       "/jobs/0/after_failure/0",
       "unknown_dependency"},
      {{job("a", after({"x"}, "after_any"))}, "", "/jobs/0/after_any/0", "unknown_dependency"},
      {{nameless}, "", "/jobs/0/name", "name_required"},
      {{poolless}, "", "/jobs/0/pool_id", "required"},
      {{job("a"), job("a")}, "", "/jobs/1/name", "duplicate_name"},
      {{job("a"), job("b", after({"a", "a"}))}, "", "/jobs/1/after/1", "duplicate_name"},
      {{job("a"), job("b", after({"a"}) + "," + after({"a"}, "after_any"))},
       "",
       "/jobs/1/after_any/0",
       "duplicate_name"},
      {too_many, "", "/jobs", "too_many_jobs"},
      {too_many_edges, "", "/jobs", "too_many_edges"},
      {{}, "", "/jobs", "length"},
      {{job("a", R"("colour":1)")}, "", "/jobs/0/colour", "unknown_field"},
      {{job("a", R"("expires_at":"2020-01-01T00:00:00Z")")}, "", "/jobs/0/expires_at", "range"},
      {{job("a")}, R"("callbacks":[)" + fields(Strings(5, callback)) + "]", "/callbacks", "length"},
      {{job("a")},
       R"("callbacks":[{"when":"soon","job":{"pool_id":"p","data":1}}])",
       "/callbacks/0/when",
       "choice"},
      {{job("a")},
       R"("deadline_seconds":1,"deadline_at":"2999-01-01T00:00:00Z")",
       "/deadline_at",
       "contradiction"},
      {{job("a")},
       R"("metadata":{"x":")" + std::string(17'000, 'x') + R"("})",
       "/metadata",
       "length"},
  };
  for (const Case& each : cases) {
    const Reply reply = flows_.tryCreate(each.jobs, each.more);
    EXPECT_TRUE(isProblem(reply, 422, "validation_failed"));
    const Json::Value& fault = reply.json["errors"][0];
    EXPECT_TRUE(fault["pointer"].asString().starts_with(each.pointer))
        << each.pointer << " " << reply;
    EXPECT_EQ(fault["code"], each.code) << each.pointer << " " << reply;
  }
  EXPECT_EQ(pool_.stats()["queue_depth"], 0) << "all or nothing";
  EXPECT_TRUE(isProblem(http_.post("/v1/flows", "[1"), 400, "invalid_json"));
}

TEST_F(Flows, a_taken_unique_key_creates_nothing) {
  pool_.push(R"("data":1,"unique_key":"k")");
  const Reply refused = flows_.tryCreate({flows_.job("a"), flows_.job("b", R"("unique_key":"k")")});
  EXPECT_TRUE(isProblem(refused, 409, "unique_key_taken"));
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Flows, an_open_flow_takes_jobs_until_it_is_closed) {
  const std::string flow = flowId(flows_.create({}, R"("open":true)"));
  EXPECT_EQ(flows_.shown(flow)["closed"], false);
  const Reply first = flows_.addJobs(flow, {flows_.job("a")});
  ASSERT_EQ(first.status, 201) << first;
  EXPECT_EQ(first.json["flow"]["counts"]["total"], 1);
  flows_.poisoned(flows_.claim("a"));
  const Reply second =
      flows_.addJobs(flow, {flows_.job("b", after({"a"}, "after_any")),
                            flows_.job("c", after({"b"})), flows_.job("d", after({"a"}))});
  ASSERT_EQ(second.status, 201) << second;
  Strings statuses;
  for (const Json::Value& job : second.json["jobs"]) statuses.push_back(job["status"].asString());
  EXPECT_EQ(statuses, (Strings{"pending", "blocked", "cancelled"})) << "judged at once";

  const Reply again = flows_.addJobs(flow, {flows_.job("c", after({"b"})), flows_.job("a")});
  EXPECT_EQ(again.status, 200) << again;
  EXPECT_EQ(again.json["jobs"][0]["job_id"], jobId(second.json, "c"));
  EXPECT_EQ(again.json["jobs"][1]["job_id"], jobId(first.json, "a"));
  EXPECT_TRUE(isProblem(flows_.addJobs(flow, {flows_.job("c")}), 409, "name_taken"));
  const Reply unknown = flows_.addJobs(flow, {flows_.job("e", after({"nobody"}))});
  EXPECT_TRUE(isProblem(unknown, 422, "validation_failed"));
  EXPECT_EQ(pointers(unknown), (std::set<std::string>{"/jobs/0/after/0"}));
  EXPECT_EQ(unknown.json["errors"][0]["code"], "unknown_dependency");
  EXPECT_TRUE(isProblem(flows_.addJobs(flow, {}), 422, "validation_failed"));
  EXPECT_TRUE(isProblem(flows_.act("jobs", flow, "{}"), 422, "validation_failed"));

  flows_.runs("b");
  flows_.runs("c");
  EXPECT_EQ(flows_.shown(flow)["status"], "running") << "more may come";
  const Reply closed = flows_.act("close", flow);
  ASSERT_EQ(closed.status, 200) << closed;
  EXPECT_EQ(closed.json["closed"], true);
  EXPECT_EQ(flows_.ended(flow)["status"], "failed");
  EXPECT_EQ(flows_.act("close", flow).status, 200);
  EXPECT_TRUE(isProblem(flows_.addJobs(flow, {flows_.job("f")}), 409, "flow_closed"));
}

TEST_F(Flows, what_is_not_there_is_404) {
  for (const auto& [method, path, body] : std::vector<std::array<const char*, 3>>{
           {"GET", "", ""},
           {"GET", "?wait_seconds=1", ""},
           {"GET", "/jobs", ""},
           {"GET", "/edges", ""},
           {"POST", "/close", ""},
           {"POST", "/cancel", ""},
           {"POST", "/retry", ""},
           {"DELETE", "", ""},
           {"POST", "/jobs", R"({"jobs":[{"name":"a","pool_id":"p","data":1}]})"}}) {
    const Reply reply = http_.send({method, std::string("/v1/flows/none") + path, body});
    EXPECT_TRUE(isProblem(reply, 404, "not_found")) << method << path << reply;
    const Reply odd = http_.send({method, std::string("/v1/flows/no%20id") + path, body});
    EXPECT_TRUE(isProblem(odd, 422, "invalid_id")) << method << path << odd;
  }
  EXPECT_TRUE(isProblem(http_.get("/v1/jobs/none/upstream"), 404, "not_found"));
  EXPECT_TRUE(
      isProblem(http_.post("/v1/jobs/none/children",
                           R"({"lease_token":"x","jobs":[{"name":"a","pool_id":"p","data":1}]})"),
                404, "not_found"));
}

TEST_F(Flows, jobs_have_the_tenant_and_priority_of_the_flow_unless_they_say) {
  const Json::Value created =
      flows_.create({flows_.job("a"), flows_.job("b", R"("tenant":"other","priority":0)"),
                     flows_.job("c", after({"a"}))},
                    R"("tenant":"acme","priority":7)");
  EXPECT_EQ(created["flow"]["tenant"], "acme");
  EXPECT_EQ(created["flow"]["priority"], 7);
  for (const auto& [name, tenant, priority] :
       {std::tuple("a", "acme", 7), std::tuple("b", "other", 0), std::tuple("c", "acme", 7)}) {
    const Json::Value job = http_.get("/v1/jobs/" + jobId(created, name)).json;
    EXPECT_EQ(job["tenant"], tenant) << job;
    EXPECT_EQ(job["priority"], priority) << job;
  }
}

TEST_F(Flows, a_repeated_request_with_a_key_creates_one_flow) {
  const Headers key{{"Idempotency-Key", name("k")}};
  const Reply first = flows_.tryCreate({flows_.job("a")}, R"("name":"once")", key);
  const Reply second = flows_.tryCreate({flows_.job("a")}, R"("name":"once")", key);
  ASSERT_EQ(first.status, 201) << first;
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Flows, a_large_answer_is_written_again_for_its_key) {
  const Headers key{{"Idempotency-Key", name("k")}};
  Strings jobs;
  for (int i = 0; i < 1000; ++i) jobs.push_back(flows_.job("a-job-of-many-" + std::to_string(i)));
  const Reply first = flows_.tryCreate(jobs, "", key);
  ASSERT_EQ(first.status, 201) << first;
  ASSERT_GT(first.body.size(), 64U << 10) << "else it is kept as it is";
  const Reply second = flows_.tryCreate(jobs, "", key);
  EXPECT_EQ(second.status, 201) << second;
  EXPECT_EQ(second.json["flow"]["flow_id"], first.json["flow"]["flow_id"]);
  EXPECT_EQ(second.json["jobs"], first.json["jobs"]);
  EXPECT_EQ(second.header("idempotency-replayed"), "true");
}

TEST_F(Flows, jobs_carry_the_trace_of_the_request) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Headers traced{{"traceparent", trace}};
  const Reply reply =
      flows_.tryCreate({flows_.job("a"), flows_.job("b", after({"a"}))}, "", traced);
  ASSERT_EQ(reply.status, 201) << reply;
  const Json::Value job = http_.get("/v1/jobs/" + jobId(reply.json, "b")).json;
  EXPECT_EQ(job["traceparent"], trace) << job;
}

TEST_F(Flows, a_blocked_job_says_what_it_waits_for_and_stays_with_its_flow) {
  const Json::Value created = flows_.create({flows_.job("a"), flows_.job("b", after({"a"}))});
  const std::string blocked = jobId(created, "b");
  const Reply claim = pool_.tryClaim("w", R"("job_id":)" + inQuotes(blocked));
  EXPECT_TRUE(isProblem(claim, 409, "not_claimable"));
  EXPECT_EQ(claim.json["detail"], "the job waits for job a");
  EXPECT_TRUE(isProblem(http_.del("/v1/jobs/" + blocked), 409, "job_in_flow"));
  EXPECT_EQ(ids(pool_.list("status=blocked")), (Strings{blocked}));
  for (const char* verb : {"/purge", "/retry"}) {
    const Reply refused = http_.post(pool_.path(verb), R"({"status":["blocked"]})");
    EXPECT_TRUE(isProblem(refused, 422, "validation_failed")) << verb;
    EXPECT_EQ(pointers(refused), (std::set<std::string>{"/status"})) << verb;
  }
  const Reply full = http_.del(pool_.path());
  EXPECT_TRUE(isProblem(full, 409, "pool_not_empty")) << "also with blocked jobs alone";
  EXPECT_EQ(http_.del(pool_.path("?force=true")).status, 204);
  EXPECT_TRUE(isProblem(http_.get("/v1/jobs/" + blocked), 404));
}

}  // namespace
}  // namespace muster::test
