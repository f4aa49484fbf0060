#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

class Audit : public testing::Test {
 protected:
  static std::string settings() {
    return "tokens:\n" + tokenLine("ops", "admin") + tokenLine("mailer", "produce, read, work");
  }
  std::vector<std::string> changes(const std::string& query = {}) {
    std::vector<std::string> lines;
    const Reply reply = http_.get("/v1/audit" + query, ops_);
    EXPECT_EQ(reply.status, 200) << reply;
    for (const Json::Value& entry : reply.json["items"]) {
      lines.push_back(entry["by"].asString() + " " + entry["method"].asString() + " " +
                      entry["path"].asString() + " " + entry["status"].asString());
      EXPECT_EQ(entry["address"], "127.0.0.1") << entry;
      EXPECT_FALSE(entry["request_id"].asString().empty()) << entry;
    }
    return lines;
  }

  Service service_{{.store = anyStore(), .settings = settings()}};
  Http http_{service_.url()};
  const Headers ops_ = bearer("ops"), mailer_ = bearer("mailer");
};

TEST_F(Audit, tells_who_changed_what_the_newest_first) {
  ASSERT_EQ(http_.put("/v1/pools/a", "{}", ops_).status, 201);
  ASSERT_EQ(http_.post("/v1/pools/a/pause", "", ops_).status, 200);
  const Reply pushed = http_.post("/v1/pools/a/jobs", R"({"data":"sesame"})", mailer_);
  ASSERT_EQ(pushed.status, 201) << pushed;
  const std::string job = "/v1/jobs/" + pushed.json["id"].asString();
  ASSERT_EQ(http_.post(job + "/cancel?x=", "", mailer_).status, 200);
  ASSERT_EQ(
      http_
          .put(
              "/v1/triggers/t",
              R"({"type":"webhook","machine":"parallelization_checker","auth":{"type":"token","secrets":["open sesame"]}})",
              ops_)
          .status,
      201);
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/b", R"({"nonsense":1})", ops_), 422));
  EXPECT_TRUE(isProblem(http_.put("/v1/pools/b", "{}", mailer_), 403));
  EXPECT_EQ(http_.post("/v1/pools/a/purge", R"({"status":["cancelled"]})", mailer_).status, 200);
  const std::vector<std::string> all = {
      "mailer POST /v1/pools/a/purge 200", "ops PUT /v1/triggers/t 201",
      "mailer POST " + job + "/cancel 200", "ops POST /v1/pools/a/pause 200",
      "ops PUT /v1/pools/a 201"};
  EXPECT_EQ(changes(), all) << "and nothing about the push, or what was refused";
  EXPECT_EQ(changes("?by=ops"), (std::vector{all[1], all[3], all[4]}));
  const Reply page = http_.get("/v1/audit?limit=2", ops_);
  EXPECT_EQ(changes("?limit=2&cursor=" + page.json["next_cursor"].asString()),
            (std::vector{all[2], all[3]}));
  EXPECT_EQ(http_.get("/v1/audit", ops_).body.find("sesame"), std::string::npos);
  EXPECT_TRUE(isProblem(http_.get("/v1/audit", mailer_), 403));
}

TEST_F(Audit, has_a_repeated_request_once) {
  Headers once = ops_;
  once.emplace_back("Idempotency-Key", "k");
  ASSERT_EQ(http_.put("/v1/pools/a", "{}", ops_).status, 201);
  ASSERT_EQ(http_.post("/v1/pools/a/pause", "", once).status, 200);
  ASSERT_EQ(http_.post("/v1/pools/a/pause", "", once).status, 200);
  EXPECT_EQ(changes().size(), 2U);
}

TEST_F(Audit, stands_on_events_and_in_the_log_too) {
  ASSERT_EQ(http_.put("/v1/pools/a", "{}", ops_).status, 201);
  const Reply pushed = http_.post("/v1/pools/a/jobs", R"({"data":1})", mailer_);
  const Reply worker = http_.post("/v1/workers", R"({"worker_id":"w","pool_id":"a"})", mailer_);
  const Headers own = bearer(worker.json["worker_token"].asString());
  ASSERT_EQ(http_.post("/v1/pools/a/claim", R"({"worker_id":"w"})", own).json["items"].size(), 1U);
  ASSERT_EQ(http_.post("/v1/jobs/" + pushed.json["id"].asString() + "/complete", "", own).status,
            200);
  std::vector<std::string> seen;
  const Reply events = http_.get("/v1/events?pool_id=a", ops_);
  for (const Json::Value& event : events.json["items"]) {
    const std::string by = event["by"].asString(), type = event["type"].asString();
    seen.push_back(type + " " + by);
    EXPECT_EQ(event["address"].asString(), by.empty() ? "" : "127.0.0.1") << event;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"pool.created ops", "job.created mailer",
                                            "worker.registered mailer", "job.claimed ",
                                            "job.completed "}))
      << "a worker's own token: the worker stands there";
  EXPECT_NE(service_.log().find("pool.created pool=a by=ops address=127.0.0.1"), std::string::npos)
      << service_.log();
}

TEST(AuditAlone, has_no_names_where_there_are_no_tokens) {
  Service service({.store = anyStore()});
  Http http(service.url());
  ASSERT_EQ(http.put("/v1/pools/a", "{}").status, 201);
  const Reply reply = http.get("/v1/audit");
  ASSERT_EQ(reply.json["items"].size(), 1U) << reply;
  EXPECT_FALSE(reply.json["items"][0].isMember("by"));
  EXPECT_EQ(reply.json["items"][0]["address"], "127.0.0.1");
}

}  // namespace
}  // namespace muster::test
