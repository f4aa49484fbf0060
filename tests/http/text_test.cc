#include <set>

#include "models/json/utf8.h"
#include "models/store/random.h"
#include "tests/support/raw_connection.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Text = ServiceFixture;

const std::vector<std::string> kNoText = {"\xff", "\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80",
                                          "a\x80z"};

TEST_F(Text, that_is_no_utf8_is_refused_in_bodies) {
  pool_.registerWorker(name("w"));
  const Json::Value claimed = [this] {
    pool_.push();
    return pool_.claimOne(name("w"));
  }();
  const std::string job = "/v1/jobs/" + claimed["id"].asString();
  const std::string lease = R"("lease_token":")" + claimed["lease_token"].asString() + '"';
  for (const std::string& bytes : kNoText) {
    const std::string text = '"' + bytes + '"';
    const std::pair<std::string, std::string> bodies[] = {
        {pool_.path("/jobs"), R"({"data":)" + text + "}"},
        {pool_.path("/jobs"), R"({"data":{)" + text + ":1}}"},
        {pool_.path("/jobs"), R"({"data":1,"tenant":)" + text + "}"},
        {pool_.path("/jobs/batch"), R"({"items":[{"data":)" + text + "}]}"},
        {pool_.path("/claim"), R"({"worker_id":)" + text + "}"},
        {pool_.path("/reports"), R"({"items":[{"job_id":"j","outcome":)" + text + "}]}"},
        {job + "/complete", "{" + lease + R"(,"result":)" + text + "}"},
        {job + "/fail", "{" + lease + R"(,"error":)" + text + "}"},
        {job + "/progress", "{" + lease + R"(,"progress":0.1,"message":)" + text + "}"},
        {"/v1/workers", R"({"metadata":{"a":)" + text + "}}"},
        {"/v1/workers/" + name("w") + "/heartbeat", R"({"metrics":{"a":)" + text + "}}"}};
    for (const auto& [path, body] : bodies) {
      EXPECT_TRUE(isProblem(http_.post(path, body), 400, "invalid_json")) << path << " " << body;
    }
  }
  EXPECT_EQ(pool_.job(claimed)["status"], "claimed");
}

