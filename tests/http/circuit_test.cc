#include "models/time.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

void expectFaults(const Reply& reply, const std::set<std::string>& wanted) {
  EXPECT_TRUE(isProblem(reply, 422));
  EXPECT_EQ(pointers(reply), wanted) << reply;
}

using BulkRetry = ServiceFixture;
using JobRetry = ServiceFixture;

class Circuit : public ServiceFixture {
 protected:
  Circuit() {
    pool_.configure(R"("circuit":{"failures":3,"probe_seconds":1},"retry":{"base_ms":0})");
  }
  Json::Value pool() { return http_.get(pool_.path()).json; }
  void fail(const Json::Value& job, const std::string& error) {
    const Reply reply = pool_.report("fail", job, R"("error":)" + inQuotes(error));
    EXPECT_EQ(reply.status, 200) << reply;
  }
  void open() {
    pool_.pushMany(3);
    for (const Json::Value& job : pool_.claim(name("w"), R"("max":3)")) fail(job, "HTTP 503");
    EXPECT_EQ(pool()["circuit_state"], "open");
  }
  // Claims until there is a job: the probe, when it is due.
  Json::Value awaitProbe() {
    std::vector<Json::Value> claimed;
    EXPECT_TRUE(eventually(kPatience, [&] {
      claimed = pool_.claim(name("w"), R"("max":10)");
      return !claimed.empty();
    }));
    EXPECT_EQ(claimed.size(), 1U);
    return claimed.empty() ? Json::Value() : claimed.front();
  }
  std::vector<Json::Value> circuitEvents() {
    return pool_.events("pool_id=" + pool_.name() +
                        "&types=pool.circuit_opened,pool.circuit_closed");
  }
};

TEST_F(Circuit, opens_after_failures_of_one_class_and_is_seen_everywhere) {
  EXPECT_EQ(pool()["circuit"]["failures"], 3);
  EXPECT_EQ(pool()["circuit_state"], "closed");
  EXPECT_EQ(pool()["circuit_failures_in_a_row"], 0);
  EXPECT_FALSE(pool().isMember("circuit_error_class"));
  pool_.pushMany(5);
  const auto claimed = pool_.claim(name("w"), R"("max":3)");
  fail(claimed.at(0), "HTTP 503 from 10.0.0.1"), fail(claimed.at(1), "HTTP 500 from 10.0.0.2");
  EXPECT_EQ(pool()["circuit_state"], "closed");
  EXPECT_EQ(pool()["circuit_failures_in_a_row"], 2);
  EXPECT_EQ(pool_.stats()["runnable"], 4);
  fail(claimed.at(2), "HTTP 503 from 10.0.0.1");

  const Json::Value shown = pool();
  EXPECT_EQ(shown["circuit_state"], "open");
  EXPECT_EQ(shown["circuit_failures_in_a_row"], 3);
  EXPECT_EQ(shown["circuit_error_class"], "HTTP # from #");
  EXPECT_TRUE(shown["circuit_probe_at"].isString());
  ASSERT_EQ(circuitEvents().size(), 1U);
  const Json::Value details = circuitEvents()[0]["details"];
  EXPECT_EQ(details["error_class"], "HTTP # from #");
  EXPECT_EQ(details["failures"], 3);
  EXPECT_EQ(details["error"], "HTTP 503 from 10.0.0.1");
  EXPECT_EQ(pool_.job(claimed.at(0))["attempts"], 1);
  EXPECT_EQ(pool_.job(claimed.at(2))["attempts"], 0);
  const Json::Value attempts =
      http_.get("/v1/jobs/" + claimed.at(2)["id"].asString() + "/attempts").json;
  EXPECT_EQ(attempts["items"][0]["error_class"], "HTTP # from #");
}

