#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Triggers : public ServiceFixture {
 protected:
  std::string path(const std::string& tail = {}) const {
    return "/v1/triggers/" + testName() + tail;
  }
};

const std::string kCron = R"({"type":"cron","schedule":"0 3 * * *","timezone":"Europe/Berlin",)"
                          R"("machine":"parallelization_checker","input":{"pool_id":"papers"}})";

TEST_F(Triggers, are_put_shown_listed_and_removed) {
  const Reply created = http_.put(path(), kCron);
  ASSERT_EQ(created.status, 201) << created;
  EXPECT_EQ(created.json["source"], "api");
  EXPECT_EQ(created.json["input"]["pool_id"], "papers");
  EXPECT_TRUE(created.json.isMember("next_fire_at"));
  EXPECT_EQ(created.header("etag"), "\"1\"");
  EXPECT_EQ(http_.put(path(), kCron).status, 200);
  const Reply shown = http_.get(path());
  EXPECT_EQ(shown.status, 200);
  EXPECT_EQ(shown.json["timezone"], "Europe/Berlin");
  bool listed = false;
  const Reply all = http_.get("/v1/triggers?limit=200");
  for (const auto& item : all.json["items"]) {
    listed = listed || item["name"] == testName();
  }
  EXPECT_TRUE(listed);
  EXPECT_EQ(http_.del(path()).status, 204);
  EXPECT_TRUE(isProblem(http_.get(path()), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.del(path()), 404, "not_found"));
}

TEST_F(Triggers, are_listed_page_by_page) {
  const Reply first = http_.get("/v1/triggers?limit=1");
  ASSERT_EQ(first.json["items"].size(), 1U) << first;
  const Reply second =
      http_.get("/v1/triggers?limit=1&cursor=" + first.json["next_cursor"].asString());
  EXPECT_LT(first.json["items"][0]["name"].asString(), second.json["items"][0]["name"].asString());
}

TEST_F(Triggers, keep_their_version) {
  http_.put(path(), kCron);
  EXPECT_TRUE(isProblem(http_.put(path(), kCron, {{"If-Match", "\"7\""}}), 412));
  EXPECT_TRUE(isProblem(http_.del(path(), {{"If-Match", "\"7\""}}), 412));
  EXPECT_EQ(http_.del(path(), {{"If-Match", "\"1\""}}).status, 204);
}

TEST_F(Triggers, with_faults_are_refused_with_all_of_them) {
  const Reply refused = http_.put(
      path(), R"({"type":"cron","schedule":"0 0 30 2 *","machine":"toaster","on":"x","extra":1})");
  EXPECT_TRUE(isProblem(refused, 422, "validation_failed"));
  EXPECT_EQ(pointers(refused), (std::set<std::string>{"/schedule", "/machine", "/on", "/extra"}));
  EXPECT_TRUE(isProblem(http_.put(path(), "{"), 400, "invalid_json"));
  EXPECT_TRUE(isProblem(http_.put("/v1/triggers/a%20b", kCron), 422, "invalid_id"));
}

TEST_F(Triggers, never_show_their_secrets) {
  const Reply created = http_.put(
      path(),
      R"({"type":"webhook","machine":"parallelization_checker","auth":{"type":"token","header":"X-T","secrets":["pssst-1"]}})");
  ASSERT_EQ(created.status, 201) << created;
  EXPECT_EQ(created.json["auth"]["secret_count"], 1);
  for (const Reply& reply : {created, http_.get(path()), http_.get("/v1/triggers?limit=200")}) {
    EXPECT_EQ(reply.body.find("pssst-1"), std::string::npos);
  }
  EXPECT_EQ(service().log().find("pssst-1"), std::string::npos);
}

TEST_F(Triggers, of_the_configuration_are_there_and_cannot_be_changed) {
  for (const char* name : {"work_added", "check_on_work_added", "check_on_worker_exited"}) {
    const std::string place = std::string("/v1/triggers/") + name;
    EXPECT_EQ(http_.get(place).json["source"], "configuration");
    EXPECT_TRUE(isProblem(http_.del(place), 409, "trigger_configured"));
    EXPECT_TRUE(isProblem(http_.put(place, kCron), 409, "trigger_configured"));
  }
}

TEST_F(Triggers, fire_by_hand) {
  http_.put(path(), kCron);
  const Reply fired = http_.post(path("/fire"));
  ASSERT_EQ(fired.status, 202) << fired;
  EXPECT_TRUE(http_.get(path()).json.isMember("last_fired_at"));
  const auto events = pool_.events("types=trigger.fired&pool_id=papers");
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["details"]["run_id"], fired.json["run_id"]);
  EXPECT_EQ(events.back()["details"]["trigger"], testName());
  EXPECT_TRUE(isProblem(http_.post("/v1/triggers/nobody/fire"), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.post(path("/fire"), R"({"pool_id":"a b"})"), 422));
}

TEST_F(Triggers, fire_once_under_one_idempotency_key) {
  http_.put(path(), kCron);
  const Headers key = {{"Idempotency-Key", testName()}};
  const Reply first = http_.post(path("/fire"), "", key),
              again = http_.post(path("/fire"), "", key);
  EXPECT_EQ(first.json["run_id"], again.json["run_id"]);
}

TEST_F(Triggers, that_are_disabled_do_not_fire) {
  http_.put(path(), R"({"type":"webhook","machine":"parallelization_checker","enabled":false})");
  EXPECT_TRUE(isProblem(http_.post(path("/fire")), 409, "trigger_disabled"));
  EXPECT_TRUE(isProblem(http_.post("/v1/hooks/" + testName()), 404, "not_found"));
  http_.put(path(), R"({"type":"webhook","machine":"parallelization_checker"})");
  EXPECT_EQ(http_.post("/v1/hooks/" + testName()).status, 202) << "it takes effect at once";
}