// Everything that a client says and an answer may repeat.
TEST_F(Text, of_every_answer_is_utf8_whatever_is_asked) {
  Service own;
  Random random;
  const std::vector<std::string> places = {
      "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/jobs/{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/pools/{}/stats HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "PATCH /v1/pools/p/jobs/{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
      "GET /v1/pools/p/jobs?{}=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/pools/p/jobs?tenant={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/events?types={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/workers?capability={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/workers?cursor={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET /v1/pools HTTP/1.1\r\nHost: {}\r\n\r\n",
      "GET /v1/pools HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\n\r\n",
      "GET /v1/pools HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\n\r\n",
      "GET /v1/pools HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {}\r\n\r\n",
      "GET /v1/events/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: {}\r\n\r\n",
      "DELETE /v1/pools/p HTTP/1.1\r\nHost: localhost\r\nIf-Match: {}\r\n\r\n",
      "POST /v1/tick HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: {}\r\n"
      "Content-Length: 0\r\n\r\n",
      "POST /v1/hooks/{} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
      "POST /v1/hooks/work_added HTTP/1.1\r\nHost: localhost\r\nWebhook-Id: {}\r\n"
      "Content-Length: 0\r\n\r\n",
      "POST /v1/hooks/work_added HTTP/1.1\r\nHost: localhost\r\nX-GitHub-Event: {}\r\n"
      "Content-Length: 0\r\n\r\n",
      "OPTIONS /v1/hooks/work_added HTTP/1.1\r\nHost: localhost\r\n"
      "WebHook-Request-Origin: {}\r\n\r\n",
      "POST /v1/pools/p/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200\r\n\r\n{}"};
  std::size_t answered = 0;
  for (const std::string& place : places) {
    for (int i = 0; i < 25; ++i) {
      std::string bytes;
      for (int length = 1 + i % 5; length > 0; --length) {
        std::uint8_t byte = 0;
        random.bytes(&byte, 1);
        bytes += static_cast<char>(byte | 0x80U);
      }
      std::string escaped;
      for (const char c : bytes) {
        escaped += '%' + toHex(reinterpret_cast<const std::uint8_t*>(&c), 1);
      }
      for (const std::string& said : {bytes, escaped}) {
        std::string request = place;
        request.replace(request.find("{}"), 2, said);
        if (place.ends_with("{}")) request += std::string(200 - said.size(), ' ');
        request.insert(request.find("\r\n") + 2, "Connection: close\r\n");
        const std::string reply = exchange(own.port(), request, kPatience);
        EXPECT_TRUE(isUtf8(reply)) << place << "\n" << reply;
        if (!reply.empty()) ++answered;
      }
    }
  }
  EXPECT_GT(answered, places.size() * 40) << "nearly all were answered";
  EXPECT_TRUE(own.running());
  EXPECT_TRUE(isUtf8(own.log())) << own.log();
}

TEST_F(Text, of_a_query_must_be_utf8) {
  for (const std::string query : {"?tenant=%ff", "?%ff=1", "?tenant=%ed%a0%80"}) {
    EXPECT_TRUE(isProblem(http_.get(pool_.path("/jobs" + query)), 400, "invalid_query")) << query;
  }
  EXPECT_EQ(http_.get(pool_.path("/jobs?tenant=%c3%a4")).status, 200);
}

TEST_F(Text, a_traceparent_that_is_not_valid_is_ignored) {
  const std::string ids = "-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
  const std::string none = "00-" + std::string(32, '0') + "-00f067aa0ba902b7-01";
  for (const std::string& bad :
       {"ff" + ids + "01", "00" + ids + "0g", none, "00" + ids + "\xff\xff",
        std::string("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01")}) {
    const Reply pushed = pool_.tryPush(R"("data":1)", {{"traceparent", bad}});
    ASSERT_EQ(pushed.status, 201) << pushed;
    EXPECT_FALSE(pushed.json.isMember("traceparent")) << bad;
    EXPECT_FALSE(pool_.claimOne().isMember("traceparent")) << bad;
  }
  const Reply later = pool_.tryPush(R"("data":1)", {{"traceparent", "01" + ids + "01-more"}});
  EXPECT_EQ(later.json["traceparent"], "00" + ids + "01");
}

TEST_F(Text, of_the_handshake_cannot_make_headers) {
  const auto ask = [](const std::string& origin) {
    return exchange(service().port(),
                    "OPTIONS /v1/hooks/work_added HTTP/1.1\r\nHost: localhost\r\n"
                    "Connection: close\r\nWebHook-Request-Origin: " +
                        origin + "\r\n\r\n",
                    kPatience);
  };
  EXPECT_NE(ask("sender.example.org").find("webhook-allowed-origin: sender.example.org"),
            std::string::npos);
  for (const std::string bad :
       {"a\nX-Injected: 1", "a\rX-Injected: 1", "a b", "a\tb", "\x7f", "\xc3\xa4"}) {
    const std::string reply = ask(bad);
    EXPECT_TRUE(reply.empty() || reply.starts_with("HTTP/1.1 400")) << bad << "\n" << reply;
    EXPECT_EQ(reply.find("webhook-allowed-origin"), std::string::npos) << reply;
  }
}

TEST_F(Text, of_answers_is_not_guessed_at_nor_kept) {
  const Json::Value job = pool_.push();
  for (const std::string& path :
       {std::string("/healthz"), std::string("/v1/pools"), "/v1/jobs/" + job["id"].asString(),
        std::string("/metrics"), std::string("/docs"), std::string("/openapi.json"),
        std::string("/no-such-path"), std::string("/v1/jobs/no-such-job")}) {
    const Reply reply = http_.get(path);
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff") << path;
    EXPECT_EQ(reply.header("cache-control"), "no-store") << path;
  }
  const Reply page = http_.get("/docs");
  const std::string policy = page.header("content-security-policy");
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos) << policy;
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  // The page has one script and one style, and no handler or style in its tags.
  EXPECT_EQ(page.body.find("<script", page.body.find("<script") + 1), std::string::npos);
  EXPECT_EQ(page.body.find("<style", page.body.find("<style") + 1), std::string::npos);
  EXPECT_EQ(page.body.find(" style="), std::string::npos);
  EXPECT_EQ(page.body.find(" onclick="), std::string::npos);
}

}  // namespace
}  // namespace muster::test
