#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Workers : public ServiceFixture {
 protected:
  std::string path(const std::string& worker, const std::string& tail = {}) const {
    return "/v1/workers/" + worker + tail;
  }
  std::vector<std::string> listed(const std::string& query) {
    const Reply reply = http_.get("/v1/workers?pool_id=" + pool_.name() + query);
    EXPECT_EQ(reply.status, 200) << reply;
    std::vector<std::string> found;
    for (const Json::Value& worker : reply.json["items"]) {
      found.push_back(worker["worker_id"].asString());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  const std::string w_ = name("w");
};

TEST_F(Workers, registration_tells_a_worker_what_it_needs_to_know) {
  pool_.configure(R"("lease_seconds":45,"heartbeat_interval_seconds":7)");
  const Json::Value worker = pool_.registerWorker(
      w_, R"("host":"node-a","pid":4711,"capabilities":["gpu"],"executor_types":["python"],)"
          R"("slots":2,"metadata":{"version":"1.4"})");
  EXPECT_EQ(worker["status"], "active");
  EXPECT_EQ(worker["pool_id"], pool_.name());
  EXPECT_EQ(worker["host"], "node-a");
  EXPECT_EQ(worker["pid"], 4711);
  EXPECT_EQ(worker["capabilities"][0], "gpu");
  EXPECT_EQ(worker["executor_types"][0], "python");
  EXPECT_EQ(worker["slots"], 2);
  EXPECT_EQ(worker["metadata"]["version"], "1.4");
  EXPECT_EQ(worker["heartbeat_interval_seconds"], 7);
  EXPECT_EQ(worker["lease_seconds"], 45);
  EXPECT_FALSE(worker["worker_token"].asString().empty());
  EXPECT_FALSE(pool_.worker(w_).isMember("worker_token"));
}

TEST_F(Workers, an_id_is_made_up_when_none_is_given) {
  const Reply first = http_.post("/v1/workers", "{}");
  const Reply second = http_.post("/v1/workers", "{}");
  ASSERT_EQ(first.status, 201) << first;
  EXPECT_NE(first.json["worker_id"], second.json["worker_id"]);
  EXPECT_EQ(http_.get(path(first.json["worker_id"].asString())).status, 200);
}

TEST_F(Workers, registering_again_makes_a_new_incarnation) {
  pool_.registerWorker(w_, R"("metadata":{"old":true})");
  ASSERT_EQ(http_.patch(path(w_), R"({"current_task_id":"t1"})").status, 200);
  pool_.push();
  const Json::Value claimed = pool_.claimOne(w_);
  pool_.configure(R"("retry":{"base_ms":0})");
  const Json::Value again = pool_.registerWorker(w_);
  EXPECT_EQ(again["status"], "active");
  EXPECT_TRUE(again["metadata"].empty());
  EXPECT_FALSE(again.isMember("current_task_id"));
  const Json::Value job = pool_.job(claimed);
  EXPECT_EQ(job["status"], "pending");
  EXPECT_EQ(job["attempts"], 1) << "the try stays counted";
  EXPECT_TRUE(isProblem(pool_.report("complete", claimed), 409, "lease_lost"));
}

TEST_F(Workers, bad_fields_of_a_registration_are_all_named) {
  const Reply reply = http_.post(
      "/v1/workers",
      R"({"worker_id":"a b","slots":0,"capabilities":"gpu","metadata":[],"pid":"x","colour":1})");
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply), (std::set<std::string>{"/worker_id", "/slots", "/capabilities",
                                                    "/metadata", "/pid", "/colour"}));
}

TEST_F(Workers, a_heartbeat_renews_all_leases_in_all_pools) {
  PoolClient other(service().url(), name("other"));
  pool_.registerWorker(w_);
  pool_.push();
  other.push();
  const Json::Value here = pool_.claimOne(w_);
  const Json::Value there = other.claimOne(w_);
  Reply beat;
  EXPECT_TRUE(eventually(kPatience, [this, &beat, &there] {
    beat = pool_.heartbeat(w_);
    return pool_.job(there)["lease_expires_at"].asString() > there["lease_expires_at"].asString();
  }));
  EXPECT_EQ(beat.json["status"], "active");
  EXPECT_EQ(beat.json["leases"].size(), 2U) << beat;
  EXPECT_GT(pool_.job(here)["lease_expires_at"].asString(), here["lease_expires_at"].asString());
}

TEST_F(Workers, heartbeats_merge_metadata_shallowly) {
  pool_.registerWorker(w_, R"("metadata":{"a":{"x":1},"b":2})");
  ASSERT_EQ(pool_.heartbeat(w_, R"({"metadata":{"a":{"y":1},"c":3},"metrics":{"cpu":0.5}})").status,
            200);
  const Json::Value worker = pool_.worker(w_);
  EXPECT_EQ(worker["metadata"]["a"].getMemberNames(), std::vector<std::string>{"y"});
  EXPECT_EQ(worker["metadata"]["b"], 2);
  EXPECT_EQ(worker["metadata"]["c"], 3);
  EXPECT_DOUBLE_EQ(worker["metrics"]["cpu"].asDouble(), 0.5);
}

