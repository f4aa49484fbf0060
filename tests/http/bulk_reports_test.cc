#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class BulkReports : public ServiceFixture {
 protected:
  static std::string item(const Json::Value& job, const std::string& outcome,
                          const std::string& fields = {}) {
    return R"({"job_id":)" + inQuotes(job["id"].asString()) + R"(,"lease_token":)" +
           inQuotes(job["lease_token"].asString()) + R"(,"outcome":)" + inQuotes(outcome) +
           (fields.empty() ? "" : ",") + fields + "}";
  }
  Reply send(const std::vector<std::string>& items, const std::string& more = {}) {
    std::string list;
    for (const std::string& one : items) list += (list.empty() ? "" : ",") + one;
    return http_.post(pool_.path("/reports"), R"({"items":[)" + list + "]" + more + "}");
  }
};

TEST_F(BulkReports, each_item_has_its_own_outcome) {
  pool_.configure(R"("retry":{"base_ms":0})");
  pool_.pushMany(5);
  const std::vector<Json::Value> jobs = pool_.claim("w", R"("max":5)");
  ASSERT_EQ(jobs.size(), 5U);
  ASSERT_EQ(pool_.act("cancel", jobs.at(4)).status, 200);
  const Reply reply = send({item(jobs.at(0), "done", R"("result":{"n":1234567890123456789})"),
                            item(jobs.at(1), "failed", R"("error":"x")"),
                            item(jobs.at(2), "failed", R"("retryable":false)"),
                            item(jobs.at(3), "released"), item(jobs.at(4), "cancelled")});
  ASSERT_EQ(reply.status, 200) << reply;
  std::vector<std::string> statuses;
  for (const Json::Value& one : reply.json["items"]) {
    statuses.push_back(one["status"].asString());
    EXPECT_FALSE(one.isMember("code")) << one;
  }
  EXPECT_EQ(statuses,
            (std::vector<std::string>{"done", "pending", "poisoned", "pending", "cancelled"}));
  EXPECT_TRUE(reply.json["claimed"].isArray());
  EXPECT_EQ(http_.get("/v1/jobs/" + jobs.at(0)["id"].asString()).raw("result"),
            R"({"n":1234567890123456789})");
  EXPECT_EQ(pool_.job(jobs.at(1))["attempts"], 1);
  EXPECT_EQ(pool_.job(jobs.at(3))["attempts"], 0);
}

TEST_F(BulkReports, a_refused_item_leaves_the_others_alone) {
  pool_.pushMany(2);
  const std::vector<Json::Value> jobs = pool_.claim("w", R"("max":2)");
  ASSERT_EQ(jobs.size(), 2U);
  Json::Value stale = jobs.at(0);
  stale["lease_token"] = "wrong";
  Json::Value unknown = jobs.at(0);
  unknown["id"] = "none";
  const Reply reply = send({item(stale, "done"), item(unknown, "done"), item(jobs.at(1), "done")});
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["items"][0]["code"], "lease_lost");
  EXPECT_EQ(reply.json["items"][0]["status"], "claimed");
  EXPECT_EQ(reply.json["items"][1]["status"], "unknown");
  EXPECT_TRUE(reply.json["items"][1].isMember("code"));
  EXPECT_EQ(reply.json["items"][2]["status"], "done");
  EXPECT_EQ(pool_.lastEventType(jobs.at(0)), "job.late_result_dropped");
}

TEST_F(BulkReports, a_job_of_another_pool_is_not_found_and_stays) {
  const std::string other = "/v1/pools/" + name("other");
  const std::string id = http_.post(other + "/jobs", R"({"data":1})").json["id"].asString();
  const Json::Value job = http_.post(other + "/claim", R"({"worker_id":"w"})").json["items"][0];
  for (const char* outcome : {"done", "failed", "released"}) {
    const Reply reply = send({item(job, outcome)});
    EXPECT_EQ(reply.json["items"][0]["code"], "not_found") << reply;
    EXPECT_EQ(reply.json["items"][0]["status"], "unknown") << reply;
  }
  EXPECT_EQ(http_.get("/v1/jobs/" + id).json["status"], "claimed");
}

