#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Pools = ServiceFixture;
using Versions = ServiceFixture;

TEST_F(Pools, putting_creates_and_then_replaces) {
  const Reply created =
      http_.put(pool_.path(), R"({"lease_seconds":10,"retry":{"max_retries":7}})");
  ASSERT_EQ(created.status, 201) << created;
  EXPECT_EQ(created.json["lease_seconds"], 10);
  EXPECT_EQ(created.json["retry"]["max_retries"], 7);
  EXPECT_EQ(created.json["launch_state"], "ok");
  const Reply replaced = http_.put(pool_.path(), R"({"slots":2})");
  ASSERT_EQ(replaced.status, 200) << replaced;
  EXPECT_EQ(replaced.json["lease_seconds"], 60) << "what is absent gets its default";
  EXPECT_EQ(replaced.json["retry"]["max_retries"], 3);
  EXPECT_EQ(replaced.json["slots"], 2);
  EXPECT_EQ(replaced.json["created_at"], created.json["created_at"]);
  EXPECT_EQ(http_.get(pool_.path()).json, replaced.json);
}

TEST_F(Pools, patching_can_unset) {
  const std::int64_t usual = [this] {
    pool_.configure("");
    return http_.get(pool_.path()).json["scaling"]["max_workers"].asInt64();
  }();
  pool_.configure(R"("lease_seconds":90,"template":"echo","scaling":{"max_workers":4})");
  const Reply reply = http_.patch(pool_.path() + "?unset=scaling.max_workers,template", "{}");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["scaling"]["max_workers"], usual);
  EXPECT_FALSE(reply.json.isMember("template"));
  EXPECT_EQ(reply.json["lease_seconds"], 90);
  const Reply both = http_.patch(pool_.path() + "?unset=lease_seconds", R"({"lease_seconds":70})");
  EXPECT_EQ(both.json["lease_seconds"], 70) << "what is given holds";
  EXPECT_TRUE(isProblem(http_.patch(pool_.path() + "?unset=max_wrokers", "{}"), 400));
  EXPECT_TRUE(isProblem(http_.patch(pool_.path() + "?forget=slots", "{}"), 400));
}

TEST_F(Pools, patching_merges) {
  pool_.configure(R"("lease_seconds":10,"retry":{"max_retries":7,"base_ms":5})");
  const Reply reply = http_.patch(pool_.path(), R"({"slots":3,"retry":{"base_ms":6}})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["lease_seconds"], 10);
  EXPECT_EQ(reply.json["slots"], 3);
  EXPECT_EQ(reply.json["retry"]["max_retries"], 7);
  EXPECT_EQ(reply.json["retry"]["base_ms"], 6);
  EXPECT_TRUE(isProblem(http_.patch("/v1/pools/" + name("none"), "{}"), 404));
}

TEST_F(Pools, defaults_are_those_of_the_documentation) {
  pool_.push();
  const Json::Value pool = http_.get(pool_.path()).json;
  EXPECT_EQ(pool["worker_mode"], "once");
  EXPECT_EQ(pool["paused"], false);
  EXPECT_EQ(pool["lease_seconds"], 60);
  EXPECT_EQ(pool["heartbeat_interval_seconds"], 30);
  EXPECT_EQ(pool["stale_threshold_seconds"], 60);
  EXPECT_EQ(pool["retry"]["max_retries"], 3);
  EXPECT_EQ(pool["retry"]["base_ms"], 400);
  EXPECT_DOUBLE_EQ(pool["retry"]["jitter"].asDouble(), 0.2);
  EXPECT_EQ(pool["retry"]["cap_ms"], 60000);
  EXPECT_EQ(pool["limits"]["per_tenant_concurrency"], 3);
  EXPECT_EQ(pool["scaling"]["mode"], "queue");
  EXPECT_EQ(pool["scaling"]["max_workers"], 10);
  EXPECT_EQ(pool["slots"], 1);
  EXPECT_EQ(pool["jobs_per_worker"], 1);
  EXPECT_EQ(pool["launch_failures"], 0);
  EXPECT_EQ(pool["circuit"]["failures"], 0);
  EXPECT_EQ(pool["circuit"]["window_seconds"], 300);
  EXPECT_EQ(pool["circuit"]["probe_seconds"], 30);
  EXPECT_EQ(pool["circuit"]["probe_cap_seconds"], 600);
}

TEST_F(Pools, an_unset_stale_threshold_follows_the_heartbeat_interval) {
  pool_.configure(R"("heartbeat_interval_seconds":7)");
  EXPECT_EQ(http_.get(pool_.path()).json["stale_threshold_seconds"], 14);
}

TEST_F(Pools, all_bad_settings_are_named) {
  const Reply reply = http_.put(
      pool_.path(),
      R"({"lease_seconds":0,"worker_mode":"twice","retry":{"jitter":2,"colour":1},"paused":"yes",)"
      R"("limits":{"per_tenant_concurrency":0},"scaling":{"min_workers":-1},"nope":1})");
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply),
            (std::set<std::string>{"/lease_seconds", "/worker_mode", "/retry/jitter",
                                   "/retry/colour", "/paused", "/limits/per_tenant_concurrency",
                                   "/scaling/min_workers", "/nope"}));
  EXPECT_TRUE(isProblem(http_.get(pool_.path()), 404));
}

