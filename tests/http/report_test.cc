#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Completing = ServiceFixture;
using Failing = ServiceFixture;
using Lease = ServiceFixture;

const std::string kWrongToken = R"({"lease_token":"wrong"})";

TEST_F(Completing, a_completed_job_is_done_and_keeps_its_result) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const Reply done = pool_.report("complete", claimed, R"("result":{"pages":12})");
  ASSERT_EQ(done.status, 200) << done;
  EXPECT_EQ(done.json["status"], "done");
  EXPECT_EQ(done.json["result"]["pages"], 12);
  EXPECT_TRUE(done.json["finished_at"].isString());
  EXPECT_FALSE(done.json.isMember("lease_expires_at"));
  EXPECT_EQ(pool_.job(claimed), done.json);
  EXPECT_EQ(pool_.stats()["done"], 1);
}

TEST_F(Completing, completing_twice_with_the_same_token_answers_the_same) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const Reply first = pool_.report("complete", claimed, R"("result":1)");
  const Reply second = pool_.report("complete", claimed, R"("result":1)");
  ASSERT_EQ(first.status, 200) << first;
  EXPECT_EQ(second.status, 200) << second;
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(pool_.eventTypes(claimed),
            (std::vector<std::string>{"job.created", "job.claimed", "job.completed"}));
}

TEST_F(Completing, completing_again_with_another_result_is_already_finished) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  ASSERT_EQ(pool_.report("complete", claimed, R"("result":1)").status, 200);
  EXPECT_TRUE(
      isProblem(pool_.report("complete", claimed, R"("result":2)"), 409, "already_finished"));
  EXPECT_TRUE(isProblem(pool_.report("complete", claimed), 409, "already_finished"));
  EXPECT_EQ(pool_.job(claimed)["result"], 1);
}

TEST_F(Completing, another_token_is_lease_lost_and_leaves_an_event) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  EXPECT_TRUE(isProblem(pool_.act("complete", claimed, kWrongToken), 409, "lease_lost"));
  EXPECT_EQ(pool_.job(claimed)["status"], "claimed");
  ASSERT_EQ(pool_.report("complete", claimed).status, 200);
  EXPECT_TRUE(isProblem(pool_.act("complete", claimed, kWrongToken), 409, "lease_lost"));
  EXPECT_EQ(pool_.eventTypes(claimed),
            (std::vector<std::string>{"job.created", "job.claimed", "job.late_result_dropped",
                                      "job.completed", "job.late_result_dropped"}));
}

TEST_F(Completing, without_a_token_it_counts_only_while_the_job_is_claimed) {
  const Json::Value job = pool_.push();
  EXPECT_TRUE(isProblem(pool_.act("complete", job), 409, "not_claimed"));
  pool_.claimOne("holder");
  EXPECT_EQ(pool_.act("complete", job).status, 200);
  EXPECT_EQ(pool_.job(job)["status"], "done");
  EXPECT_EQ(pool_.act("complete", job, R"({"result":1})").status, 409);
}

TEST_F(Completing, without_a_token_a_named_worker_must_be_the_holder) {
  const Json::Value job = pool_.push();
  pool_.claimOne("holder");
  EXPECT_TRUE(isProblem(pool_.act("complete", job, R"({"worker_id":"thief"})"), 409, "lease_lost"));
  EXPECT_EQ(pool_.act("complete", job, R"({"worker_id":"holder"})").status, 200);
}

TEST_F(Completing, a_job_that_does_not_exist_is_404) {
  for (const char* verb : {"complete", "fail", "release", "cancel", "retry"}) {
    EXPECT_TRUE(isProblem(http_.post(std::string("/v1/jobs/none/") + verb), 404)) << verb;
  }
  for (const char* verb : {"renew", "progress"}) {
    EXPECT_TRUE(
        isProblem(http_.post(std::string("/v1/jobs/none/") + verb, R"({"lease_token":"t"})"),
                  verb == std::string("renew") ? 404 : 422))
        << verb;
  }
}