TEST_F(BulkReports, reporting_the_same_again_answers_the_same) {
  pool_.push();
  const Json::Value job = pool_.claimOne();
  const Reply first = send({item(job, "done", R"("result":1)")});
  const Reply second = send({item(job, "done", R"("result":1)")});
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(send({item(job, "done", R"("result":2)")}).json["items"][0]["code"],
            "already_finished");
}

TEST_F(BulkReports, the_next_jobs_come_in_the_same_round_trip) {
  const std::vector<std::string> pushed = pool_.pushMany(4);
  const std::vector<Json::Value> jobs = pool_.claim("w", R"("max":2)");
  ASSERT_EQ(jobs.size(), 2U);
  const Reply reply = send({item(jobs.at(0), "done"), item(jobs.at(1), "done")},
                           R"(,"claim":{"worker_id":"w","max":10})");
  ASSERT_EQ(reply.status, 200) << reply;
  ASSERT_EQ(reply.json["claimed"].size(), 2U) << reply;
  EXPECT_EQ(reply.json["claimed"][0]["id"], pushed.at(2));
  EXPECT_FALSE(reply.json["claimed"][0]["lease_token"].asString().empty());
  EXPECT_TRUE(reply.json["worker_status"].isString());
}

TEST_F(BulkReports, a_finished_job_frees_its_tenants_place_for_the_claim_behind_it) {
  pool_.configure(R"("limits":{"per_tenant_concurrency":1})");
  for (int i = 0; i < 2; ++i) pool_.push(R"("data":1,"tenant":"t")");
  const Json::Value first = pool_.claimOne();
  const Reply reply = send({item(first, "done")}, R"(,"claim":{"worker_id":"w"})");
  EXPECT_EQ(reply.json["claimed"].size(), 1U) << reply;
}

TEST_F(BulkReports, the_claim_may_wait) {
  pool_.push();
  const Json::Value job = pool_.claimOne();
  PendingReply reply(service().url(), {"POST", pool_.path("/reports"),
                                       R"({"items":[)" + item(job, "done") +
                                           R"(],"claim":{"worker_id":"w","wait_seconds":25}})"});
  EXPECT_FALSE(reply.finished(150ms));
  EXPECT_EQ(pool_.job(job)["status"], "done") << "the reports do not wait for the claim";
  pool_.push();
  ASSERT_TRUE(reply.finished(kPatience));
  EXPECT_EQ(reply.reply().json["items"][0]["status"], "done");
  EXPECT_EQ(reply.reply().json["claimed"].size(), 1U) << reply.reply();
}

TEST_F(BulkReports, an_ended_worker_gets_410_but_an_empty_list_is_fine) {
  EXPECT_EQ(send({}).status, 200);
  pool_.registerWorker(name("w"));
  ASSERT_EQ(http_.patch("/v1/workers/" + name("w"), R"({"status":"terminated"})").status, 200);
  EXPECT_TRUE(isProblem(send({}, R"(,"claim":{"worker_id":)" + inQuotes(name("w")) + "}"), 410));
}

TEST_F(BulkReports, bad_items_are_all_named) {
  const Reply reply =
      send({R"({"job_id":"a","lease_token":"t","outcome":"won"})", R"({"job_id":"a b"})",
            R"({"job_id":"a","lease_token":"t","outcome":"done","colour":1})"});
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply), (std::set<std::string>{"/items/0/outcome", "/items/1/job_id",
                                                    "/items/1/outcome", "/items/2/colour"}));
}

TEST_F(BulkReports, at_most_1000_items) {
  const std::vector<std::string> items(1001,
                                       R"({"job_id":"a","lease_token":"t","outcome":"done"})");
  EXPECT_TRUE(isProblem(send(items), 422));
}

}  // namespace
}  // namespace muster::test