TEST_F(Circuit, gives_out_nothing_while_it_is_open) {
  pool_.configure(R"("circuit":{"failures":3,"probe_seconds":3600},"retry":{"base_ms":0})");
  open();
  const Json::Value job = pool_.push();
  EXPECT_TRUE(pool_.claim(name("w"), R"("max":10)").empty());
  EXPECT_EQ(pool_.stats()["runnable"], 0);
  EXPECT_EQ(pool_.stats()["queue_depth"], 4);
  const Reply refused = pool_.tryClaim(name("w"), R"("job_id":)" + inQuotes(job["id"].asString()));
  EXPECT_EQ(refused.status, 409) << refused;
  EXPECT_EQ(refused.code(), "not_claimable");
  EXPECT_NE(refused.json["detail"].asString().find("HTTP #"), std::string::npos) << refused;
  EXPECT_EQ(http_.get(pool_.path("/check")).json["inputs"]["circuit_allows"], 0);
}

TEST_F(Circuit, tries_one_job_and_closes_when_it_succeeds) {
  open();
  const Json::Value probe = awaitProbe();
  EXPECT_EQ(pool()["circuit_state"], "probing");
  EXPECT_FALSE(pool().isMember("circuit_probe_at"));
  EXPECT_TRUE(pool_.claim(name("other"), R"("max":10)").empty());
  ASSERT_EQ(pool_.report("complete", probe).status, 200);
  EXPECT_EQ(pool()["circuit_state"], "closed");
  EXPECT_EQ(pool_.claim(name("w"), R"("max":10)").size(), 2U);
  ASSERT_EQ(circuitEvents().size(), 2U);
  EXPECT_EQ(circuitEvents()[1]["type"], "pool.circuit_closed");
  EXPECT_EQ(circuitEvents()[1]["details"]["reason"], "success");
}

TEST_F(Circuit, waits_longer_after_a_probe_that_fails) {
  open();
  fail(awaitProbe(), "HTTP 503");
  EXPECT_EQ(pool()["circuit_state"], "open");
  const Json::Value again = circuitEvents().back();
  const std::string next = again["details"]["probe_at"].asString();
  EXPECT_EQ(*parseTime(next) - *parseTime(again["at"].asString()), 2s) << again;
  const Json::Value second = awaitProbe();
  EXPECT_GE(second["claimed_at"].asString(), next);
  fail(second, "disk full");
  EXPECT_EQ(pool()["circuit_state"], "closed") << "it fails for another reason";
  EXPECT_EQ(pool()["circuit_failures_in_a_row"], 1);
}

TEST_F(Circuit, wakes_those_who_wait_when_the_probe_is_due_and_when_it_closes) {
  open();
  const auto claim = [this](const std::string& worker) {
    return Request{"POST", pool_.path("/claim"),
                   R"({"wait_seconds":30,"worker_id":)" + inQuotes(name(worker)) + "}"};
  };
  PendingReply first(http_.url(), claim("w1"));
  ASSERT_TRUE(first.finished(kPatience));
  ASSERT_EQ(first.reply().json["items"].size(), 1U) << first.reply();
  PendingReply second(http_.url(), claim("w2"));
  EXPECT_FALSE(second.finished(std::chrono::milliseconds(200))) << second.reply();
  // The next probe is due two seconds after that, and the one who waits is told.
  fail(first.reply().json["items"][0], "HTTP 503");
  ASSERT_TRUE(second.finished(kPatience));
  ASSERT_EQ(second.reply().json["items"].size(), 1U) << second.reply();
  PendingReply third(http_.url(), claim("w3"));
  EXPECT_FALSE(third.finished(std::chrono::milliseconds(200))) << third.reply();
  ASSERT_EQ(pool_.report("complete", second.reply().json["items"][0]).status, 200);
  ASSERT_TRUE(third.finished(kPatience));
  EXPECT_EQ(third.reply().json["items"].size(), 1U) << third.reply();
}