TEST_F(Workers, concurrent_merges_lose_nothing) {
  pool_.registerWorker(w_);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([url = service().url(), worker = w_, i] {
      PoolClient client(url, "any");
      for (int k = 0; k < 5; ++k) {
        const std::string key = "k" + std::to_string(i) + "_" + std::to_string(k);
        EXPECT_EQ(client.heartbeat(worker, R"({"metadata":{)" + inQuotes(key) + ":1}}").status,
                  200);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(pool_.worker(w_)["metadata"].size(), 40U);
}

TEST_F(Workers, only_registered_workers_have_a_heartbeat) {
  EXPECT_TRUE(isProblem(pool_.heartbeat(name("stranger")), 404));
  EXPECT_TRUE(isProblem(http_.get(path(name("stranger"))), 404));
}

TEST_F(Workers, terminating_finishes_its_job_and_claims_no_more) {
  pool_.registerWorker(w_);
  pool_.pushMany(2);
  const Json::Value claimed = pool_.claimOne(w_);
  const Reply asked = http_.post(path(w_, "/terminate"));
  ASSERT_EQ(asked.status, 200) << asked;
  EXPECT_EQ(asked.json["status"], "terminating");
  const Reply claim = pool_.tryClaim(w_);
  EXPECT_EQ(claim.status, 200);
  EXPECT_TRUE(claim.json["items"].empty());
  EXPECT_EQ(claim.json["worker_status"], "terminating");
  const Reply beat = pool_.heartbeat(w_);
  EXPECT_EQ(beat.json["status"], "terminating");
  ASSERT_EQ(beat.json["commands"].size(), 1U) << beat;
  EXPECT_EQ(beat.json["commands"][0]["type"], "drain");
  EXPECT_EQ(beat.json["leases"].size(), 1U);
  EXPECT_EQ(pool_.report("complete", claimed).status, 200);
}

TEST_F(Workers, a_waiting_claim_ends_when_its_worker_is_asked_to_stop) {
  pool_.registerWorker(w_);
  PendingReply claim(service().url(), {"POST", pool_.path("/claim"),
                                       R"({"wait_seconds":25,"worker_id":)" + inQuotes(w_) + "}"});
  EXPECT_FALSE(claim.finished(150ms));
  ASSERT_EQ(http_.post(path(w_, "/terminate")).status, 200);
  pool_.push();
  ASSERT_TRUE(claim.finished(kPatience));
  EXPECT_TRUE(claim.reply().json["items"].empty())
      << "a stopping worker got a job: " << claim.reply();
}

TEST_F(Workers, terminated_is_final_and_frees_the_claims) {
  pool_.configure(R"("retry":{"base_ms":0})");
  pool_.registerWorker(w_);
  pool_.push();
  const Json::Value claimed = pool_.claimOne(w_);
  ASSERT_EQ(http_.patch(path(w_), R"({"status":"terminated"})").json["status"], "terminated");
  EXPECT_EQ(pool_.job(claimed)["status"], "pending");
  EXPECT_EQ(pool_.job(claimed)["attempts"], 1);
  EXPECT_TRUE(isProblem(pool_.heartbeat(w_), 410));
  EXPECT_TRUE(isProblem(pool_.tryClaim(w_), 410));
  EXPECT_TRUE(isProblem(http_.patch(path(w_), R"({"status":"active"})"), 410));
  EXPECT_TRUE(isProblem(http_.post(path(w_, "/terminate")), 410));
  EXPECT_EQ(pool_.worker(w_)["status"], "terminated");
  EXPECT_EQ(pool_.registerWorker(w_)["status"], "active") << "unless it registers anew";
}

TEST_F(Workers, an_unknown_status_set_by_a_client_is_kept) {
  pool_.registerWorker(w_);
  EXPECT_EQ(http_.patch(path(w_), R"({"status":"warming up"})").json["status"], "warming up");
  EXPECT_EQ(pool_.worker(w_)["status"], "warming up");
  EXPECT_EQ(pool_.heartbeat(w_).json["status"], "warming up");
}

TEST_F(Workers, a_change_merges_metadata_and_sets_the_task) {
  pool_.registerWorker(w_, R"("metadata":{"a":1})");
  const Reply reply = http_.patch(path(w_), R"({"metadata":{"b":2},"current_task_id":"t 9"})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["metadata"]["a"], 1);
  EXPECT_EQ(reply.json["metadata"]["b"], 2);
  EXPECT_EQ(reply.json["current_task_id"], "t 9");
  EXPECT_TRUE(isProblem(http_.patch(path(w_), R"({"host":"x"})"), 422));
  EXPECT_TRUE(isProblem(http_.patch(path(name("none")), "{}"), 404));
}

TEST_F(Workers, one_that_does_not_say_what_it_does_is_shown_with_its_oldest_job) {
  pool_.registerWorker(w_);
  const auto listed = [this] {
    return http_.get("/v1/workers?pool_id=" + pool_.name()).json["items"][0];
  };
  EXPECT_FALSE(listed().isMember("current_task_id"));
  const auto jobs = pool_.pushMany(2);
  const Json::Value first = pool_.claimOne(w_);
  pool_.claimOne(w_);
  EXPECT_EQ(listed()["current_task_id"], jobs[0]);
  EXPECT_EQ(pool_.worker(w_)["current_task_id"], jobs[0]);
  ASSERT_EQ(pool_.report("complete", first).status, 200);
  EXPECT_EQ(listed()["current_task_id"], jobs[1]);
  ASSERT_EQ(http_.patch(path(w_), R"({"current_task_id":"tea"})").status, 200);
  EXPECT_EQ(listed()["current_task_id"], "tea");
}

TEST_F(Workers, only_an_ended_worker_can_be_forgotten) {
  pool_.registerWorker(w_);
  EXPECT_TRUE(isProblem(http_.del(path(w_)), 409, "worker_active"));
  ASSERT_EQ(http_.patch(path(w_), R"({"status":"terminated"})").status, 200);
  EXPECT_EQ(http_.del(path(w_)).status, 204);
  EXPECT_TRUE(isProblem(http_.get(path(w_)), 404));
  EXPECT_TRUE(isProblem(http_.del(path(w_)), 404));
}

TEST_F(Workers, releasing_works_for_ids_that_never_registered) {
  pool_.configure(R"("retry":{"base_ms":0})");
  PoolClient other(service().url(), name("other"));
  pool_.pushMany(2);
  other.push(R"("data":1,"max_retries":1)");
  pool_.claim(name("ghost"), R"("max":2)");
  const Json::Value last_try = other.claimOne(name("ghost"));
  const Reply reply = http_.post(path(name("ghost"), "/release"));
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["released"], 3);
  EXPECT_EQ(pool_.stats()["queue_depth"], 2);
  EXPECT_EQ(pool_.list().at(0)["attempts"], 1) << "the try stays counted";
  EXPECT_EQ(other.job(last_try)["status"], "poisoned");
  EXPECT_EQ(http_.post(path(name("ghost"), "/release")).json["released"], 0);
}

TEST_F(Workers, the_list_filters) {
  pool_.registerWorker(name("a"), R"("capabilities":["gpu","fast"])");
  pool_.registerWorker(name("b"), R"("capabilities":["GPU"])");
  pool_.registerWorker(name("c"));
  ASSERT_EQ(http_.post(path(name("b"), "/terminate")).status, 200);
  ASSERT_EQ(http_.patch(path(name("c")), R"({"status":"terminated"})").status, 200);
  EXPECT_EQ(listed(""), (std::vector{name("a"), name("b"), name("c")}));
  EXPECT_EQ(listed("&status=active"), std::vector{name("a")});
  EXPECT_EQ(listed("&status=terminating&status=terminated"), (std::vector{name("b"), name("c")}));
  EXPECT_EQ(listed("&capability=gpu"), std::vector{name("a")});
  EXPECT_EQ(listed("&capability=GPU"), std::vector{name("b")});
  EXPECT_TRUE(listed("&capability=gp").empty());
  EXPECT_TRUE(listed("&stale_threshold_seconds=3600").empty());
  EXPECT_TRUE(eventually(kPatience, [this] {
    return !listed("&status=active&stale_threshold_seconds=0.01").empty();
  }));
}

TEST_F(Workers, the_list_pages) {
  for (int i = 0; i < 5; ++i) pool_.registerWorker(name(std::to_string(i)));
  const Reply first = http_.get("/v1/workers?limit=3&pool_id=" + pool_.name());
  ASSERT_EQ(first.json["items"].size(), 3U) << first;
  const Reply second = http_.get("/v1/workers?limit=3&pool_id=" + pool_.name() +
                                 "&cursor=" + first.json["next_cursor"].asString());
  EXPECT_EQ(second.json["items"].size(), 2U) << second;
  EXPECT_FALSE(second.json.isMember("next_cursor"));
}

TEST_F(Workers, stats_count_busy_and_idle_ones) {
  pool_.registerWorker(name("busy"));
  pool_.registerWorker(name("idle"));
  pool_.registerWorker(name("stopping"));
  ASSERT_EQ(http_.post(path(name("stopping"), "/terminate")).status, 200);
  pool_.push();
  pool_.claimOne(name("busy"));
  const Json::Value stats = pool_.stats();
  EXPECT_EQ(stats["active_workers"], 2);
  EXPECT_EQ(stats["busy_workers"], 1);
  EXPECT_EQ(stats["idle_workers"], 1);
  EXPECT_EQ(stats["terminating_workers"], 1);
}

TEST_F(Workers, a_worker_started_by_hand_has_no_output) {
  pool_.registerWorker(w_);
  const Reply reply = http_.get(path(w_, "/output"));
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["output"], "");
  EXPECT_EQ(reply.json["truncated"], false);
  EXPECT_TRUE(isProblem(http_.get(path(name("none"), "/output")), 404));
}

}  // namespace
}  // namespace muster::test
