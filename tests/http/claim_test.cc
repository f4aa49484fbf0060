#include <fmt/chrono.h>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Claim = ServiceFixture;

std::string timeFromNow(std::chrono::milliseconds distance) {
  const auto then = std::chrono::system_clock::now() + distance;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(then);
  const auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(then.time_since_epoch()) % 1s;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", parts, millis.count());
}

TEST_F(Claim, a_claim_gives_the_job_its_lease_and_its_attempt) {
  const Json::Value pushed = pool_.push(R"("data":{"n":1})");
  const Reply reply = pool_.tryClaim(name("w"));
  ASSERT_EQ(reply.status, 200) << reply;
  ASSERT_EQ(reply.json["items"].size(), 1U) << reply;
  const Json::Value& job = reply.json["items"][0];
  EXPECT_EQ(job["id"], pushed["id"]);
  EXPECT_EQ(job["status"], "claimed");
  EXPECT_EQ(job["claimed_by"], name("w"));
  EXPECT_EQ(job["attempt"], 1);
  EXPECT_EQ(job["attempts"], 1);
  EXPECT_FALSE(job["lease_token"].asString().empty());
  EXPECT_GT(job["lease_expires_at"].asString(), job["claimed_at"].asString());
  EXPECT_TRUE(reply.json["worker_status"].isString());
}

TEST_F(Claim, the_lease_token_is_only_ever_shown_to_the_claimer) {
  const Json::Value pushed = pool_.push();
  const std::string token = pool_.claimOne()["lease_token"].asString();
  for (const std::string& path :
       {"/v1/jobs/" + pushed["id"].asString(), "/v1/events?job_id=" + pushed["id"].asString(),
        "/v1/jobs/" + pushed["id"].asString() + "/attempts"}) {
    EXPECT_EQ(http_.get(path).body.find(token), std::string::npos) << path;
  }
}

TEST_F(Claim, a_thousand_pushes_come_out_in_order) {
  std::vector<std::string> pushed = pool_.pushMany(500);
  for (int i = 0; i < 20; ++i) pushed.push_back(pool_.push()["id"].asString());
  const std::vector<std::string> more = pool_.pushMany(480);
  pushed.insert(pushed.end(), more.begin(), more.end());
  std::vector<std::string> claimed = ids(pool_.claim("w", R"("max":333)"));
  while (claimed.size() < pushed.size()) {
    const std::vector<std::string> next = ids(pool_.claim("w", R"("max":100)"));
    ASSERT_FALSE(next.empty());
    claimed.insert(claimed.end(), next.begin(), next.end());
  }
  EXPECT_EQ(claimed, pushed);
}

TEST_F(Claim, higher_priority_comes_first_and_equals_in_order_of_creation) {
  for (const int priority : {0, 5, -3, 5, 2147483647, -2147483647, 0}) {
    pool_.push(R"("data":1,"priority":)" + std::to_string(priority));
  }
  std::vector<int> priorities;
  for (const Json::Value& job : pool_.claim("w", R"("max":10)")) {
    priorities.push_back(job["priority"].asInt());
  }
  EXPECT_EQ(priorities, (std::vector{2147483647, 5, 5, 0, 0, -3, -2147483647}));
}

TEST_F(Claim, a_failed_job_keeps_its_place) {
  pool_.configure(R"("retry":{"base_ms":0})");
  const std::vector<std::string> pushed = pool_.pushMany(3);
  ASSERT_EQ(pool_.report("fail", pool_.claimOne()).status, 200);
  EXPECT_EQ(ids(pool_.claim("w", R"("max":3)")), pushed);
}

TEST_F(Claim, a_batch_claim_gives_at_most_max) {
  pool_.pushMany(5);
  EXPECT_EQ(pool_.claim("w", R"("max":3)").size(), 3U);
  EXPECT_EQ(pool_.claim("w", R"("max":1000)").size(), 2U);
  EXPECT_TRUE(isProblem(pool_.tryClaim("w", R"("max":1001)"), 422));
  EXPECT_TRUE(isProblem(pool_.tryClaim("w", R"("max":0)"), 422));
}

