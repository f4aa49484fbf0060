#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ctime>

#include "models/base64.h"
#include "models/store/random.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class Hooks : public ServiceFixture {
 protected:
  std::string path() const { return "/v1/hooks/" + testName(); }
  // A hook of this test's name; `fields` are more members of the trigger.
  void makeHook(const std::string& fields = {}) {
    const Reply made =
        http_.put("/v1/triggers/" + testName(),
                  R"({"type":"webhook","machine":"parallelization_checker")" + fields + "}");
    ASSERT_TRUE(made.ok()) << made;
  }
  std::string inputOf(const std::string& fields) const {
    return R"(,"input":{"pool_id":)" + inQuotes(pool_.name()) + "," + fields + "}";
  }
  std::vector<std::string> dataOfJobs() {
    std::vector<std::string> data;
    for (const Json::Value& job : pool_.list()) {
      Json::StreamWriterBuilder writer;
      writer["indentation"] = "";
      data.push_back(Json::writeString(writer, job["data"]));
    }
    return data;
  }
};
using Texts = std::vector<std::string>;

TEST_F(Hooks, work_added_is_there_from_the_start) {
  for (const std::string query : {"", "?pool_id=p", "?wait_seconds=0.1&pool_id=p"}) {
    const Reply reply = http_.post("/v1/hooks/work_added" + query);
    EXPECT_EQ(reply.status, 202) << reply;
    EXPECT_FALSE(reply.json["run_id"].asString().empty());
    EXPECT_FALSE(reply.json.isMember("duplicate"));
    EXPECT_FALSE(reply.json.isMember("ignored"));
  }
}

TEST_F(Hooks, that_only_call_to_look_are_noted_with_their_run) {
  makeHook();
  const Reply reply = http_.post(path() + "?pool_id=" + pool_.name());
  ASSERT_EQ(reply.status, 202) << reply;
  EXPECT_TRUE(eventually(kPatience, [&] {
    const auto fired = pool_.events("types=trigger.fired&pool_id=" + pool_.name());
    return fired.size() == 1 && fired[0]["details"]["run_id"] == reply.json["run_id"] &&
           fired[0]["details"]["trigger"] == testName();
  }));
  EXPECT_TRUE(http_.get("/v1/triggers/" + testName()).json.isMember("last_fired_at"));
}

TEST_F(Hooks, take_whatever_a_sender_calls_a_body) {
  const std::pair<const char*, const char*> table[] = {
      {"", ""},
      {"text/plain", "hello"},
      {"application/x-www-form-urlencoded", "a=1"},
      {"application/json", R"({"base":{"id":"app"},"webhook":{"id":"w"},"timestamp":"t"})"},
      {"application/json", "[1,2]"},
      {"application/octet-stream", "\x01\xff"}};
  for (const auto& [type, body] : table) {
    const Reply reply = http_.post("/v1/hooks/work_added", body, {{"Content-Type", type}});
    EXPECT_EQ(reply.status, 202) << body << reply;
  }
}

TEST_F(Hooks, that_do_not_exist_are_not_found) {
  EXPECT_TRUE(isProblem(http_.post("/v1/hooks/nobody"), 404, "not_found"));
  EXPECT_TRUE(isProblem(http_.post("/v1/hooks/check_on_work_added"), 404, "not_found"))
      << "a trigger, but no hook";
  EXPECT_TRUE(isProblem(http_.post("/v1/hooks/a%20b"), 422, "invalid_id"));
  const Reply get = http_.get("/v1/hooks/work_added");
  EXPECT_TRUE(isProblem(get, 405));
  EXPECT_EQ(get.header("allow"), "POST, OPTIONS");
}

TEST_F(Hooks, refuse_a_query_that_makes_no_sense) {
  for (const char* query :
       {"?wait_seconds=31", "?wait_seconds=x", "?pool_id=a%20b", "?colour=red"}) {
    EXPECT_TRUE(isProblem(http_.post(std::string("/v1/hooks/work_added") + query), 400)) << query;
  }
}

TEST_F(Hooks, shake_hands_with_senders_of_cloud_events) {
  const Reply plain = http_.send(
      {"OPTIONS", "/v1/hooks/work_added", "", {{"WebHook-Request-Origin", "e.example"}}});
  EXPECT_EQ(plain.status, 200);
  EXPECT_EQ(plain.header("webhook-allowed-origin"), "e.example");
  EXPECT_EQ(plain.header("webhook-allowed-rate"), "*");
  EXPECT_EQ(plain.header("allow"), "POST, OPTIONS");
  const Reply rated =
      http_.send({"OPTIONS",
                  "/v1/hooks/work_added",
                  "",
                  {{"WebHook-Request-Origin", "e.example"}, {"WebHook-Request-Rate", "120"}}});
  EXPECT_EQ(rated.header("webhook-allowed-rate"), "120");
  EXPECT_FALSE(http_.send({"OPTIONS", "/v1/hooks/work_added"}).hasHeader("webhook-allowed-origin"));
  EXPECT_TRUE(isProblem(http_.send({"OPTIONS", "/v1/hooks/nobody"}), 404));
}

