#include <algorithm>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Reaping : public ServiceFixture {
 protected:
  // Previews until `worker` counts as silent for longer than a moment.
  void awaitStale(const std::string& worker) {
    EXPECT_TRUE(eventually(kPatience, [this, &worker] {
      const Reply reply = http_.get(pool_.path("/reap?stale_threshold_seconds=0.05"));
      const Json::Value& reaped = reply.json["reaped_workers"];
      return std::find(reaped.begin(), reaped.end(), worker) != reaped.end();
    }));
  }
  Reply reap(const std::string& body = R"({"stale_threshold_seconds":0.05})") {
    return http_.post(pool_.path("/reap"), body);
  }
  const std::string w_ = name("w");
};

TEST_F(Reaping, a_preview_shows_who_and_changes_nothing) {
  pool_.registerWorker(w_);
  pool_.push();
  const Json::Value claimed = pool_.claimOne(w_);
  awaitStale(w_);
  const Reply preview = http_.get(pool_.path("/reap?stale_threshold_seconds=0.05"));
  EXPECT_EQ(preview.json["reaped_count"], 1) << preview;
  EXPECT_EQ(preview.json["total_jobs_released"], 1) << preview;
  EXPECT_EQ(pool_.worker(w_)["status"], "active");
  EXPECT_EQ(pool_.job(claimed)["status"], "claimed");
}

TEST_F(Reaping, a_stale_worker_is_lost_and_its_jobs_in_all_pools_are_released) {
  PoolClient other(service().url(), name("other"));
  other.configure(R"("retry":{"base_ms":0})");
  pool_.registerWorker(w_);
  pool_.push();
  other.push();
  const Json::Value here = pool_.claimOne(w_);
  const Json::Value there = other.claimOne(w_);
  awaitStale(w_);
  const Reply reaped = reap();
  ASSERT_EQ(reaped.status, 200) << reaped;
  EXPECT_EQ(reaped.json["reaped_workers"][0], w_);
  EXPECT_EQ(reaped.json["reaped_count"], 1);
  EXPECT_EQ(reaped.json["total_jobs_released"], 2);
  EXPECT_EQ(pool_.worker(w_)["status"], "lost");
  EXPECT_EQ(pool_.job(here)["status"], "pending");
  EXPECT_EQ(other.job(there)["status"], "pending");
  EXPECT_EQ(other.job(there)["attempts"], 1);
  EXPECT_EQ(other.job(there)["reason"], "worker_lost");
  EXPECT_EQ(pool_.lastEventType(here), "job.reassigned");
  EXPECT_EQ(pool_.events("types=worker.lost&worker_id=" + w_).size(), 1U);
  EXPECT_EQ(pool_.stats()["lost_workers"], 1);

  const Reply again = reap();
  EXPECT_EQ(again.json["reaped_count"], 0) << again;
  EXPECT_EQ(again.json["total_jobs_released"], 0);
  EXPECT_TRUE(again.json["reaped_workers"].isArray());
}

TEST_F(Reaping, a_lost_worker_is_never_revived_by_its_calls) {
  pool_.registerWorker(w_);
  awaitStale(w_);
  ASSERT_EQ(reap().json["reaped_count"], 1);
  EXPECT_TRUE(isProblem(pool_.heartbeat(w_), 410));
  EXPECT_TRUE(isProblem(pool_.tryClaim(w_), 410));
  EXPECT_TRUE(isProblem(http_.patch("/v1/workers/" + w_, R"({"metadata":{"a":1}})"), 410));
  EXPECT_EQ(pool_.worker(w_)["status"], "lost");
  EXPECT_EQ(pool_.registerWorker(w_)["status"], "active");
  EXPECT_EQ(pool_.heartbeat(w_).status, 200);
}