TEST_F(Triggers, count_their_firings) {
  http_.put(path(), kCron);
  http_.post(path("/fire"));
  const Reply metrics = http_.get("/metrics");
  EXPECT_NE(metrics.body.find("muster_trigger_fires_total{trigger=\"" + testName() + "\"} 1"),
            std::string::npos);
}

TEST(TriggerService, a_push_sets_off_the_checker) {
  Service service({.store = anyStore(), .settings = "log_level: debug\n"});
  PoolClient pool(service.url(), "p");
  pool.push();
  EXPECT_TRUE(eventually(kPatience, [&] {
    return service.log().find("check requested trigger=check_on_work_added pool=p") !=
           std::string::npos;
  })) << service.log();
  // That is noted with the next tick.
  EXPECT_TRUE(eventually(kPatience, [&] {
    return pool.http().get("/v1/triggers/check_on_work_added").json.isMember("last_fired_at");
  }));
}

TEST(TriggerService, without_triggers_nothing_is_set_off) {
  Service service({.store = anyStore(), .settings = "log_level: debug\ntriggers: []\n"});
  PoolClient pool(service.url(), "p");
  pool.push();
  EXPECT_EQ(pool.http().get("/v1/triggers").json["items"].size(), 1U) << "only the hook";
  EXPECT_EQ(service.stop(), 0);
  EXPECT_EQ(service.log().find("check requested"), std::string::npos);
}

TEST(TriggerService, triggers_outlive_a_restart) {
  Service service(
      {.settings = "triggers: {mine: {type: webhook, machine: parallelization_checker}}\n"});
  Http http(service.url());
  ASSERT_EQ(http.put("/v1/triggers/api", kCron).status, 201);
  ASSERT_EQ(http.post("/v1/hooks/mine", "", {{"Idempotency-Key", "k"}}).status, 202);
  writeFile(service.folder() / "muster.yml",
            "ticker: off\ntriggers: {other: {type: webhook, machine: parallelization_checker}}\n");
  service.restart();
  Http again(service.url());
  EXPECT_EQ(again.get("/v1/triggers/api").status, 200);
  EXPECT_EQ(again.get("/v1/triggers/other").status, 200);
  EXPECT_EQ(again.get("/v1/triggers/mine").status, 404);
  EXPECT_EQ(again.post("/v1/hooks/other").status, 202);
  EXPECT_EQ(again.post("/v1/hooks/mine").status, 404);
}

TEST(TriggerService, faults_in_the_registry_stop_the_start_with_their_lines) {
  const TempFolder folder;
  writeFile(folder / "muster.yml", "trigger_registry: r.yml\n");
  writeFile(folder / "r.yml",
            "triggers:\n  - name: a\n    type: cron\n    schedule: nonsense\n    machine: x\n");
  ChildProcess muster(
      {{musterBinary(), "serve", "--listen", "127.0.0.1:0", "--store", "memory:"}, folder.path()});
  EXPECT_EQ(muster.wait(), 2);
  EXPECT_NE(muster.err().find("r.yml:4:5"), std::string::npos) << muster.err();
  EXPECT_NE(muster.err().find("r.yml:5:5"), std::string::npos) << muster.err();
}

TEST(TriggerService, a_lambda_is_posted_to_its_url_and_not_to_private_ones_unasked) {
  Service function({.store = anyStore()});  // any service that answers 2xx will do
  const std::string url = function.url() + "/v1/hooks/work_added";
  Service service(
      {.store = anyStore(),
       .settings = "triggers:\n  - {name: allowed, type: lambda, on: job_poisoned, input: "
                   "{url: '" +
                   url + "', allow_private: true}}\n"});
  Http http(service.url());
  const auto lambda = [&](const std::string& more) {
    return R"({"type":"lambda","on":"job_poisoned","input":{"url":")" + url + '"' + more + "}}";
  };
  ASSERT_EQ(http.put("/v1/triggers/refused", lambda("")).status, 201);
  const Reply asked = http.put("/v1/triggers/asked", lambda(R"(,"allow_private":true)"));
  EXPECT_TRUE(isProblem(asked, 422));
  EXPECT_EQ(asked.json["errors"][0]["pointer"], "/input/allow_private") << asked;
  EXPECT_EQ(http.post("/v1/triggers/refused/fire").status, 202);
  EXPECT_EQ(http.post("/v1/triggers/allowed/fire", R"({"pool_id":"p"})").status, 202);
  PoolClient other(function.url(), "p");
  EXPECT_TRUE(eventually(kPatience,
                         [&] { return !other.events("types=trigger.fired&pool_id=p").empty(); }));
  EXPECT_EQ(other.events("types=trigger.fired").size(), 1U);
  EXPECT_TRUE(eventually(kPatience, [&] {
    return service.log().find("trigger=refused detail=\"the address is private") !=
           std::string::npos;
  })) << service.log();
}

TEST(TriggerService, a_lambda_may_call_the_private_addresses_that_the_settings_allow) {
  Service function({.store = anyStore()});
  Service service({.store = anyStore(), .settings = "webhook_allow: [127.0.0.1]\n"});
  Http http(service.url());
  ASSERT_EQ(
      http.put("/v1/triggers/call", R"({"type":"lambda","on":"job_poisoned","input":{"url":")" +
                                        function.url() + R"(/v1/hooks/work_added"}})")
          .status,
      201);
  EXPECT_EQ(http.post("/v1/triggers/call/fire", R"({"pool_id":"p"})").status, 202);
  PoolClient other(function.url(), "p");
  EXPECT_TRUE(eventually(kPatience,
                         [&] { return !other.events("types=trigger.fired&pool_id=p").empty(); }));
}

}  // namespace
}  // namespace muster::test