TEST_F(Pools, a_command_line_is_never_accepted) {
  for (const char* body :
       {R"({"command":["sh"]})", R"({"run":["sh"]})", R"({"template":{"run":["sh"]}})"}) {
    EXPECT_TRUE(isProblem(http_.put(pool_.path(), body), 422)) << body;
  }
}

TEST_F(Pools, only_an_empty_pool_is_deleted_unless_forced) {
  const Json::Value job = pool_.push();
  EXPECT_TRUE(isProblem(http_.del(pool_.path()), 409, "pool_not_empty"));
  EXPECT_TRUE(isProblem(http_.del(pool_.path("?force=maybe")), 400));
  EXPECT_EQ(http_.del(pool_.path("?force=true")).status, 204);
  EXPECT_TRUE(isProblem(http_.get(pool_.path()), 404));
  EXPECT_TRUE(isProblem(http_.get("/v1/jobs/" + job["id"].asString()), 404));
  EXPECT_TRUE(isProblem(http_.del(pool_.path()), 404));
  pool_.configure("");
  EXPECT_EQ(http_.del(pool_.path()).status, 204);
}

TEST_F(Pools, stats_of_a_pool_never_seen_are_zeros) {
  const Json::Value stats = pool_.stats();
  EXPECT_EQ(stats["pool_id"], pool_.name());
  for (const char* name : {"queue_depth", "runnable", "unplaceable", "delayed", "claimed", "done",
                           "poisoned", "cancelled", "active_workers", "starting_workers",
                           "busy_workers", "idle_workers", "terminating_workers", "lost_workers",
                           "oldest_pending_seconds", "p95_wait_ms", "blocked"}) {
    ASSERT_TRUE(stats[name].isNumeric()) << name;
    EXPECT_EQ(stats[name].asDouble(), 0) << name;
  }
  EXPECT_TRUE(isProblem(http_.get(pool_.path()), 404)) << "asking creates no pool";
}

TEST_F(Pools, stats_count_every_state) {
  pool_.configure(R"("retry":{"base_ms":0})");
  pool_.pushMany(6);
  const std::vector<Json::Value> jobs = pool_.claim("w", R"("max":4)");
  ASSERT_EQ(pool_.report("complete", jobs.at(0)).status, 200);
  ASSERT_EQ(pool_.report("fail", jobs.at(1), R"("retryable":false)").status, 200);
  ASSERT_EQ(pool_.act("cancel", pool_.push(R"("data":1,"delay_seconds":99)")).status, 200);
  pool_.push(R"("data":1,"delay_seconds":99)");
  const Json::Value stats = pool_.stats();
  EXPECT_EQ(stats["queue_depth"], 3);
  EXPECT_EQ(stats["delayed"], 1);
  EXPECT_EQ(stats["runnable"], 2);
  EXPECT_EQ(stats["claimed"], 2);
  EXPECT_EQ(stats["done"], 1);
  EXPECT_EQ(stats["poisoned"], 1);
  EXPECT_EQ(stats["cancelled"], 1);
  EXPECT_GE(stats["oldest_pending_seconds"].asDouble(), 0);
}

TEST_F(Pools, purging_removes_finished_jobs_by_status_and_age) {
  pool_.pushMany(3);
  const std::vector<Json::Value> jobs = pool_.claim("w", R"("max":3)");
  ASSERT_EQ(pool_.report("complete", jobs.at(0)).status, 200);
  ASSERT_EQ(pool_.report("fail", jobs.at(1), R"("retryable":false)").status, 200);
  ASSERT_EQ(pool_.act("cancel", pool_.push()).status, 200);
  const auto purge = [this](const std::string& body) {
    return http_.post(pool_.path("/purge"), body).json["count"];
  };
  EXPECT_EQ(purge(R"({"older_than_seconds":3600})"), 0);
  EXPECT_EQ(purge(""), 2) << "done and cancelled";
  EXPECT_EQ(purge(R"({"status":["poisoned"]})"), 1);
  EXPECT_EQ(pool_.stats()["claimed"], 1);
  EXPECT_EQ(pool_.list().size(), 1U);
  EXPECT_TRUE(isProblem(http_.post(pool_.path("/purge"), R"({"status":["pending"]})"), 422));
}