TEST_F(Circuit, looks_once_for_a_job_to_probe_with_and_then_waits) {
  const auto units = [this] {
    const std::string text = http_.get("/metrics").body;
    const std::string name = "\nmuster_store_batch_size_sum ";
    const auto at = text.find(name);
    return at == std::string::npos ? -1 : std::stoll(text.substr(at + name.size()));
  };
  open();
  for (const Json::Value& job : pool_.list("status=pending")) {
    ASSERT_EQ(pool_.act("cancel", job).status, 200);
  }
  EXPECT_TRUE(eventually(kPatience, [&] { return units() > 0; }));
  const auto before = units();
  EXPECT_TRUE(pool_.claim(name("w"), R"("wait_seconds":2)").empty());
  EXPECT_TRUE(eventually(kPatience, [&] { return units() > before; }));
  EXPECT_LT(units() - before, 100) << "it did not wait";
}

TEST_F(Circuit, is_closed_by_resuming_the_pool) {
  pool_.configure(R"("circuit":{"failures":3,"probe_seconds":3600},"retry":{"base_ms":0})");
  open();
  const Reply resumed = http_.post(pool_.path("/resume"));
  ASSERT_EQ(resumed.status, 200) << resumed;
  EXPECT_EQ(resumed.json["circuit_state"], "closed");
  EXPECT_EQ(pool_.claim(name("w"), R"("max":10)").size(), 3U);
  EXPECT_EQ(circuitEvents().back()["details"]["reason"], "resumed");
}

TEST_F(Circuit, goes_by_the_class_in_reports_too) {
  pool_.pushMany(3);
  std::string items;
  for (const Json::Value& job : pool_.claim(name("w"), R"("max":3)")) {
    items += (items.empty() ? "" : ",") + std::string(R"({"outcome":"failed","job_id":)") +
             inQuotes(job["id"].asString()) + R"(,"lease_token":)" +
             inQuotes(job["lease_token"].asString()) + R"(,"error":)" +
             inQuotes(job["id"].asString()) + R"(,"error_class":"provider"})";
  }
  const Reply reply =
      http_.post(pool_.path("/reports"), R"({"items":[)" + items + R"(],"claim":{"worker_id":)" +
                                             inQuotes(name("w")) + R"(,"max":10}})");
  ASSERT_EQ(reply.status, 200) << reply;
  for (const Json::Value& item : reply.json["items"]) EXPECT_EQ(item["status"], "pending");
  EXPECT_TRUE(reply.json["claimed"].empty()) << "it is open by then";
  EXPECT_EQ(pool()["circuit_error_class"], "provider");
}

TEST_F(Circuit, refuses_bad_settings_and_classes) {
  expectFaults(http_.put(pool_.path(), R"({"circuit":{"failures":-1,"window_seconds":0,"x":1}})"),
               {"/circuit/failures", "/circuit/window_seconds", "/circuit/x"});
  pool_.push();
  const Json::Value job = pool_.claimOne(name("w"));
  for (const std::string& bad : {std::string(), std::string(129, 'x')}) {
    expectFaults(pool_.report("fail", job, R"("error_class":)" + inQuotes(bad)), {"/error_class"});
  }
  EXPECT_EQ(pool_.report("fail", job, R"("error_class":)" + inQuotes(std::string(128, 'x'))).status,
            200);
}

TEST_F(JobRetry, overrides_the_pool_and_is_shown_as_it_was_given) {
  pool_.configure(R"("retry":{"base_ms":3600000,"cap_ms":7200000})");
  const Reply pushed = pool_.tryPush(R"("data":1,"retry":{"jitter": 0, "base_ms":0})");
  ASSERT_EQ(pushed.status, 201) << pushed;
  EXPECT_EQ(pushed.raw("retry"), R"({"jitter": 0, "base_ms":0})");
  EXPECT_FALSE(pool_.push().isMember("retry"));
  const auto claimed = pool_.claim(name("w"), R"("max":2)");
  for (const Json::Value& job : claimed) ASSERT_EQ(pool_.report("fail", job).status, 200);
  EXPECT_EQ(pool_.claimOne(name("w"))["id"], pushed.json["id"]) << "at once";
  EXPECT_TRUE(pool_.claim(name("w")).empty()) << "in an hour";
}

