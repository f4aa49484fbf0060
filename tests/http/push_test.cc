#include <algorithm>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Push = ServiceFixture;

TEST_F(Push, a_pushed_job_is_pending_with_the_defaults_of_its_pool) {
  const Reply reply = pool_.tryPush(R"("data":{"n":1})");
  ASSERT_EQ(reply.status, 201) << reply;
  EXPECT_EQ(reply.json["status"], "pending");
  EXPECT_EQ(reply.json["pool_id"], pool_.name());
  EXPECT_EQ(reply.json["priority"], 0);
  EXPECT_EQ(reply.json["attempts"], 0);
  EXPECT_EQ(reply.json["max_retries"], 3);
  EXPECT_EQ(reply.json["cancel_requested"], false);
  EXPECT_EQ(reply.json["created_at"], reply.json["available_at"]);
  EXPECT_FALSE(reply.header("etag").empty());
  EXPECT_FALSE(reply.json.isMember("lease_token"));
  EXPECT_EQ(pool_.job(reply.json), reply.json);
}

TEST_F(Push, fields_without_a_value_are_absent_from_the_answer) {
  const Json::Value job = pool_.push();
  for (const char* name : {"tenant", "unique_key", "expires_at", "claimed_at", "finished_at",
                           "claimed_by", "lease_expires_at", "result", "error", "reason",
                           "progress", "placement", "affinity", "resource_refs", "traceparent"}) {
    EXPECT_FALSE(job.isMember(name)) << name;
  }
}

TEST_F(Push, null_in_a_request_means_absent) {
  const Json::Value job = pool_.push(
      R"("data":1,"priority":null,"max_retries":null,"delay_seconds":null,"available_at":null,)"
      R"("expires_at":null,"tenant":null,"unique_key":null,"placement":null,"affinity":null,)"
      R"("resource_refs":null)");
  EXPECT_EQ(job["priority"], 0);
  EXPECT_EQ(job["max_retries"], 3);
  EXPECT_FALSE(job.isMember("tenant"));
}

TEST_F(Push, everything_a_producer_says_comes_back) {
  const Json::Value job =
      pool_.push(R"("data":1,"priority":-7,"max_retries":9,"tenant":"acme","unique_key":"a/b c",)"
                 R"("expires_at":"2099-01-02T03:04:05Z","affinity":"session 5",)"
                 R"("placement":{"requires_executors":["python"],"forbidden_nodes":["n1"]},)"
                 R"("resource_refs":[{"resource_id":"r1","type":"model"}])");
  EXPECT_EQ(job["priority"], -7);
  EXPECT_EQ(job["max_retries"], 9);
  EXPECT_EQ(job["tenant"], "acme");
  EXPECT_EQ(job["unique_key"], "a/b c");
  EXPECT_EQ(job["expires_at"].asString().substr(0, 19), "2099-01-02T03:04:05");
  EXPECT_EQ(job["affinity"], "session 5");
  EXPECT_EQ(job["placement"]["requires_executors"][0], "python");
  EXPECT_EQ(job["placement"]["forbidden_nodes"][0], "n1");
  EXPECT_EQ(job["resource_refs"][0]["resource_id"], "r1");
  EXPECT_EQ(pool_.job(job), job);
}

TEST_F(Push, times_are_rfc_3339_in_utc) {
  const Json::Value job = pool_.push(R"("data":1,"available_at":"2031-05-06T09:00:00.250+02:00")");
  EXPECT_EQ(job["available_at"], "2031-05-06T07:00:00.250Z");
  std::string form = job["created_at"].asString();
  std::replace_if(
      form.begin(), form.end(), [](char c) { return c >= '0' && c <= '9'; }, '9');
  EXPECT_EQ(form, "9999-99-99T99:99:99.999Z");
}

TEST_F(Push, the_traceparent_of_the_push_reaches_the_worker) {
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  ASSERT_EQ(pool_.tryPush(R"("data":1)", {{"traceparent", trace}}).status, 201);
  EXPECT_EQ(pool_.claimOne()["traceparent"], trace);
}

TEST_F(Push, the_effect_key_stays_the_same_over_all_tries) {
  pool_.configure(R"("retry":{"base_ms":0})");
  const Json::Value pushed = pool_.push();
  const Json::Value first = pool_.claimOne();
  ASSERT_EQ(pool_.report("fail", first).status, 200);
  const Json::Value second = pool_.claimOne();
  EXPECT_EQ(first["effect_key"], pushed["effect_key"]);
  EXPECT_EQ(second["effect_key"], pushed["effect_key"]);
  EXPECT_NE(first["lease_token"], second["lease_token"]);
}