TEST_F(Claim, a_pool_never_seen_has_no_work) {
  EXPECT_TRUE(pool_.claim("w").empty());
  EXPECT_TRUE(isProblem(http_.get(pool_.path()), 404)) << "a claim creates no pool";
}

TEST_F(Claim, bad_fields_are_all_named) {
  const Reply reply = http_.post(pool_.path("/claim"),
                                 R"({"worker_id":"a b","max":"x","wait_seconds":31,"job":1})");
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply),
            (std::set<std::string>{"/worker_id", "/max", "/wait_seconds", "/job"}));
  EXPECT_EQ(pointers(http_.post(pool_.path("/claim"), "{}")), std::set<std::string>{"/worker_id"});
}

TEST_F(Claim, a_job_can_be_claimed_by_its_id) {
  const std::vector<std::string> pushed = pool_.pushMany(3);
  const std::vector<Json::Value> claimed =
      pool_.claim("w", R"("job_id":)" + inQuotes(pushed.at(1)));
  EXPECT_EQ(ids(claimed), std::vector{pushed.at(1)});
  EXPECT_TRUE(isProblem(pool_.tryClaim("w2", R"("job_id":)" + inQuotes(pushed.at(1))), 409,
                        "not_claimable"));
  EXPECT_TRUE(isProblem(pool_.tryClaim("w2", R"("job_id":"none")"), 404));
}

TEST_F(Claim, a_job_of_another_pool_cannot_be_claimed_by_its_id) {
  PoolClient other(service().url(), name("other"));
  const Json::Value job = other.push();
  const Reply reply = pool_.tryClaim("w", R"("job_id":)" + inQuotes(job["id"].asString()));
  EXPECT_GE(reply.status, 404) << reply;
  EXPECT_EQ(other.job(job)["status"], "pending");
}

TEST_F(Claim, a_delayed_job_waits_for_its_time) {
  pool_.push(R"("data":1,"delay_seconds":3600)");
  EXPECT_TRUE(pool_.claim("w").empty());
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
  EXPECT_EQ(pool_.stats()["delayed"], 1);
  EXPECT_EQ(pool_.stats()["runnable"], 0);
  const Json::Value delayed = pool_.push(R"("data":1,"delay_seconds":0.3)");
  EXPECT_GT(delayed["available_at"].asString(), delayed["created_at"].asString());
  std::vector<Json::Value> claimed;
  EXPECT_TRUE(eventually(kPatience, [this, &claimed] {
    pool_.tick();
    claimed = pool_.claim("w");
    return !claimed.empty();
  }));
  EXPECT_EQ(ids(claimed), std::vector{delayed["id"].asString()});
  EXPECT_GE(claimed.at(0)["claimed_at"].asString(), delayed["available_at"].asString());
}

TEST_F(Claim, a_head_of_delayed_jobs_hides_nothing) {
  for (int i = 0; i < 50; ++i) pool_.push(R"("data":1,"priority":9,"delay_seconds":3600)");
  const Json::Value due = pool_.push();
  EXPECT_EQ(pool_.claimOne()["id"], due["id"]);
}

// Pushes a job that expires soon. It is refused when that time is over before it arrives.
Json::Value pushExpiring(PoolClient& pool) {
  Reply pushed;
  EXPECT_TRUE(eventually(kPatience, [&] {
    pushed = pool.tryPush(R"("data":1,"expires_at":)" + inQuotes(timeFromNow(500ms)));
    return pushed.status != 422;
  }));
  EXPECT_EQ(pushed.status, 201) << pushed;
  return pushed.json;
}