TEST_F(JobRetry, has_the_bounds_of_the_pool) {
  expectFaults(
      pool_.tryPush(R"("data":1,"retry":{"base_ms":-1,"cap_ms":2147483648,"jitter":1.1,"max":1})"),
      {"/retry/base_ms", "/retry/cap_ms", "/retry/jitter", "/retry/max"});
  expectFaults(pool_.tryPush(R"("data":1,"retry":5)"), {"/retry"});
  EXPECT_EQ(pool_.tryPush(R"("data":1,"retry":null)").status, 201);
  EXPECT_EQ(pool_.tryPush(R"("data":1,"retry":{"base_ms":2147483647,"jitter":1})").status, 201);
}

TEST_F(BulkRetry, chooses_by_every_filter_that_is_given) {
  const auto poison = [this](const std::string& fields, const std::string& error) {
    pool_.push(R"("data":1,"max_retries":0)" + fields);
    const Json::Value job = pool_.claimOne(name("w"));
    const Reply failed = pool_.report("fail", job, R"("error":)" + inQuotes(error));
    EXPECT_EQ(failed.json["status"], "poisoned") << failed;
    return job["id"].asString();
  };
  const auto retry = [this](const std::string& body) {
    const Reply reply = http_.post(pool_.path("/retry"), body);
    EXPECT_EQ(reply.status, 200) << reply;
    return reply.json["count"].asInt();
  };
  poison("", "HTTP 503"), poison("", "HTTP 429"), poison(R"(,"tenant":"acme")", "HTTP 503");
  poison("", "disk full");
  EXPECT_EQ(retry(R"({"error_class":"nothing"})"), 0);
  EXPECT_EQ(retry(R"({"failed_after":"2999-01-01T00:00:00Z"})"), 0);
  EXPECT_EQ(retry(R"({"created_before":"2001-01-01T00:00:00Z"})"), 0);
  EXPECT_EQ(retry(R"({"error_class":"HTTP #","tenant":"acme"})"), 1);
  EXPECT_EQ(retry(R"({"error_class":"HTTP #","limit":1})"), 1);
  EXPECT_EQ(retry(R"({"error_contains":"HTTP 4"})"), 1);
  EXPECT_EQ(retry(R"({"created_after":"2001-01-01T00:00:00Z","status":["cancelled"]})"), 0);
  EXPECT_EQ(retry(R"({"status":["poisoned","cancelled"]})"), 1);
  EXPECT_EQ(pool_.stats()["queue_depth"], 4);
}

TEST_F(BulkRetry, purges_with_the_same_filters) {
  pool_.push(R"("data":1,"max_retries":0)"), pool_.push(R"("data":1,"max_retries":0)");
  const auto claimed = pool_.claim(name("w"), R"("max":2)");
  pool_.report("fail", claimed.at(0), R"("error":"bad input 7")");
  pool_.report("fail", claimed.at(1), R"("error":"HTTP 503")");
  const Reply reply =
      http_.post(pool_.path("/purge"), R"({"status":["poisoned"],"error_class":"bad input #"})");
  ASSERT_EQ(reply.status, 200) << reply;
  EXPECT_EQ(reply.json["count"], 1);
  EXPECT_EQ(http_.get("/v1/jobs/" + claimed.at(0)["id"].asString()).status, 404);
  EXPECT_EQ(pool_.job(claimed.at(1))["status"], "poisoned");
}

TEST_F(BulkRetry, names_all_bad_filters) {
  pool_.push();
  expectFaults(
      http_.post(
          pool_.path("/retry"),
          R"({"status":["done"],"tenant":"","error_class":"","error_contains":5,)"
          R"("created_after":"yesterday","failed_after":1,"limit":0,"older_than_seconds":1})"),
      {"/status", "/tenant", "/error_class", "/error_contains", "/created_after", "/failed_after",
       "/limit", "/older_than_seconds"});
  expectFaults(http_.post(pool_.path("/purge"), R"({"status":["pending"],"limit":-1,"x":1})"),
               {"/status", "/limit", "/x"});
}

}  // namespace
}  // namespace muster::test