TEST_F(Push, data_is_required) {
  const Reply reply = pool_.tryPush(R"("priority":1)");
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply), std::set<std::string>{"/data"});
}

TEST_F(Push, all_bad_fields_are_reported_at_once) {
  const Reply reply =
      pool_.tryPush(R"("data":1,"priority":"high","max_retries":-1,"delay_seconds":-5,"tenant":"",)"
                    R"("unique_key":7,"expires_at":"tomorrow","bogus":1,)"
                    R"("placement":{"max_parallel_per_node":0,"colour":"red"},)"
                    R"("resource_refs":[{"resource_id":"ok"},{"resource_id":"not ok"}])");
  EXPECT_TRUE(isProblem(reply, 422));
  const std::set<std::string> expected = {"/priority",
                                          "/max_retries",
                                          "/delay_seconds",
                                          "/tenant",
                                          "/unique_key",
                                          "/expires_at",
                                          "/bogus",
                                          "/placement/max_parallel_per_node",
                                          "/placement/colour",
                                          "/resource_refs/1/resource_id"};
  EXPECT_EQ(pointers(reply), expected) << reply;
  EXPECT_EQ(pool_.stats()["queue_depth"], 0);
}

TEST_F(Push, pointers_escape_slash_and_tilde) {
  const Reply reply = pool_.tryPush(R"("data":1,"a/b~c":1)");
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply), std::set<std::string>{"/a~1b~0c"});
}

TEST_F(Push, numbers_outside_their_range_are_refused) {
  for (const char* fields :
       {R"("max_retries":1001)", R"("priority":2147483648)", R"("priority":1.5)",
        R"("delay_seconds":31536001)", R"("max_retries":1e40)", R"("delay_seconds":"1")"}) {
    EXPECT_TRUE(isProblem(pool_.tryPush(std::string(R"("data":1,)") + fields), 422)) << fields;
  }
}

TEST_F(Push, a_delay_and_a_time_exclude_each_other) {
  EXPECT_TRUE(isProblem(
      pool_.tryPush(R"("data":1,"delay_seconds":1,"available_at":"2031-01-01T00:00:00Z")"), 422));
}

TEST_F(Push, a_body_that_is_no_object_is_refused) {
  for (const char* body : {"1", "[]", "null", R"("text")"}) {
    EXPECT_TRUE(isProblem(http_.post(pool_.path("/jobs"), body), 422)) << body;
  }
}

TEST_F(Push, a_batch_answers_the_jobs_in_the_order_of_the_request) {
  const Reply reply = http_.post(
      pool_.path("/jobs/batch"),
      R"({"items":[{"data":"a"},{"data":"b","priority":5},{"data":"c","delay_seconds":60}]})");
  ASSERT_EQ(reply.status, 201) << reply;
  ASSERT_EQ(reply.json["items"].size(), 3U);
  EXPECT_EQ(reply.json["items"][0]["data"], "a");
  EXPECT_EQ(reply.json["items"][1]["priority"], 5);
  EXPECT_EQ(reply.json["items"][2]["data"], "c");
  EXPECT_EQ(pool_.stats()["queue_depth"], 3);
}

TEST_F(Push, a_fault_in_one_job_refuses_the_whole_batch) {
  const Reply reply = http_.post(
      pool_.path("/jobs/batch"),
      R"({"items":[{"data":1},{"data":2,"priority":"x"},{"priority":1},{"data":1,"nope":1}]})");
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply),
            (std::set<std::string>{"/items/1/priority", "/items/2/data", "/items/3/nope"}));
  EXPECT_EQ(pool_.stats()["queue_depth"], 0);
}

TEST_F(Push, a_batch_has_between_1_and_1000_jobs) {
  EXPECT_EQ(pool_.pushMany(1000).size(), 1000U);
  std::string items = R"({"data":0})";
  for (int i = 0; i < 1000; ++i) items += R"(,{"data":0})";
  EXPECT_TRUE(
      isProblem(http_.post(pool_.path("/jobs/batch"), R"({"items":[)" + items + "]}"), 422));
  EXPECT_TRUE(isProblem(http_.post(pool_.path("/jobs/batch"), R"({"items":[]})"), 422));
  EXPECT_TRUE(isProblem(http_.post(pool_.path("/jobs/batch"), "{}"), 422));
  EXPECT_EQ(pool_.stats()["queue_depth"], 1000);
}