TEST_F(Completing, counts_for_its_worker) {
  pool_.configure(R"("retry":{"base_ms":0})");
  pool_.registerWorker(name("w"));
  pool_.pushMany(2);
  ASSERT_EQ(pool_.report("complete", pool_.claimOne(name("w"))).status, 200);
  ASSERT_EQ(pool_.report("fail", pool_.claimOne(name("w"))).status, 200);
  EXPECT_EQ(pool_.worker(name("w"))["jobs_done"], 1);
  EXPECT_EQ(pool_.worker(name("w"))["jobs_failed"], 1);
}

TEST_F(Failing, a_failed_job_waits_for_its_back_off) {
  pool_.configure(R"("retry":{"base_ms":60000,"jitter":0})");
  pool_.push();
  const Reply failed = pool_.report("fail", pool_.claimOne(), R"("error":"no network")");
  ASSERT_EQ(failed.status, 200) << failed;
  EXPECT_EQ(failed.json["status"], "pending");
  EXPECT_EQ(failed.json["attempts"], 1);
  EXPECT_EQ(failed.json["error"], "no network");
  EXPECT_FALSE(failed.json.isMember("claimed_by"));
  EXPECT_GT(failed.json["available_at"].asString(), failed.json["claimed_at"].asString());
  EXPECT_TRUE(pool_.claim("w").empty());
}

TEST_F(Failing, max_retries_is_the_number_of_tries_in_all) {
  pool_.configure(R"("retry":{"base_ms":0})");
  for (const int tries : {1, 2, 3}) {
    const Json::Value job = pool_.push(R"("data":1,"max_retries":)" + std::to_string(tries));
    for (int i = 1; i <= tries; ++i) {
      const Json::Value claimed = pool_.claimOne();
      EXPECT_EQ(claimed["attempt"], i);
      const Reply failed = pool_.report("fail", claimed);
      EXPECT_EQ(failed.json["status"], i < tries ? "pending" : "poisoned") << i << " of " << tries;
    }
    EXPECT_TRUE(pool_.claim("w").empty());
    EXPECT_EQ(pool_.lastEventType(job), "job.poisoned");
  }
}

TEST_F(Failing, max_retries_0_poisons_at_the_first_failure) {
  pool_.push(R"("data":1,"max_retries":0)");
  const Reply failed = pool_.report("fail", pool_.claimOne());
  EXPECT_EQ(failed.json["status"], "poisoned") << failed;
  EXPECT_TRUE(failed.json["finished_at"].isString());
}

TEST_F(Failing, a_failure_that_is_not_retryable_poisons_at_once) {
  pool_.push(R"("data":1,"max_retries":10)");
  const Reply failed = pool_.report("fail", pool_.claimOne(), R"("retryable":false)");
  EXPECT_EQ(failed.json["status"], "poisoned") << failed;
  EXPECT_EQ(pool_.stats()["poisoned"], 1);
}

TEST_F(Failing, without_penalty_the_try_is_given_back) {
  pool_.push(R"("data":1,"max_retries":1)");
  const Reply failed =
      pool_.report("fail", pool_.claimOne(), R"("retry_after_seconds":60,"no_penalty":true)");
  ASSERT_EQ(failed.status, 200) << failed;
  EXPECT_EQ(failed.json["status"], "pending");
  EXPECT_EQ(failed.json["attempts"], 0);
  EXPECT_TRUE(pool_.claim("w").empty());
}

TEST_F(Failing, the_created_time_stays) {
  pool_.configure(R"("retry":{"base_ms":0})");
  const Json::Value job = pool_.push();
  EXPECT_EQ(pool_.report("fail", pool_.claimOne()).json["created_at"], job["created_at"]);
}

TEST_F(Failing, another_token_is_lease_lost) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  EXPECT_TRUE(isProblem(pool_.act("fail", claimed, kWrongToken), 409, "lease_lost"));
  EXPECT_EQ(pool_.job(claimed)["status"], "claimed");
  ASSERT_EQ(pool_.report("complete", claimed).status, 200);
  EXPECT_EQ(pool_.report("fail", claimed).status, 409);
  EXPECT_EQ(pool_.job(claimed)["status"], "done");
}