TEST_F(Pools, actions_on_a_pool_never_seen_are_404) {
  for (const char* verb : {"/pause", "/resume", "/retry", "/purge"}) {
    EXPECT_TRUE(isProblem(http_.post(pool_.path(verb)), 404)) << verb;
  }
}

TEST_F(Pools, the_list_is_ordered_and_pages) {
  for (const char* suffix : {"c", "a", "b"}) {
    EXPECT_EQ(http_.put("/v1/pools/~" + name(suffix), "{}").status, 201);
  }
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const Reply page = http_.get("/v1/pools?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page;
    for (const Json::Value& pool : page.json["items"]) seen.push_back(pool["pool_id"].asString());
    cursor = page.json["next_cursor"].asString();
  } while (!cursor.empty());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  ASSERT_GE(seen.size(), 3U);
  EXPECT_EQ(std::vector(seen.end() - 3, seen.end()),
            (std::vector{"~" + name("a"), "~" + name("b"), "~" + name("c")}));
}

TEST_F(Pools, configured_pools_exist_from_the_start) {
  Service own({.store = anyStore(),
               .settings = "lease_seconds: 33\n"
                           "pools:\n  papers: {retry: {max_retries: 9}}\n"});
  Http http(own.url());
  const Reply reply = http.get("/v1/pools/papers");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["retry"]["max_retries"], 9);
  EXPECT_EQ(reply.json["lease_seconds"], 33);
}

TEST_F(Versions, if_match_refuses_a_stale_version) {
  const Reply created = http_.put(pool_.path(), "{}");
  const std::string etag = created.header("etag");
  ASSERT_FALSE(etag.empty());
  EXPECT_EQ(http_.get(pool_.path()).header("etag"), etag);
  const Reply changed = http_.patch(pool_.path(), R"({"slots":2})", {{"If-Match", etag}});
  ASSERT_EQ(changed.status, 200) << changed;
  EXPECT_NE(changed.header("etag"), etag);
  EXPECT_TRUE(
      isProblem(http_.put(pool_.path(), "{}", {{"If-Match", etag}}), 412, "version_mismatch"));
  EXPECT_TRUE(
      isProblem(http_.patch(pool_.path(), "{}", {{"If-Match", etag}}), 412, "version_mismatch"));
  EXPECT_TRUE(isProblem(http_.del(pool_.path(), {{"If-Match", etag}}), 412, "version_mismatch"));
  EXPECT_TRUE(isProblem(http_.del(pool_.path(), {{"If-Match", ""}}), 400));
  EXPECT_EQ(http_.get(pool_.path()).json["slots"], 2);
  EXPECT_EQ(http_.del(pool_.path(), {{"If-Match", changed.header("etag")}}).status, 204);
}

TEST_F(Versions, a_star_matches_what_exists) {
  EXPECT_TRUE(isProblem(http_.put(pool_.path(), "{}", {{"If-Match", "*"}}), 412));
  pool_.configure("");
  EXPECT_EQ(http_.patch(pool_.path(), "{}", {{"If-Match", "*"}}).status, 200);
}

TEST_F(Versions, jobs_and_workers_have_versions_too) {
  const Reply pushed = pool_.tryPush(R"("data":1)");
  const std::string job = "/v1/jobs/" + pushed.json["id"].asString();
  const std::string etag = http_.get(job).header("etag");
  EXPECT_EQ(etag, pushed.header("etag"));
  ASSERT_EQ(http_.post(job + "/cancel").status, 200);
  EXPECT_NE(http_.get(job).header("etag"), etag);
  EXPECT_TRUE(isProblem(http_.del(job, {{"If-Match", etag}}), 412, "version_mismatch"));
  EXPECT_EQ(http_.del(job, {{"If-Match", http_.get(job).header("etag")}}).status, 204);

  pool_.registerWorker(name("w"));
  const std::string worker = "/v1/workers/" + name("w");
  const std::string before = http_.get(worker).header("etag");
  ASSERT_FALSE(before.empty());
  ASSERT_EQ(http_.patch(worker, R"({"metadata":{"a":1}})", {{"If-Match", before}}).status, 200);
  EXPECT_TRUE(isProblem(http_.patch(worker, R"({"metadata":{"a":2}})", {{"If-Match", before}}), 412,
                        "version_mismatch"));
}

}  // namespace
}  // namespace muster::test
