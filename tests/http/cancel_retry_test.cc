#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Cancelling = ServiceFixture;
using Retrying = ServiceFixture;
using Deleting = ServiceFixture;

class LeaseExpiry : public ServiceFixture {
 protected:
  // Ticks until the claim of `job` has ended by itself.
  Json::Value awaitEndOfLease(const Json::Value& job) {
    Json::Value now;
    EXPECT_TRUE(eventually(kPatience, [this, &job, &now] {
      pool_.tick();
      now = pool_.job(job);
      return now["status"] != "claimed";
    }));
    return now;
  }
};

TEST_F(Cancelling, a_pending_job_is_cancelled_at_once) {
  const Json::Value job = pool_.push();
  const Reply reply = pool_.act("cancel", job, R"({"reason":"not needed"})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["status"], "cancelled");
  EXPECT_EQ(reply.json["reason"], "not needed");
  EXPECT_TRUE(reply.json["finished_at"].isString());
  EXPECT_TRUE(pool_.claim("w").empty());
  EXPECT_EQ(pool_.stats()["cancelled"], 1);
  EXPECT_EQ(pool_.eventTypes(job), (std::vector<std::string>{"job.created", "job.cancelled"}));
}

TEST_F(Cancelling, the_worker_of_a_claimed_job_is_told_and_acknowledges) {
  pool_.registerWorker(name("w"));
  pool_.push();
  const Json::Value claimed = pool_.claimOne(name("w"));
  const Reply asked = pool_.act("cancel", claimed);
  ASSERT_EQ(asked.status, 200) << asked;
  EXPECT_EQ(asked.json["status"], "claimed");
  EXPECT_EQ(asked.json["cancel_requested"], true);
  const Reply beat = pool_.heartbeat(name("w"));
  ASSERT_EQ(beat.json["commands"].size(), 1U) << beat;
  EXPECT_EQ(beat.json["commands"][0]["type"], "cancel");
  EXPECT_EQ(beat.json["commands"][0]["job_id"], claimed["id"]);
  const Reply acknowledged = pool_.report("fail", claimed, R"("cancelled":true)");
  ASSERT_EQ(acknowledged.status, 200) << acknowledged;
  EXPECT_EQ(acknowledged.json["status"], "cancelled");
  EXPECT_TRUE(pool_.heartbeat(name("w")).json["commands"].empty());
  EXPECT_EQ(pool_.lastEventType(claimed), "job.cancelled");
}

TEST_F(Cancelling, a_failure_after_the_request_cancels_instead_of_retrying) {
  pool_.configure(R"("retry":{"base_ms":0})");
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  ASSERT_EQ(pool_.act("cancel", claimed).status, 200);
  ASSERT_EQ(pool_.report("fail", claimed).status, 200);
  EXPECT_EQ(pool_.job(claimed)["status"], "cancelled");
}

TEST_F(Cancelling, a_finished_job_cannot_be_cancelled) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  ASSERT_EQ(pool_.report("complete", claimed).status, 200);
  EXPECT_TRUE(isProblem(pool_.act("cancel", claimed), 409, "already_finished"));
  EXPECT_EQ(pool_.job(claimed)["status"], "done");
}

TEST_F(Retrying, a_poisoned_job_starts_anew) {
  pool_.push(R"("data":1,"max_retries":1)");
  const Json::Value claimed = pool_.claimOne();
  ASSERT_EQ(pool_.report("fail", claimed).json["status"], "poisoned");
  const Reply retried = pool_.act("retry", claimed);
  ASSERT_EQ(retried.status, 200) << retried;
  EXPECT_EQ(retried.json["status"], "pending");
  EXPECT_EQ(retried.json["attempts"], 0);
  EXPECT_FALSE(retried.json.isMember("finished_at"));
  EXPECT_EQ(pool_.lastEventType(claimed), "job.retried");
  EXPECT_EQ(pool_.claimOne()["attempt"], 1);
}

TEST_F(Retrying, a_cancelled_job_starts_anew) {
  const Json::Value job = pool_.push();
  ASSERT_EQ(pool_.act("cancel", job).status, 200);
  EXPECT_EQ(pool_.act("retry", job).json["status"], "pending");
  EXPECT_EQ(pool_.claimOne()["id"], job["id"]);
}

TEST_F(Retrying, jobs_in_other_states_are_left_alone) {
  const Json::Value job = pool_.push();
  EXPECT_TRUE(isProblem(pool_.act("retry", job), 409));
  const Json::Value claimed = pool_.claimOne();
  EXPECT_TRUE(isProblem(pool_.act("retry", job), 409));
  ASSERT_EQ(pool_.report("complete", claimed).status, 200);
  EXPECT_TRUE(isProblem(pool_.act("retry", job), 409));
  EXPECT_EQ(pool_.job(job)["status"], "done");
}