TEST_F(Claim, an_expired_job_is_cancelled_and_never_claimed) {
  const Json::Value job = pushExpiring(pool_);
  ASSERT_EQ(http_.post(pool_.path("/pause")).status, 200);
  Json::Value now;
  EXPECT_TRUE(eventually(kPatience, [this, &job, &now] {
    pool_.tick();
    now = pool_.job(job);
    return now["status"] != "pending";
  }));
  EXPECT_EQ(now["status"], "cancelled");
  EXPECT_EQ(now["reason"], "expired");
  EXPECT_EQ(pool_.eventTypes(job), (std::vector<std::string>{"job.created", "job.expired"}));
}

TEST_F(Claim, an_expired_job_is_not_claimed_before_the_tick_either) {
  const std::string end = pushExpiring(pool_)["expires_at"].asString();
  PoolClient clock(service().url(), name("clock"));
  ASSERT_TRUE(eventually(kPatience,
                         [&clock, &end] { return clock.push()["created_at"].asString() > end; }));
  EXPECT_TRUE(pool_.claim("w").empty());
}

TEST_F(Claim, a_job_that_has_started_does_not_expire) {
  const Json::Value job = pool_.push(R"("data":1,"expires_at":"2099-01-01T00:00:00Z")");
  const Json::Value claimed = pool_.claimOne();
  pool_.tick();
  EXPECT_EQ(pool_.job(job)["status"], "claimed");
  EXPECT_EQ(pool_.report("complete", claimed).status, 200);
}

TEST_F(Claim, a_paused_pool_hands_out_nothing) {
  pool_.push();
  const Reply paused = http_.post(pool_.path("/pause"));
  ASSERT_EQ(paused.status, 200) << paused;
  EXPECT_EQ(paused.json["paused"], true);
  EXPECT_TRUE(pool_.claim("w").empty());
  EXPECT_EQ(pool_.stats()["runnable"], 0);
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
  EXPECT_EQ(pool_.tryPush(R"("data":2)").status, 201);
  EXPECT_EQ(http_.post(pool_.path("/pause")).status, 200);
  ASSERT_EQ(http_.post(pool_.path("/resume")).json["paused"], false);
  EXPECT_EQ(pool_.claim("w", R"("max":5)").size(), 2U);
}

TEST_F(Claim, an_unregistered_worker_may_claim_unless_workers_are_strict) {
  Service strict({.store = anyStore(), .settings = "strict_workers: true\n"});
  PoolClient pool(strict.url(), "p");
  pool.push();
  EXPECT_TRUE(isProblem(pool.tryClaim("stranger"), 404, "worker_unknown"));
  pool.registerWorker("known");
  EXPECT_EQ(pool.claim("known").size(), 1U);
}

class LongPoll : public ServiceFixture {
 protected:
  Request waitingClaim(double seconds) const {
    return {"POST", pool_.path("/claim"),
            R"({"worker_id":"w","wait_seconds":)" + std::to_string(seconds) + "}"};
  }
};

TEST_F(LongPoll, wakes_on_a_push) {
  PendingReply claim(service().url(), waitingClaim(25));
  EXPECT_FALSE(claim.finished(150ms));
  const Json::Value job = pool_.push();
  ASSERT_TRUE(claim.finished(kPatience));
  ASSERT_EQ(claim.reply().json["items"].size(), 1U)
      << "the push did not wake the claim: " << claim.reply();
  EXPECT_EQ(claim.reply().json["items"][0]["id"], job["id"]);
}

TEST_F(LongPoll, times_out_empty) {
  const auto began = std::chrono::steady_clock::now();
  PendingReply claim(service().url(), waitingClaim(0.3));
  ASSERT_TRUE(claim.finished(kPatience));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 290ms) << "but for what rounding takes";
  EXPECT_EQ(claim.reply().status, 200) << claim.reply();
  EXPECT_TRUE(claim.reply().json["items"].isArray());
  EXPECT_TRUE(claim.reply().json["items"].empty());
}