TEST_F(Push, a_living_job_with_the_unique_key_is_answered_instead) {
  const Json::Value first = pool_.push(R"("data":1,"unique_key":"k")");
  const Reply again = pool_.tryPush(R"("data":2,"unique_key":"k")");
  EXPECT_EQ(again.status, 200) << again;
  EXPECT_EQ(again.json["id"], first["id"]);
  EXPECT_EQ(again.json["data"], 1);
  pool_.claimOne();
  const Reply while_claimed = pool_.tryPush(R"("data":3,"unique_key":"k")");
  EXPECT_EQ(while_claimed.status, 200) << while_claimed;
  EXPECT_EQ(while_claimed.json["id"], first["id"]);
  EXPECT_FALSE(while_claimed.json.isMember("lease_token"));
}

TEST_F(Push, a_unique_key_is_free_again_when_its_job_has_finished) {
  const Json::Value first = pool_.push(R"("data":1,"unique_key":"k")");
  ASSERT_EQ(pool_.report("complete", pool_.claimOne()).status, 200);
  EXPECT_NE(pool_.push(R"("data":1,"unique_key":"k")")["id"], first["id"]);
}

TEST_F(Push, a_unique_key_belongs_to_one_pool) {
  const Json::Value first = pool_.push(R"("data":1,"unique_key":"k")");
  PoolClient other(service().url(), name("other"));
  EXPECT_NE(other.push(R"("data":1,"unique_key":"k")")["id"], first["id"]);
}

TEST_F(Push, retrying_a_job_whose_unique_key_is_taken_makes_no_second_living_one) {
  const Json::Value first = pool_.push(R"("data":1,"unique_key":"k")");
  ASSERT_EQ(pool_.act("cancel", first).status, 200);
  const Json::Value second = pool_.push(R"("data":1,"unique_key":"k")");
  EXPECT_TRUE(isProblem(pool_.act("retry", first), 409));
  EXPECT_EQ(pool_.job(first)["status"], "cancelled");
  EXPECT_EQ(pool_.job(second)["status"], "pending");
}

TEST_F(Push, a_batch_may_repeat_a_unique_key) {
  const Reply reply =
      http_.post(pool_.path("/jobs/batch"),
                 R"({"items":[{"data":1,"unique_key":"k"},{"data":2,"unique_key":"k"}]})");
  ASSERT_EQ(reply.status, 201) << reply;
  EXPECT_EQ(reply.json["items"][0]["id"], reply.json["items"][1]["id"]);
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Push, without_auto_create_pools_a_push_to_an_unknown_pool_is_404) {
  Service strict({.store = anyStore(), .settings = "auto_create_pools: false\n"});
  PoolClient pool(strict.url(), "p");
  EXPECT_TRUE(isProblem(pool.tryPush(R"("data":1)"), 404));
  pool.configure("");
  EXPECT_EQ(pool.tryPush(R"("data":1)").status, 201);
}

TEST_F(Push, a_list_pages_from_the_newest_to_the_oldest) {
  std::vector<std::string> pushed = pool_.pushMany(7);
  std::reverse(pushed.begin(), pushed.end());
  std::vector<std::string> seen;
  std::string cursor;
  int pages = 0;
  do {
    const Reply page =
        http_.get(pool_.path("/jobs?limit=3") + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page;
    ASSERT_LE(page.json["items"].size(), 3U);
    for (const Json::Value& job : page.json["items"]) seen.push_back(job["id"].asString());
    cursor = page.json["next_cursor"].asString();
  } while (!cursor.empty() && ++pages < 10);
  EXPECT_EQ(seen, pushed);
}

TEST_F(Push, a_list_filters_by_status_tenant_and_creation) {
  const Json::Value first = pool_.push(R"("data":1,"tenant":"a")");
  const Json::Value second = pool_.push(R"("data":2,"tenant":"b")");
  ASSERT_EQ(pool_.act("cancel", first).status, 200);
  EXPECT_EQ(ids(pool_.list("status=cancelled")), std::vector{first["id"].asString()});
  EXPECT_EQ(ids(pool_.list("status=pending")), std::vector{second["id"].asString()});
  EXPECT_EQ(ids(pool_.list("tenant=b")), std::vector{second["id"].asString()});
  EXPECT_TRUE(pool_.list("status=pending&tenant=a").empty());
  EXPECT_TRUE(pool_.list("created_after=2099-01-01T00:00:00Z").empty());
  EXPECT_EQ(pool_.list("created_after=2001-01-01T00:00:00Z").size(), 2U);
}

TEST_F(Push, a_list_never_shows_a_lease_token) {
  pool_.push();
  pool_.claimOne();
  const Reply reply = http_.get(pool_.path("/jobs"));
  EXPECT_EQ(reply.body.find("\"lease_token\""), std::string::npos) << reply;
}

TEST_F(Push, the_jobs_of_a_pool_never_seen_are_an_empty_list) { EXPECT_TRUE(pool_.list().empty()); }

}  // namespace
}  // namespace muster::test