TEST_F(Hooks, know_a_message_they_have_seen) {
  makeHook(inputOf(R"("job_from":"")"));
  for (const char* name :
       {"webhook-id", "ce-id", "X-GitHub-Delivery", "x-amz-sns-message-id", "Idempotency-Key"}) {
    const Headers id = {{name, testName() + name}};
    const Reply first = http_.post(path(), R"({"n":1})", id);
    const Reply again = http_.post(path(), R"({"n":2})", id);
    EXPECT_EQ(first.status, 202) << first;
    EXPECT_EQ(again.status, 202) << again;
    EXPECT_FALSE(first.json.isMember("duplicate"));
    EXPECT_EQ(again.json["duplicate"], true) << name;
    EXPECT_EQ(again.json["run_id"], first.json["run_id"]) << name;
  }
  EXPECT_EQ(dataOfJobs().size(), 5U) << "one job each";
}

TEST_F(Hooks, turn_rows_and_events_into_jobs) {
  struct Row {
    const char* from;
    const char* body;
    Headers headers;
    const char* data;
  };
  const Row table[] = {
      {"/record",
       R"({"type":"INSERT","table":"t","schema":"public","record":{"id":1}})",
       {},
       R"({"id":1})"},
      {"/event/data/new",
       R"({"id":"h1","event":{"op":"INSERT","data":{"new":{"id":2}}}})",
       {},
       R"({"id":2})"},
      {"/after", R"({"after":"abc"})", {{"X-GitHub-Event", "push"}}, R"("abc")"},
      {"/data",
       R"({"specversion":"1.0","id":"1","source":"s","type":"t","data":{"id":3}})",
       {{"Content-Type", "application/cloudevents+json"}},
       R"({"id":3})"},
      {"",
       R"({"id":4})",
       {{"ce-id", "2"}, {"ce-source", "s"}, {"ce-type", "t"}, {"ce-specversion", "1.0"}},
       R"({"id":4})"},
      {"/Message",
       R"({"Type":"Notification","MessageId":"m","TopicArn":"a","Message":"{\"id\":5}"})",
       {{"Content-Type", "text/plain; charset=UTF-8"}, {"x-amz-sns-message-type", "Notification"}},
       R"({"id":5})"},
  };
  Texts expected;
  for (const Row& row : table) {
    makeHook(inputOf(R"("job_from":)" + inQuotes(row.from)));
    const Reply reply = http_.post(path(), row.body, row.headers);
    ASSERT_EQ(reply.status, 202) << row.body << reply;
    expected.insert(expected.begin(), row.data);
    EXPECT_EQ(dataOfJobs(), expected) << row.body;
  }
}

TEST_F(Hooks, ignore_what_is_not_for_them) {
  makeHook(inputOf(R"("job_from":"/record","events":["INSERT","push"])"));
  const std::pair<const char*, Headers> table[] = {
      {R"({"zen":"z"})", {{"X-GitHub-Event", "ping"}}},
      {R"({"record":1})", {{"X-GitHub-Event", "star"}}},
      {R"({"type":"DELETE","table":"t","record":null,"old_record":{"id":1}})", {}},
      {R"({"type":"UPDATE","table":"t","record":{"id":1}})", {}},
      {R"({"type":"INSERT","table":"t"})", {}}};
  for (const auto& [body, headers] : table) {
    const Reply reply = http_.post(path(), body, headers);
    EXPECT_EQ(reply.status, 202) << body << reply;
    EXPECT_EQ(reply.json["ignored"], true) << body;
    EXPECT_FALSE(reply.json["reason"].asString().empty());
  }
  EXPECT_TRUE(dataOfJobs().empty());
  EXPECT_FALSE(http_.get("/v1/triggers/" + testName()).json.isMember("last_fired_at"));
}

TEST_F(Hooks, leave_the_subscription_of_sns_to_a_person) {
  makeHook();
  const Reply reply = http_.post(
      path(),
      R"({"Type":"SubscriptionConfirmation","TopicArn":"a","SubscribeURL":"https://sns.example/confirm"})",
      {{"Content-Type", "text/plain"}, {"x-amz-sns-message-type", "SubscriptionConfirmation"}});
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.json["ignored"], true);
  EXPECT_NE(service().log().find("https://sns.example/confirm"), std::string::npos);
}