TEST_F(LongPoll, one_job_wakes_one_of_many) {
  PendingReply first(service().url(), waitingClaim(30));
  PendingReply second(service().url(), waitingClaim(30));
  EXPECT_FALSE(first.finished(100ms) || second.finished(100ms));
  const Json::Value one = pool_.push();
  ASSERT_TRUE(eventually(kPatience, [&] { return first.finished(10ms) || second.finished(10ms); }));
  EXPECT_FALSE(first.finished(100ms) && second.finished(100ms)) << "the other waits on";
  const Json::Value other = pool_.push();
  ASSERT_TRUE(first.finished(kPatience) && second.finished(kPatience));
  std::set<std::string> claimed;
  for (const PendingReply* claim : {&first, &second}) {
    ASSERT_EQ(claim->reply().json["items"].size(), 1U) << claim->reply();
    claimed.insert(claim->reply().json["items"][0]["id"].asString());
  }
  EXPECT_EQ(claimed, (std::set{one["id"].asString(), other["id"].asString()}));
}

TEST_F(LongPoll, wakes_when_a_delayed_job_becomes_due) {
  Service own({.store = anyStore(), .ticker = true});
  PoolClient pool(own.url(), "p");
  pool.push(R"("data":1,"delay_seconds":0.4)");
  PendingReply claim(own.url(),
                     {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","wait_seconds":30})"});
  ASSERT_TRUE(claim.finished(kPatience));
  EXPECT_EQ(claim.reply().json["items"].size(), 1U) << claim.reply();
}

TEST_F(LongPoll, wakes_when_a_job_is_released_or_its_pool_resumed) {
  pool_.push();
  const Json::Value claimed = pool_.claimOne("other");
  PendingReply first(service().url(), waitingClaim(25));
  EXPECT_FALSE(first.finished(100ms));
  ASSERT_EQ(pool_.report("release", claimed).status, 200);
  ASSERT_TRUE(first.finished(kPatience));
  EXPECT_EQ(first.reply().json["items"].size(), 1U) << first.reply();

  ASSERT_EQ(http_.post(pool_.path("/pause")).status, 200);
  pool_.push();
  PendingReply second(service().url(), waitingClaim(25));
  EXPECT_FALSE(second.finished(100ms));
  ASSERT_EQ(http_.post(pool_.path("/resume")).status, 200);
  ASSERT_TRUE(second.finished(kPatience));
  EXPECT_EQ(second.reply().json["items"].size(), 1U) << second.reply();
}

TEST_F(LongPoll, a_claimer_that_hung_up_gets_no_job) {
  // One thread, which has noticed when it answers whoever asks next.
  Service own({.store = anyStore(), .settings = "threads: 1\n"});
  PoolClient pool(own.url(), "p");
  {
    PendingReply gone(own.url(),
                      {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","wait_seconds":30})"});
    EXPECT_FALSE(gone.finished(150ms));
  }
  pool.stats();
  pool.push();
  EXPECT_EQ(pool.claim("w2").size(), 1U) << "the job went to a connection that is closed";
}

TEST_F(LongPoll, waiting_for_a_job_ends_when_it_finishes) {
  const Json::Value job = pool_.push();
  PendingReply wait(service().url(),
                    {"GET", "/v1/jobs/" + job["id"].asString() + "?wait_seconds=25"});
  EXPECT_FALSE(wait.finished(150ms));
  ASSERT_EQ(pool_.report("complete", pool_.claimOne(), R"("result":7)").status, 200);
  ASSERT_TRUE(wait.finished(kPatience));
  EXPECT_EQ(wait.reply().json["status"], "done");
  EXPECT_EQ(wait.reply().json["result"], 7);
}

TEST_F(LongPoll, waiting_for_a_job_that_does_not_finish_answers_it_as_it_is) {
  const Json::Value job = pool_.push();
  const Reply reply = http_.get("/v1/jobs/" + job["id"].asString() + "?wait_seconds=0.2");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json["status"], "pending");
}

}  // namespace
}  // namespace muster::test
