#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Timelines : public ServiceFixture {
 protected:
  Json::Value timeline(const std::string& query = {}) {
    const Reply reply = http_.get(pool_.path("/timeline") + query);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json;
  }
  static Json::Int64 sum(const Json::Value& timeline, const char* name) {
    Json::Int64 total = 0;
    for (const Json::Value& item : timeline["items"]) total += item[name].asInt64();
    return total;
  }
};

TEST_F(Timelines, the_last_hour_in_sixty_pieces_unless_told_otherwise) {
  pool_.configure("");
  const Json::Value usual = timeline();
  EXPECT_EQ(usual["pool_id"], pool_.name());
  EXPECT_EQ(usual["bucket_seconds"], 60);
  EXPECT_EQ(usual["items"].size(), 60U);
  EXPECT_EQ(usual["from"], usual["items"][0]["at"]);
  const Json::Value few = timeline("?buckets=7");
  EXPECT_LE(few["items"].size(), 7U);
  EXPECT_EQ(few["bucket_seconds"].asInt64() % 10, 0);
  const Json::Value past =
      timeline("?from=2020-01-15T08:00:00Z&to=2020-01-15T09:00:00%2B00:00&buckets=2");
  EXPECT_EQ(past["from"], "2020-01-15T08:00:00.000Z");
  EXPECT_EQ(past["to"], "2020-01-15T09:00:00.000Z");
  EXPECT_EQ(past["items"].size(), 2U);
  EXPECT_EQ(past["items"][1]["at"], "2020-01-15T08:30:00.000Z");
}

TEST_F(Timelines, what_jobs_did_is_seen_at_once_and_stays_when_it_is_written) {
  pool_.configure(R"("retry":{"base_ms":0})");
  pool_.registerWorker(name("w"));
  pool_.pushMany(5);
  const auto jobs = pool_.claim(name("w"), R"("max":4)");
  ASSERT_EQ(pool_.report("complete", jobs.at(0)).status, 200);
  ASSERT_EQ(pool_.report("complete", jobs.at(1)).status, 200);
  ASSERT_EQ(pool_.report("fail", jobs.at(2), R"("retryable":false)").status, 200);
  const auto counted = [&] {
    const Json::Value now = timeline();
    return sum(now, "added") == 5 && sum(now, "claims") == 4 && sum(now, "done") == 2 &&
           sum(now, "poisoned") == 1;
  };
  EXPECT_TRUE(eventually(kPatience, counted)) << timeline().toStyledString();
  pool_.tick();
  EXPECT_TRUE(counted()) << timeline().toStyledString();
  const Json::Value last = timeline()["items"][59];
  EXPECT_EQ(last["queue_depth"], 1) << last;
  EXPECT_EQ(last["claimed"], 1) << last;
  EXPECT_EQ(last["workers"], 1) << last;
  EXPECT_EQ(last["busy_workers"], 1) << last;
  for (const char* name : {"wait_p50_ms", "wait_p95_ms", "run_p50_ms", "run_p95_ms", "total_p95_ms",
                           "peak_queue_depth", "failed", "cancelled"}) {
    EXPECT_TRUE(last[name].isNumeric()) << name;
  }
}

TEST_F(Timelines, bad_questions_are_refused) {
  pool_.configure("");
  for (const char* query :
       {"?buckets=0", "?buckets=501", "?buckets=x", "?from=yesterday", "?to=1", "?every=10",
        "?from=2020-01-15T09:00:00Z&to=2020-01-15T09:00:00Z", "?from=9000-01-01T00:00:00Z",
        "?from=2020-01-15T09:00:00Z&to=2020-01-14T09:00:00Z",
        "?from=2020-01-01T00:00:00Z&to=2020-01-08T00:00:00.001Z"}) {
    EXPECT_TRUE(isProblem(http_.get(pool_.path("/timeline") + query), 400, "invalid_query"))
        << query;
  }
  EXPECT_TRUE(isProblem(http_.get("/v1/pools/never-seen/timeline"), 404));
}

TEST_F(Timelines, a_deleted_pool_leaves_nothing_behind) {
  pool_.pushMany(3);
  pool_.tick();
  EXPECT_EQ(http_.del(pool_.path("?force=true")).status, 204);
  pool_.configure("");
  EXPECT_EQ(sum(timeline(), "added"), 0);
}

TEST_F(Timelines, the_wait_of_a_claim_is_in_the_stats_before_and_after_it_is_written) {
  pool_.push();
  ASSERT_TRUE(eventually(
      kPatience, [this] { return pool_.stats()["oldest_pending_seconds"].asDouble() > 0.02; }));
  pool_.claimOne(name("w"));
  const auto p95 = [this] { return pool_.stats()["p95_wait_ms"].asDouble(); };
  EXPECT_TRUE(eventually(kPatience, [&] { return p95() > 20; }));
  const double before = p95();
  pool_.tick();
  EXPECT_EQ(p95(), before);
}

}  // namespace
}  // namespace muster::test