TEST_F(Hooks, make_a_job_of_each_event_of_a_batch_but_not_twice) {
  makeHook(inputOf(R"("job_from":"/data")"));
  const auto event = [](int n) {
    return R"({"specversion":"1.0","source":"s","type":"t","id":")" + std::to_string(n) +
           R"(","data":)" + std::to_string(n) + "}";
  };
  const Headers batch = {{"Content-Type", "application/cloudevents-batch+json"}};
  EXPECT_EQ(http_.post(path(), "[" + event(1) + "," + event(2) + "]", batch).status, 202);
  const Reply mixed = http_.post(path(), "[" + event(2) + "," + event(3) + "]", batch);
  EXPECT_FALSE(mixed.json.isMember("duplicate"));
  EXPECT_EQ(http_.post(path(), "[" + event(3) + "," + event(1) + "]", batch).json["duplicate"],
            true);
  EXPECT_EQ(dataOfJobs(), (Texts{"3", "2", "1"}));
  EXPECT_EQ(pool_.events("types=trigger.fired&pool_id=" + pool_.name()).size(), 2U);
}

TEST_F(Hooks, take_the_pool_from_the_message) {
  makeHook(R"(,"input":{"pool_from":"/meta/queue","job_from":"/job"})");
  const std::string pool = inQuotes(pool_.name());
  EXPECT_EQ(http_.post(path(), R"({"meta":{"queue":)" + pool + R"(},"job":1})").status, 202);
  EXPECT_EQ(http_.post(path(), R"({"pool_id":)" + pool + R"(,"job":2})").status, 202);
  EXPECT_EQ(http_.post(path() + "?pool_id=" + pool_.name(), R"({"job":3})").status, 202);
  EXPECT_EQ(dataOfJobs(), (Texts{"3", "2", "1"}));
  EXPECT_EQ(pointers(http_.post(path(), R"({"job":4})")), std::set<std::string>{"/pool_id"});
  EXPECT_EQ(pointers(http_.post(path(), R"({"meta":{"queue":"a b"},"job":4})")),
            std::set<std::string>{"/meta/queue"});
  EXPECT_TRUE(isProblem(http_.post(path(), "{"), 400, "invalid_json"));
}

TEST_F(Hooks, check_the_token_in_its_header) {
  makeHook(R"(,"auth":{"type":"token","header":"X-Secret","secrets":["old","new"]})");
  EXPECT_EQ(http_.post(path(), "", {{"X-Secret", "old"}}).status, 202);
  EXPECT_EQ(http_.post(path(), "", {{"x-secret", "new"}}).status, 202);
  EXPECT_TRUE(isProblem(http_.post(path(), "", {{"X-Secret", "bad"}}), 401, "unauthorized"));
  EXPECT_TRUE(isProblem(http_.post(path()), 401, "unauthorized"));
  EXPECT_TRUE(eventually(kPatience, [&] {
    for (const auto& event : pool_.events("types=trigger.rejected")) {
      if (event["details"]["trigger"] == testName()) return true;
    }
    return false;
  }));
}

TEST_F(Hooks, check_githubs_signature_of_the_raw_bytes) {
  makeHook(R"(,"auth":{"type":"hmac_sha256","secrets":["s3"]})");
  const std::string body = "{ \"a\" :  1 }";
  const Headers good = {{"X-Hub-Signature-256", "sha256=" + hmacSha256Hex("s3", body)}};
  EXPECT_EQ(http_.post(path(), body, good).status, 202);
  EXPECT_TRUE(isProblem(http_.post(path(), R"({"a":1})", good), 401));
}

TEST_F(Hooks, that_are_signed_take_the_pool_of_the_body_before_that_of_the_query) {
  makeHook(R"(,"auth":{"type":"hmac_sha256","secrets":["s3"]},"input":{"job_from":""})");
  const auto send = [this](const std::string& body, const std::string& pool) {
    const Headers headers = {{"X-Hub-Signature-256", "sha256=" + hmacSha256Hex("s3", body)}};
    return http_.post(path() + "?pool_id=" + pool, body, headers).status;
  };
  EXPECT_EQ(send(R"({"pool_id":)" + inQuotes(pool_.name()) + "}", name("elsewhere")), 202);
  EXPECT_EQ(dataOfJobs().size(), 1U);
  EXPECT_EQ(http_.get("/v1/pools/" + name("elsewhere")).status, 404);
  EXPECT_EQ(send(R"({"a":1})", pool_.name()), 202) << "the body names none";
  EXPECT_EQ(dataOfJobs().size(), 2U);
}