TEST_F(Retrying, a_pool_retries_all_its_poisoned_jobs) {
  for (int i = 0; i < 3; ++i) {
    pool_.push(R"("data":1,"max_retries":0)");
    ASSERT_EQ(pool_.report("fail", pool_.claimOne()).json["status"], "poisoned");
  }
  ASSERT_EQ(pool_.act("cancel", pool_.push()).status, 200);
  EXPECT_EQ(http_.post(pool_.path("/retry")).json["count"], 3);
  EXPECT_EQ(http_.post(pool_.path("/retry")).json["count"], 0);
  EXPECT_EQ(pool_.stats()["queue_depth"], 3);
  EXPECT_EQ(pool_.stats()["cancelled"], 1);
}

TEST_F(Deleting, a_job_that_is_not_claimed_can_be_deleted) {
  const Json::Value job = pool_.push();
  const std::string path = "/v1/jobs/" + job["id"].asString();
  const Reply gone = http_.del(path);
  EXPECT_EQ(gone.status, 204) << gone;
  EXPECT_TRUE(gone.body.empty());
  EXPECT_TRUE(isProblem(http_.get(path), 404));
  EXPECT_TRUE(isProblem(http_.del(path), 404));
  EXPECT_EQ(pool_.stats()["queue_depth"], 0);
}

TEST_F(Deleting, a_claimed_job_stays) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  EXPECT_TRUE(isProblem(http_.del("/v1/jobs/" + claimed["id"].asString()), 409));
  EXPECT_EQ(pool_.report("complete", claimed).status, 200);
}

TEST_F(LeaseExpiry, the_job_is_pending_again_and_the_try_stays_counted) {
  pool_.configure(R"("lease_seconds":1,"retry":{"base_ms":0})");
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  const Json::Value now = awaitEndOfLease(claimed);
  EXPECT_EQ(now["status"], "pending");
  EXPECT_EQ(now["attempts"], 1);
  EXPECT_EQ(now["reason"], "lease_expired");
  EXPECT_EQ(now["crashes"], 1);
  EXPECT_EQ(pool_.lastEventType(claimed), "job.reassigned");

  const Json::Value second = pool_.claimOne("w2");
  EXPECT_EQ(second["attempt"], 2);
  EXPECT_TRUE(
      isProblem(pool_.report("complete", claimed, R"("result":"late")"), 409, "lease_lost"));
  EXPECT_EQ(pool_.lastEventType(claimed), "job.late_result_dropped");
  EXPECT_EQ(pool_.report("complete", second, R"("result":"in time")").json["result"], "in time");
  const Reply attempts = http_.get("/v1/jobs/" + claimed["id"].asString() + "/attempts");
  EXPECT_EQ(attempts.json["items"][0]["outcome"], "lease_expired") << attempts;
}

TEST_F(LeaseExpiry, a_job_that_kills_its_workers_is_poisoned_in_the_end) {
  pool_.configure(R"("lease_seconds":1,"retry":{"base_ms":0})");
  pool_.push(R"("data":1,"max_retries":1)");
  const Json::Value now = awaitEndOfLease(pool_.claimOne());
  EXPECT_EQ(now["status"], "poisoned");
  EXPECT_EQ(now["reason"], "lease_expired");
}

TEST_F(LeaseExpiry, a_job_that_was_to_be_cancelled_is_cancelled) {
  pool_.configure(R"("lease_seconds":1)");
  pool_.push();
  const Json::Value claimed = pool_.claimOne();
  ASSERT_EQ(pool_.act("cancel", claimed).status, 200);
  EXPECT_EQ(awaitEndOfLease(claimed)["status"], "cancelled");
}

TEST_F(LeaseExpiry, heartbeats_keep_the_lease) {
  pool_.registerWorker(name("w"));
  Json::Value kept, abandoned;
  // Unless this test itself stands still for a second, the first heartbeat comes in time.
  ASSERT_TRUE(eventually(kPatience, [&] {
    pool_.configure(R"("lease_seconds":1,"retry":{"base_ms":0})");
    pool_.pushMany(2);
    kept = pool_.claimOne(name("w"));
    abandoned = pool_.claimOne("nobody");
    pool_.configure(R"("lease_seconds":3600,"retry":{"base_ms":0})");
    return pool_.heartbeat(name("w")).json["leases"].size() == 1;
  }));
  EXPECT_EQ(awaitEndOfLease(abandoned)["status"], "pending");
  EXPECT_EQ(pool_.job(kept)["status"], "claimed") << "its lease was to end before the other's";
  EXPECT_EQ(pool_.report("complete", kept).status, 200);
}

TEST_F(LeaseExpiry, happens_by_itself_when_the_ticker_is_on) {
  Service own({.store = anyStore(), .ticker = true});
  PoolClient pool(own.url(), "p");
  pool.configure(R"("lease_seconds":1,"retry":{"base_ms":0})");
  pool.push();
  const Json::Value claimed = pool.claimOne();
  EXPECT_TRUE(eventually(kPatience,
                         [&pool, &claimed] { return pool.job(claimed)["status"] == "pending"; }));
}

}  // namespace
}  // namespace muster::test
