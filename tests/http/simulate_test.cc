// What another policy would have made of a pool's load.
#include <atomic>
#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Simulate : public ServiceFixture {
 protected:
  Reply simulate(const std::string& body = "") { return http_.post(pool_.path("/simulate"), body); }
  // Claims and completes so many jobs.
  void serve(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      const Reply reply = pool_.report("complete", pool_.claimOne(name("w")));
      ASSERT_EQ(reply.status, 200) << reply;
    }
  }
};

TEST_F(Simulate, an_empty_record_has_zeros) {
  pool_.configure("");
  const Reply reply = simulate();
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["pool_id"], testName());
  EXPECT_EQ(reply.json["jobs"], 0);
  EXPECT_EQ(reply.json["tries"], 0);
  for (const char* side : {"simulated", "recorded"}) {
    for (const char* figure : {"launches", "p50_wait_ms", "p95_wait_ms", "max_wait_ms",
                               "peak_workers", "wasted_starts", "unfinished_jobs"}) {
      EXPECT_EQ(reply.json[side][figure], 0) << side << " " << figure;
    }
    EXPECT_DOUBLE_EQ(reply.json[side]["worker_seconds"].asDouble(), 0);
    EXPECT_FALSE(reply.json[side].isMember("finished_at"));
  }
  EXPECT_EQ(reply.json["note"], "no job is on record for this time");
}

TEST_F(Simulate, the_jobs_of_the_pool_are_replayed) {
  pool_.configure(R"("scaling":{"max_workers":7})");
  pool_.pushMany(10);
  serve(10);
  const Reply reply = simulate(R"({"scaling":{"max_workers":3},"worker_mode":"once"})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["jobs"], 10);
  EXPECT_EQ(reply.json["tries"], 10);
  EXPECT_EQ(reply.json["left_out"], 0);
  EXPECT_EQ(reply.json["policy"]["scaling"]["max_workers"], 3);
  EXPECT_EQ(reply.json["policy"]["worker_mode"], "once");
  EXPECT_EQ(reply.json["policy"]["slots"], 1);
  EXPECT_FALSE(reply.json["policy"].isMember("lease_seconds"));
  EXPECT_EQ(reply.json["simulated"]["launches"], 10);
  EXPECT_EQ(reply.json["simulated"]["peak_workers"], 3);
  EXPECT_EQ(reply.json["simulated"]["unfinished_jobs"], 0);
  EXPECT_EQ(reply.json["recorded"]["launches"], 0) << "the worker was not launched";
  EXPECT_TRUE(reply.json["recorded"].isMember("finished_at"));
  EXPECT_EQ(http_.get(pool_.path()).json["scaling"]["max_workers"], 7) << "nothing is changed";
}

TEST_F(Simulate, what_is_not_given_is_the_pools_own) {
  pool_.configure(R"("slots":4,"worker_mode":"loop","scaling":{"max_workers":2,"min_workers":1})");
  const Json::Value own = simulate().json["policy"];
  EXPECT_EQ(own["slots"], 4);
  EXPECT_EQ(own["worker_mode"], "loop");
  EXPECT_EQ(own["scaling"]["min_workers"], 1);
  const Json::Value other =
      simulate(R"({"scaling":{"mode":"adaptive","preset":"low-latency"}})").json["policy"];
  EXPECT_EQ(other["scaling"]["max_workers"], 2) << "as a change of the pool would leave it";
  EXPECT_EQ(other["scaling"]["target_queue_depth"], 10) << "of the preset";
}

TEST_F(Simulate, jobs_that_never_ran_are_told_of) {
  pool_.configure("");
  pool_.pushMany(3);
  pool_.act("cancel", pool_.push());
  pool_.push(R"("data":1,"delay_seconds":3600)");
  const Json::Value answer = simulate().json;
  EXPECT_EQ(answer["jobs"], 3);
  EXPECT_EQ(answer["left_out"], 2);
  EXPECT_EQ(answer["recorded"]["unfinished_jobs"], 3);
  EXPECT_EQ(answer["simulated"]["unfinished_jobs"], 0);
  EXPECT_NE(answer["note"].asString().find("3 jobs not finished"), std::string::npos) << answer;
  EXPECT_NE(answer["note"].asString().find("2 jobs left out"), std::string::npos) << answer;
}

TEST_F(Simulate, a_window_has_the_jobs_pushed_in_it) {
  pool_.configure("");
  const std::string first = pool_.push()["created_at"].asString();
  ASSERT_TRUE(
      eventually(kPatience, [&] { return pool_.push()["created_at"].asString() != first; }));
  const std::string last = pool_.push()["created_at"].asString();
  const int all = simulate().json["jobs"].asInt();
  const Reply later = simulate(R"({"from":")" + first + R"(","to":")" + last + R"("})");
  ASSERT_EQ(later.status, 200) << later;
  EXPECT_EQ(later.json["from"], first);
  EXPECT_EQ(later.json["to"], last);
  EXPECT_GE(later.json["jobs"].asInt(), 1);
  EXPECT_LT(later.json["jobs"].asInt(), all) << "those at the end are not in it";
}

TEST_F(Simulate, an_unknown_pool_is_404) {
  EXPECT_TRUE(isProblem(simulate(), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/a%20b/simulate"), 422, "invalid_id"));
}

TEST_F(Simulate, bad_settings_are_all_named) {
  pool_.configure("");
  const Reply reply = simulate(
      R"({"scaling":{"max_workers":-1,"mode":"magic","wram_idle":1},"slots":0,"from":"today",
          "lease_seconds":5})");
  EXPECT_TRUE(isProblem(reply, 422, "validation_failed"));
  EXPECT_EQ(pointers(reply),
            (std::set<std::string>{"/scaling/max_workers", "/scaling/mode", "/scaling/wram_idle",
                                   "/slots", "/from", "/lease_seconds"}));
  EXPECT_TRUE(isProblem(simulate("{"), 400, "invalid_json"));
}

TEST_F(Simulate, settings_that_contradict_each_other_are_refused) {
  pool_.configure(R"("scaling":{"min_workers":4})");
  const Reply reply = simulate(R"({"scaling":{"max_workers":2}})");
  EXPECT_TRUE(isProblem(reply, 422, "validation_failed"));
  EXPECT_EQ(pointers(reply), std::set<std::string>{"/scaling/min_workers"});
}

TEST_F(Simulate, a_schedule_that_cannot_be_read_is_refused) {
  pool_.configure("");
  const Reply reply = simulate(
      R"({"scaling":{"schedules":[{"cron":"0 8 * * *","min_workers":1},
                                  {"cron":"at noon","min_workers":1}]}})");
  EXPECT_TRUE(isProblem(reply, 422, "validation_failed"));
  EXPECT_EQ(pointers(reply), std::set<std::string>{"/scaling/schedules/1/cron"});
}