TEST_F(Hooks, check_standard_webhooks) {
  const std::string key(24, 'k');
  makeHook(R"(,"auth":{"type":"standard","secrets":["whsec_)" + encodeBase64(key) + "\"]}");
  const std::string body = R"({"type":"added"})";
  const auto headers = [&](std::int64_t when, const std::string& id) {
    const std::string stamp = std::to_string(when), content = id + "." + stamp + "." + body;
    std::array<unsigned char, 32> digest{};
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(content.data()), content.size(), digest.data(),
         &size);
    const std::string bytes(digest.begin(), digest.end());
    return Headers{{"webhook-id", id},
                   {"webhook-timestamp", stamp},
                   {"webhook-signature", "v1," + encodeBase64(bytes)}};
  };
  const std::int64_t now = std::time(nullptr);
  EXPECT_EQ(http_.post(path(), body, headers(now, "m1")).status, 202);
  EXPECT_EQ(http_.post(path(), body, headers(now, "m1")).json["duplicate"], true);
  EXPECT_TRUE(isProblem(http_.post(path(), body, headers(now - 400, "m2")), 401));
  EXPECT_TRUE(isProblem(http_.post(path(), body + " ", headers(now, "m3")), 401));
}

TEST_F(Hooks, are_counted_in_the_metrics) {
  makeHook();
  http_.post(path(), "", {{"Idempotency-Key", "k"}});
  http_.post(path(), "", {{"Idempotency-Key", "k"}});
  http_.post(path(), "{}", {{"X-GitHub-Event", "ping"}});
  const std::string metrics = http_.get("/metrics").body;
  for (const char* result : {"accepted", "duplicate", "ignored"}) {
    EXPECT_NE(metrics.find("muster_hooks_received_total{trigger=\"" + testName() + "\",result=\"" +
                           result + "\"} 1"),
              std::string::npos)
        << result;
  }
}

// With tokens configured: a signed hook stands on its own, the others need one.
TEST(HookTokens, signed_hooks_need_none_and_others_need_produce) {
  const auto token = [](const std::string& name) {
    return "  - {name: " + name + ", sha256: " + sha256Hex(name + "-secret") + ", scopes: [" +
           name + "]}\n";
  };
  Service service(
      {.store = anyStore(),
       .settings = "tokens:\n" + token("read") + token("produce") + token("admin") +
                   "triggers: {signed: {type: webhook, machine: parallelization_checker, "
                   "auth: {type: token, secrets: [abc]}}}\n"});
  Http http(service.url());
  const auto bearer = [](const std::string& text) {
    return Headers{{"Authorization", "Bearer " + text}};
  };
  EXPECT_EQ(http.post("/v1/hooks/signed", "", bearer("abc")).status, 202);
  EXPECT_TRUE(isProblem(http.post("/v1/hooks/signed", "", bearer("admin-secret")), 401));
  EXPECT_TRUE(isProblem(http.post("/v1/hooks/work_added"), 401));
  EXPECT_TRUE(isProblem(http.post("/v1/hooks/work_added", "", bearer("nonsense")), 401));
  EXPECT_TRUE(isProblem(http.post("/v1/hooks/work_added", "", bearer("read-secret")), 403));
  EXPECT_EQ(http.post("/v1/hooks/work_added", "", bearer("produce-secret")).status, 202);
  EXPECT_TRUE(isProblem(http.put("/v1/triggers/x", "{}", bearer("produce-secret")), 403));
  EXPECT_TRUE(isProblem(http.post("/v1/triggers/signed/fire", "", bearer("produce-secret")), 403));
  EXPECT_EQ(http.post("/v1/triggers/signed/fire", "", bearer("admin-secret")).status, 202);
  EXPECT_EQ(http.get("/v1/triggers", bearer("read-secret")).status, 200);
}

TEST(HookTokens, without_auto_create_a_job_for_an_unknown_pool_is_refused_whole) {
  Service service({.store = anyStore(),
                   .settings = "auto_create_pools: off\npools: {known: {}}\n"
                               "triggers: {h: {type: webhook, machine: parallelization_checker, "
                               "input: {job_from: /data}}}\n"});
  PoolClient pool(service.url(), "known");
  const auto event = [](const char* id, const char* name) {
    return std::string(R"({"specversion":"1.0","source":"s","type":"t","id":")") + id +
           R"(","data":{"pool_id":")" + name + R"("}})";
  };
  const Headers batch = {{"Content-Type", "application/cloudevents-batch+json"}};
  const std::string both = "[" + event("1", "known") + "," + event("2", "unknown") + "]";
  EXPECT_TRUE(isProblem(pool.http().post("/v1/hooks/h", both, batch), 404, "not_found"));
  EXPECT_TRUE(pool.list().empty());
  const Reply one = pool.http().post("/v1/hooks/h", "[" + event("1", "known") + "]", batch);
  EXPECT_FALSE(one.json.isMember("duplicate")) << "it was not remembered either" << one;
  EXPECT_EQ(pool.list().size(), 1U);
}

}  // namespace
}  // namespace muster::test