TEST_F(Failing, attempts_tell_what_happened_in_each_try) {
  pool_.configure(R"("retry":{"base_ms":0})");
  const Json::Value job = pool_.push();
  ASSERT_EQ(pool_
                .report("fail", pool_.claimOne("w1"),
                        R"("error":"boom","exit_code":3,"output_tail":"last\nwords",)"
                        R"("max_rss_bytes":4096)")
                .status,
            200);
  ASSERT_EQ(pool_.report("fail", pool_.claimOne("w2"), R"("exit_signal":9)").status, 200);
  pool_.claimOne("w3");
  const Reply reply = http_.get("/v1/jobs/" + job["id"].asString() + "/attempts");
  ASSERT_EQ(reply.json["items"].size(), 3U) << reply;
  const Json::Value& items = reply.json["items"];
  EXPECT_EQ(items[0]["attempt"], 1);
  EXPECT_EQ(items[0]["worker_id"], "w1");
  EXPECT_EQ(items[0]["outcome"], "failed");
  EXPECT_EQ(items[0]["error"], "boom");
  EXPECT_EQ(items[0]["exit_code"], 3);
  EXPECT_EQ(items[0]["output_tail"], "last\nwords");
  EXPECT_EQ(items[0]["max_rss_bytes"], 4096);
  EXPECT_TRUE(items[0]["ended_at"].isString());
  EXPECT_EQ(items[1]["exit_signal"], 9);
  EXPECT_EQ(items[2]["attempt"], 3);
  EXPECT_EQ(items[2]["outcome"], "running");
  EXPECT_FALSE(items[2].isMember("ended_at"));
}

TEST_F(Lease, renewing_moves_its_end) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const Reply renewed = pool_.report("renew", claimed, R"("extend_seconds":3600)");
  ASSERT_EQ(renewed.status, 200) << renewed;
  EXPECT_GT(renewed.json["lease_expires_at"].asString(), claimed["lease_expires_at"].asString());
  EXPECT_TRUE(isProblem(pool_.act("renew", claimed, kWrongToken), 409, "lease_lost"));
  EXPECT_TRUE(isProblem(pool_.act("renew", claimed, "{}"), 422));
  EXPECT_TRUE(isProblem(pool_.report("renew", claimed, R"("extend_seconds":0)"), 422));
}

TEST_F(Lease, a_released_job_is_pending_and_the_try_is_given_back) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const Reply released = pool_.report("release", claimed);
  ASSERT_EQ(released.status, 200) << released;
  EXPECT_EQ(released.json["status"], "pending");
  EXPECT_EQ(released.json["attempts"], 0);
  EXPECT_TRUE(isProblem(pool_.report("complete", claimed), 409, "lease_lost"));
  EXPECT_EQ(pool_.claimOne()["attempt"], 1);
  EXPECT_EQ(pool_.eventTypes(claimed).at(2), "job.released");
}

TEST_F(Lease, progress_shows_on_the_job) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const Reply reply = pool_.report("progress", claimed, R"("progress":0.5,"message":"half")");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_DOUBLE_EQ(pool_.job(claimed)["progress"].asDouble(), 0.5);
  EXPECT_EQ(pool_.job(claimed)["progress_message"], "half");
  EXPECT_EQ(pool_.lastEventType(claimed), "job.progress");
  EXPECT_TRUE(isProblem(pool_.report("progress", claimed, R"("progress":1.01)"), 422));
  EXPECT_TRUE(isProblem(pool_.act("progress", claimed, R"({"lease_token":"x","progress":1})"), 409,
                        "lease_lost"));
}

TEST_F(Lease, a_lease_past_its_end_cannot_be_renewed) {
  pool_.configure(R"("lease_seconds":1)");
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const std::string end = claimed["lease_expires_at"].asString();
  PoolClient clock(service().url(), name("clock"));
  ASSERT_TRUE(eventually(kPatience,
                         [&clock, &end] { return clock.push()["created_at"].asString() > end; }));
  EXPECT_TRUE(isProblem(pool_.report("renew", claimed), 409, "lease_lost"));
}

}  // namespace
}  // namespace muster::test