TEST_F(Simulate, every_mode_can_be_tried) {
  pool_.configure("");
  pool_.pushMany(10);
  const auto launches = [this](const std::string& scaling) {
    const Reply reply = simulate(R"({"worker_mode":"loop","scaling":)" + scaling + "}");
    EXPECT_EQ(reply.status, 200) << reply;
    return reply.json["simulated"]["launches"].asInt();
  };
  EXPECT_EQ(launches(R"({"mode":"queue"})"), 10);
  EXPECT_EQ(launches(R"({"mode":"target","target_workers":4})"), 4);
  EXPECT_EQ(launches(R"({"mode":"adaptive","preset":"balanced"})"), 2) << "the step of the preset";
  EXPECT_EQ(launches(R"({"mode":"target","target_workers":0,"schedules":[]})"), 0);
  EXPECT_EQ(launches(R"({"max_workers":1,"schedules":[{"cron":"* * * * *","min_workers":1}]})"), 1);
}

TEST_F(Simulate, a_time_without_length_is_refused) {
  pool_.configure("");
  for (const char* body :
       {R"({"from":"2026-01-02T00:00:00Z","to":"2026-01-01T00:00:00Z"})",
        R"({"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:00Z"})",
        R"({"from":"2999-01-01T00:00:00Z"})", R"({"from":"1999-01-01T00:00:00Z"})"}) {
    const Reply reply = simulate(body);
    EXPECT_TRUE(isProblem(reply, 422, "validation_failed")) << body;
    EXPECT_EQ(pointers(reply), std::set<std::string>{"/from"}) << body;
  }
}

// Many at once: each is answered, and those that come while one runs are sent away with a time.
// They come until that has happened.
TEST_F(Simulate, there_is_one_at_a_time) {
  pool_.configure(R"("scaling":{"max_workers":0})");
  pool_.push();  // never served: that takes a while to find out
  std::atomic<int> served = 0, refused = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      Http own(service().url());
      eventually(kPatience, [&] {
        const Reply reply = own.post(pool_.path("/simulate"), "");
        if (reply.status == 200) {
          ++served;
        } else {
          EXPECT_TRUE(isProblem(reply, 429, "rate_limited"));
          EXPECT_EQ(reply.header("retry-after"), "5");
          ++refused;
        }
        return served > 0 && refused > 0;
      });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(simulate().status, 200) << "and then there is room again";
}

}  // namespace
}  // namespace muster::test
