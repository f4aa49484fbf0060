// What workers hold in memory: what they say of it, and what they are told to do with it.
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class WorkerResources : public ServiceFixture {
 protected:
  WorkerResources() { registerLoop(); }

  Json::Value registerLoop(const std::string& more = {}) {
    return pool_.registerWorker(w_, R"("mode":"loop")" + (more.empty() ? "" : "," + more));
  }
  Json::Value hold(const std::string& id, const std::string& more = {}) {
    return resources_.create(R"("resource_id":)" + inQuotes(name(id)) +
                             R"(,"type":"session","holder":)" + inQuotes("worker:" + w_) +
                             (more.empty() ? "" : "," + more));
  }
  std::string stateOf(const std::string& id) {
    return resources_.get(name(id)).json["state"].asString();
  }
  Json::Value commands(const std::string& body = "{}") {
    const Reply reply = pool_.heartbeat(w_, body);
    EXPECT_EQ(reply.status, 200) << reply;
    return reply.json["commands"];
  }

  const std::string w_ = name("w");
  ResourceClient resources_{http_};
};

TEST_F(WorkerResources, are_evicted_on_command) {
  hold("a");
  EXPECT_TRUE(commands().empty());
  EXPECT_EQ(resources_.remove(name("a")).json["state"], "evicting");
  for (int beats = 0; beats < 2; ++beats) {
    const Json::Value told = commands();
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0]["type"], "evict");
    ASSERT_EQ(told[0]["resource_ids"].size(), 1U);
    EXPECT_EQ(told[0]["resource_ids"][0], name("a"));
  }
  EXPECT_TRUE(commands(R"({"held_resources_evicted":[)" + inQuotes(name("a")) + "]}").empty());
  EXPECT_EQ(stateOf("a"), "evicted");
}

TEST_F(WorkerResources, of_a_released_scope_are_cleaned_up) {
  hold("a", R"("scope":)" + inQuotes(name("s")));
  EXPECT_EQ(http_.del("/v1/scopes/" + pathText(name("s")) + "/resources").json["released"], 1);
  const Json::Value told = commands();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["type"], "cleanup_scope");
  EXPECT_EQ(told[0]["scope"], name("s"));
  EXPECT_EQ(told[0]["resource_ids"][0], name("a"));
}

TEST_F(WorkerResources, are_told_of_with_claims_and_reports_too) {
  hold("a");
  EXPECT_FALSE(pool_.tryClaim(w_).json.isMember("commands"));
  resources_.remove(name("a"));
  const Json::Value claimed = pool_.tryClaim(w_).json;
  ASSERT_EQ(claimed["commands"].size(), 1U);
  EXPECT_EQ(claimed["commands"][0]["type"], "evict");
  const Reply reported = http_.post(pool_.path("/reports"),
                                    R"({"items":[],"claim":{"worker_id":)" + inQuotes(w_) + "}}");
  ASSERT_EQ(reported.status, 200) << reported;
  EXPECT_EQ(reported.json["commands"][0]["resource_ids"][0], name("a"));
}

TEST_F(WorkerResources, that_a_worker_still_has_are_named_when_it_registers_anew) {
  hold("kept"), hold("dropped");
  registerLoop(R"("resources":[)" + inQuotes(name("kept")) + "]");
  EXPECT_EQ(stateOf("kept"), "active");
  const Reply dropped = resources_.get(name("dropped"));
  EXPECT_EQ(dropped.json["state"], "lost");
  EXPECT_EQ(dropped.json["reason"], "not_held");
}

TEST_F(WorkerResources, go_with_a_worker_that_has_ended) {
  hold("a");
  ASSERT_EQ(http_.patch("/v1/workers/" + w_, R"({"status":"terminated"})").status, 200);
  const Reply gone = resources_.get(name("a"));
  EXPECT_EQ(gone.json["state"], "lost");
  EXPECT_EQ(gone.json["reason"], "worker_lost");
}

TEST_F(WorkerResources, are_measured) {
  http_.put("/v1/pools/" + pool_.name(), "{}");
  commands(R"({"metrics":{"cpu":0.5,"resource":{"disk_bytes_in_use":7,"mem_bytes_in_use":11,
               "sessions_active":2,"eviction_candidates":1,"last_gc_seconds":0.25,"mine":"x"}}})");
  EXPECT_EQ(pool_.worker(w_)["metrics"]["resource"]["mem_bytes_in_use"], 11);
  const std::string metrics = http_.get("/metrics").body;
  for (const char* line : {R"(kind="disk"} 7)", R"(kind="mem"} 11)"}) {
    EXPECT_NE(metrics.find("muster_worker_resource_bytes{pool=\"" + pool_.name() + "\"," + line),
              std::string::npos)
        << line;
  }
}

TEST_F(WorkerResources, are_measured_in_numbers) {
  const Reply faults = pool_.heartbeat(
      w_, R"({"metrics":{"resource":{"disk_bytes_in_use":-1,"last_gc_seconds":"long"}}})");
  EXPECT_TRUE(isProblem(faults, 422, "validation_failed"));
  ASSERT_EQ(faults.json["errors"].size(), 2U);
  EXPECT_EQ(faults.json["errors"][0]["pointer"], "/metrics/resource/disk_bytes_in_use");
  EXPECT_EQ(faults.json["errors"][1]["pointer"], "/metrics/resource/last_gc_seconds");
  EXPECT_EQ(pool_.heartbeat(w_, R"({"metrics":{"resource":7}})").status, 422);
  EXPECT_EQ(pool_.worker(w_)["metrics"], Json::Value(Json::objectValue)) << "nothing was kept";
}

TEST_F(WorkerResources, above_the_limit_keep_jobs_away) {
  pool_.push();
  const std::int64_t limit = registerLoop()["resource_limits"]["mem_bytes"].asInt64();
  const auto in_use = [](std::int64_t bytes) {
    return R"({"metrics":{"resource":{"mem_bytes_in_use":)" + std::to_string(bytes) + "}}}";
  };
  hold("idle", R"("mem_bytes":)" + std::to_string(limit));
  const Json::Value told = commands(in_use(limit + 1));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["resource_ids"][0], name("idle"));
  EXPECT_TRUE(pool_.claim(w_).empty());
  hold("used");
  const std::string pinned =
      R"({"data":"pinned","resource_refs":[{"resource_id":)" + inQuotes(name("used")) + "}]}";
  ASSERT_EQ(http_.post(pool_.path("/jobs"), pinned).status, 201);
  const auto claimed = pool_.claim(w_, R"("max":5)");
  ASSERT_EQ(claimed.size(), 1U) << "only what is pinned to it";
  EXPECT_EQ(claimed[0]["data"], "pinned");
  commands(in_use(0));
  EXPECT_EQ(pool_.claim(w_).size(), 1U);
}

}  // namespace
}  // namespace muster::test