TEST_F(Reaping, a_job_at_its_last_try_is_poisoned) {
  pool_.registerWorker(w_);
  pool_.push(R"("data":1,"max_retries":1)");
  const Json::Value claimed = pool_.claimOne(w_);
  awaitStale(w_);
  ASSERT_EQ(reap().json["reaped_count"], 1);
  EXPECT_EQ(pool_.job(claimed)["status"], "poisoned");
  EXPECT_EQ(pool_.job(claimed)["reason"], "worker_lost");
}

TEST_F(Reaping, the_default_threshold_spares_a_fresh_worker) {
  pool_.registerWorker(w_);
  EXPECT_EQ(reap("").json["reaped_count"], 0);
  EXPECT_EQ(reap("{}").json["reaped_count"], 0);
  EXPECT_EQ(pool_.worker(w_)["status"], "active");
}

TEST_F(Reaping, a_threshold_that_would_mean_everybody_is_refused) {
  pool_.registerWorker(w_);
  for (const char* threshold : {"0", "-1", "0.0", "abc", "nan", "inf", "", "1e99", "-0"}) {
    EXPECT_TRUE(isProblem(http_.get(pool_.path("/reap?stale_threshold_seconds=") + threshold), 400))
        << threshold;
    EXPECT_TRUE(
        isProblem(http_.get(std::string("/v1/reap?stale_threshold_seconds=") + threshold), 400))
        << threshold;
    EXPECT_TRUE(
        isProblem(http_.get(std::string("/v1/workers?stale_threshold_seconds=") + threshold), 400))
        << threshold;
  }
  for (const char* threshold : {"0", "-1", "-0.0", "\"60\"", "[]", "1e99", "true"}) {
    const std::string body = std::string(R"({"stale_threshold_seconds":)") + threshold + "}";
    EXPECT_TRUE(isProblem(reap(body), 422)) << threshold;
    EXPECT_TRUE(isProblem(http_.post("/v1/reap", body), 422)) << threshold;
  }
  EXPECT_EQ(pool_.worker(w_)["status"], "active");
}

TEST_F(Reaping, one_pool_leaves_the_workers_of_others_alone) {
  PoolClient other(service().url(), name("other"));
  other.registerWorker(name("other"));
  pool_.registerWorker(w_);
  awaitStale(w_);
  ASSERT_EQ(reap().json["reaped_count"], 1);
  EXPECT_EQ(other.worker(name("other"))["status"], "active");
}

TEST_F(Reaping, all_pools_are_reaped_at_once) {
  PoolClient other(service().url(), name("other"));
  pool_.registerWorker(w_);
  other.registerWorker(name("w2"));
  EXPECT_EQ(http_.post("/v1/workers", R"({"worker_id":)" + inQuotes(name("poolless")) + "}").status,
            201);
  EXPECT_TRUE(eventually(kPatience, [this] {
    http_.post("/v1/reap", R"({"stale_threshold_seconds":0.05})");
    return pool_.worker(w_)["status"] == "lost" && pool_.worker(name("w2"))["status"] == "lost" &&
           pool_.worker(name("poolless"))["status"] == "lost";
  }));
}

TEST_F(Reaping, an_ended_worker_is_not_reaped) {
  pool_.registerWorker(w_);
  pool_.registerWorker(name("stale"));
  ASSERT_EQ(http_.patch("/v1/workers/" + w_, R"({"status":"terminated"})").status, 200);
  awaitStale(name("stale"));
  ASSERT_EQ(reap().json["reaped_count"], 1);
  EXPECT_EQ(pool_.worker(w_)["status"], "terminated");
}

TEST_F(Reaping, happens_on_the_tick_with_the_threshold_of_the_pool) {
  pool_.configure(R"("heartbeat_interval_seconds":1,"stale_threshold_seconds":1)");
  pool_.registerWorker(w_);
  EXPECT_TRUE(eventually(kPatience, [this] {
    pool_.tick();
    return pool_.worker(w_)["status"] == "lost";
  }));
}

}  // namespace
}  // namespace muster::test
