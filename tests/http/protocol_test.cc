#include "tests/support/raw_connection.h"
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

using Routing = ServiceFixture;
using Bodies = ServiceFixture;
using Queries = ServiceFixture;

class Wire : public ServiceFixture {
 protected:
  std::string hostLine() const { return "Host: 127.0.0.1:" + std::to_string(service().port()); }
  std::string raw(const std::string& bytes) { return exchange(service().port(), bytes, kPatience); }
};

TEST_F(Routing, an_unknown_path_is_a_problem) {
  for (const char* path : {"/", "/v1", "/v1/", "/nope", "/v1/pool", "/v2/pools", "/v1/jobs",
                           "/v1/pools/p/jobs/batch/more", "/v1/jobs/x/explode", "//v1/pools",
                           "/favicon.ico", "/v1/pools/p/nope", "/..", "/v1/../v1/pools"}) {
    EXPECT_TRUE(isProblem(http_.get(path), 404)) << path;
  }
}

TEST_F(Routing, answers_to_unknown_paths_do_not_share_their_details) {
  const Reply first = http_.get("/nope/1", {{"X-Request-Id", "first"}});
  const Reply second = http_.get("/nope/2", {{"X-Request-Id", "second"}});
  EXPECT_EQ(first.json["request_id"], "first");
  EXPECT_EQ(second.json["request_id"], "second");
  EXPECT_EQ(second.json["instance"], "/nope/2");
}

TEST_F(Routing, paths_are_case_sensitive) {
  for (const char* path : {"/V1/pools", "/v1/Pools", "/HEALTHZ", "/v1/pools/p/STATS"}) {
    EXPECT_TRUE(isProblem(http_.get(path), 404)) << path;
  }
  EXPECT_TRUE(isProblem(http_.post("/v1/pools/p/Jobs", R"({"data":1})"), 404));
}

TEST_F(Routing, a_trailing_slash_is_another_path) {
  for (const char* path : {"/v1/pools/", "/healthz/", "/v1/pools/p/stats/", "/v1/jobs/x/"}) {
    EXPECT_TRUE(isProblem(http_.get(path), 404)) << path;
  }
}

TEST_F(Routing, ids_keep_their_case) {
  const Json::Value job = pool_.push();
  PoolClient shouted(service().url(), "A" + pool_.name().substr(1));
  EXPECT_TRUE(shouted.list().empty());
  EXPECT_EQ(pool_.list().size(), 1U);
  EXPECT_EQ(pool_.job(job)["pool_id"], pool_.name());
}

TEST_F(Routing, the_wrong_method_is_405_and_says_what_is_allowed) {
  const struct {
    const char* method;
    const char* path;
    const char* allowed;
  } cases[] = {{"DELETE", "/v1/pools", "GET"},         {"POST", "/v1/pools/p", "PUT"},
               {"GET", "/v1/pools/p/claim", "POST"},   {"PUT", "/v1/jobs/x", "GET"},
               {"GET", "/v1/jobs/x/complete", "POST"}, {"POST", "/v1/jobs/x/attempts", "GET"},
               {"PUT", "/v1/workers/w", "PATCH"},      {"POST", "/healthz", "GET"},
               {"PATCH", "/v1/pools/p/jobs", "POST"},  {"DELETE", "/metrics", "GET"},
               {"POST", "/v1/events/stream", "GET"}};
  for (const auto& [method, path, allowed] : cases) {
    const Reply reply = http_.send({method, path, "{}"});
    EXPECT_TRUE(isProblem(reply, 405)) << method << " " << path;
    EXPECT_NE(reply.header("allow").find(allowed), std::string::npos)
        << path << " Allow: " << reply.header("allow");
    EXPECT_EQ(reply.header("allow").find(method), std::string::npos) << path;
  }
}

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS
TEST_F(Routing, an_unknown_method_is_405_and_says_what_is_allowed) {
  for (const char* method : {"TRACE", "CONNECTED", "PROPFIND", "get", "X-1"}) {
    for (const char* body : {"", R"({"data": "GET / HTTP/1.1\r\n\r\n"})"}) {
      const Reply reply = http_.send({method, pool_.path("/jobs"), body});
      EXPECT_TRUE(isProblem(reply, 405, "method_not_allowed")) << method;
      EXPECT_NE(reply.header("allow").find("POST"), std::string::npos) << reply.header("allow");
    }
    EXPECT_TRUE(isProblem(http_.send({method, "/nope"}), 404)) << method;
    EXPECT_EQ(http_.get("/healthz").status, 200) << "the connection is still in step";
  }
}

TEST_F(Wire, an_unknown_method_is_found_between_others) {
  const std::string host = " HTTP/1.1\r\n" + hostLine();
  RawConnection connection(service().port());
  ASSERT_TRUE(connection.send("POST " + pool_.path("/jobs") + host +
                              "\r\nContent-Length: 24\r\n\r\n" + R"({"data":"TRACE / HTTP/"})" +
                              "TRACE /healthz" + host + "\r\n\r\n" + "BREW /healthz" + host +
                              "\r\nContent-Length: 3\r\n\r\nGET" + "GET /healthz" + host +
                              "\r\nX-Request-Id: last\r\n\r\n"));
  const std::string answers = connection.receive(20s, "last");
  std::size_t at = 0;
  for (const char* status : {"HTTP/1.1 201", "HTTP/1.1 405", "HTTP/1.1 405", "HTTP/1.1 200"}) {
    at = answers.find(status, at);
    ASSERT_NE(at, std::string::npos) << status << " in " << answers;
    ++at;
  }
}
#endif

TEST_F(Routing, head_is_get_without_a_body) {
  const Json::Value job = pool_.push();
  for (const std::string& path :
       {std::string("/healthz"), "/v1/jobs/" + job["id"].asString(), pool_.path("/stats")}) {
    const Reply head = http_.send({"HEAD", path});
    EXPECT_EQ(head.status, 200) << path;
    EXPECT_TRUE(head.body.empty()) << path;
  }
  EXPECT_EQ(http_.send({"HEAD", "/nope"}).status, 404);
  EXPECT_EQ(http_.get("/healthz").status, 200) << "the connection is still in step";
}

TEST_F(Routing, options_tells_the_methods) {
  const Reply reply = http_.send({"OPTIONS", pool_.path("/jobs")});
  EXPECT_TRUE(reply.ok()) << reply;
  EXPECT_NE(reply.header("allow").find("GET"), std::string::npos) << reply.header("allow");
  EXPECT_NE(reply.header("allow").find("POST"), std::string::npos) << reply.header("allow");
  EXPECT_TRUE(isProblem(http_.send({"OPTIONS", "/nope"}), 404));
}

TEST_F(Routing, ids_have_their_alphabet_and_length) {
  for (const char* id : {"a%20b", "%C3%A4", "a%2Bb", "a@b", "a%00b", "a,b", "%7B%7D", "a'b"}) {
    const Reply pool = http_.get(std::string("/v1/pools/") + id + "/stats");
    EXPECT_TRUE(isProblem(pool, 422, "invalid_id")) << id;
    EXPECT_TRUE(isProblem(http_.get(std::string("/v1/jobs/") + id), 422, "invalid_id")) << id;
    EXPECT_TRUE(isProblem(http_.get(std::string("/v1/workers/") + id), 422, "invalid_id")) << id;
  }
  const std::string longest = "/v1/pools/" + std::string(128, 'x');
  EXPECT_EQ(http_.get(longest + "/stats").status, 200);
  EXPECT_TRUE(isProblem(http_.get(longest + "x/stats"), 422, "invalid_id"));
  EXPECT_EQ(http_.get("/v1/pools/a.b_c~d:e-f/stats").status, 200);
}

TEST_F(Routing, a_number_too_large_in_a_path_is_just_an_id) {
  EXPECT_TRUE(isProblem(http_.get("/v1/jobs/99999999999999999999999999"), 404));
}

TEST_F(Bodies, are_json_whatever_their_content_type) {
  for (const char* type : {"application/json", "application/json; charset=utf-8", "text/plain",
                           "application/x-www-form-urlencoded", "application/octet-stream",
                           "multipart/form-data; boundary=x", "nonsense", ""}) {
    const Reply reply = pool_.tryPush(R"("data":1)", {{"Content-Type", type}});
    EXPECT_EQ(reply.status, 201) << type << " " << reply;
  }
}

TEST_F(Bodies, an_unknown_field_is_422_everywhere) {
  const Json::Value job = pool_.push();
  pool_.registerWorker(name("w"));
  for (const std::string& path :
       {pool_.path("/jobs"), pool_.path("/claim"), pool_.path("/reports"), pool_.path("/purge"),
        pool_.path("/reap"), std::string("/v1/reap"), std::string("/v1/workers"),
        "/v1/workers/" + name("w") + "/heartbeat", "/v1/jobs/" + job["id"].asString() + "/complete",
        "/v1/jobs/" + job["id"].asString() + "/fail", "/v1/jobs/" + job["id"].asString() + "/renew",
        "/v1/jobs/" + job["id"].asString() + "/release",
        "/v1/jobs/" + job["id"].asString() + "/progress",
        "/v1/jobs/" + job["id"].asString() + "/cancel"}) {
    const Reply reply = http_.post(path, R"({"nope":1})");
    EXPECT_TRUE(isProblem(reply, 422)) << path;
    EXPECT_TRUE(pointers(reply).contains("/nope")) << path << " " << reply;
    EXPECT_TRUE(isProblem(http_.post(path, "{"), 400)) << path;
    EXPECT_TRUE(isProblem(http_.post(path, "[1]"), 422)) << path;
  }
}

TEST_F(Queries, bad_values_are_400) {
  const std::string jobs = pool_.path("/jobs?");
  for (const std::string& path :
       {jobs + "limit=0", jobs + "limit=201", jobs + "limit=x", jobs + "limit=", jobs + "limit=1.5",
        jobs + "limit=99999999999999999999", jobs + "status=nope", jobs + "created_after=yesterday",
        jobs + "cursor=%21%21garbage", jobs + "tenant=", std::string("/v1/jobs/x?wait_seconds=31"),
        std::string("/v1/jobs/x?wait_seconds=-1"), std::string("/v1/jobs/x?wait_seconds=nan"),
        std::string("/v1/workers?limit=-1"), std::string("/v1/pools?limit=abc"),
        std::string("/v1/workers?pool_id=a%20b")}) {
    EXPECT_TRUE(isProblem(http_.get(path), 400)) << path;
  }
}

TEST_F(Wire, the_request_id_comes_back_or_is_made_up) {
  EXPECT_EQ(http_.get("/healthz", {{"X-Request-Id", "abc-123"}}).header("x-request-id"), "abc-123");
  const std::string first = http_.get("/healthz").header("x-request-id");
  const std::string second = http_.get("/healthz").header("x-request-id");
  EXPECT_FALSE(first.empty());
  EXPECT_NE(first, second);
  const Reply odd = http_.get("/nope", {{"X-Request-Id", std::string(5000, 'x') + "\"<>"}});
  EXPECT_TRUE(isProblem(odd, 404));
  EXPECT_LE(odd.header("x-request-id").size(), 256U);
}

TEST_F(Wire, the_host_must_be_ours) {
  const std::string port = std::to_string(service().port());
  for (const std::string& host :
       {"localhost:" + port, std::string("localhost"), "127.0.0.1:" + port,
        std::string("[::1]:") + port, std::string("LOCALHOST")}) {
    EXPECT_EQ(http_.get("/v1/pools", {{"Host", host}}).status, 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "127.0.0.1.evil.example",
                           "localhost.evil.example", "10.0.0.1", "evil.example@localhost"}) {
    EXPECT_TRUE(isProblem(http_.get("/v1/pools", {{"Host", host}}), 421, "misdirected_host"))
        << host;
    EXPECT_TRUE(isProblem(http_.get("/nope", {{"Host", host}}), 421, "misdirected_host")) << host;
  }
}

TEST_F(Wire, a_configured_host_is_ours) {
  Service own({.store = anyStore(), .settings = "allowed_hosts: [jobs.example]\n"});
  Http http(own.url());
  EXPECT_EQ(http.get("/v1/pools", {{"Host", "jobs.example"}}).status, 200);
  EXPECT_TRUE(isProblem(http.get("/v1/pools", {{"Host", "evil.example"}}), 421));
}

TEST_F(Wire, a_foreign_origin_is_refused) {
  for (const char* origin :
       {"http://evil.example", "null", "https://127.0.0.1:1", "http://localhost.evil.example"}) {
    EXPECT_TRUE(
        isProblem(pool_.tryPush(R"("data":1)", {{"Origin", origin}}), 403, "origin_not_allowed"))
        << origin;
  }
  EXPECT_EQ(pool_.stats()["queue_depth"], 0);
  EXPECT_EQ(pool_.tryPush(R"("data":1)", {{"Origin", service().url()}}).status, 201);
}

TEST_F(Wire, a_configured_origin_is_allowed) {
  Service own({.store = anyStore(), .settings = "allowed_origins: [\"https://app.example\"]\n"});
  PoolClient pool(own.url(), "p");
  EXPECT_EQ(pool.tryPush(R"("data":1)", {{"Origin", "https://app.example"}}).status, 201);
  EXPECT_TRUE(isProblem(pool.tryPush(R"("data":1)", {{"Origin", "https://evil.example"}}), 403));
}

TEST_F(Wire, headers_over_16_KiB_are_refused) {
  EXPECT_EQ(http_.get("/healthz", {{"X-Padding", std::string(15 * 1024, 'x')}}).status, 200);
  const Reply reply = http_.get("/v1/pools", {{"X-Padding", std::string(17 * 1024, 'x')}});
  EXPECT_GE(reply.status, 400) << reply;
  EXPECT_TRUE(isProblem(reply, reply.status));
  EXPECT_LT(reply.status, 500) << reply;
  raw("GET /healthz HTTP/1.1\r\n" + hostLine() + "\r\nX: " + std::string(200'000, 'x'));
  EXPECT_EQ(http_.get("/healthz").status, 200);
}

TEST_F(Wire, two_requests_in_one_packet_are_answered_in_order) {
  const auto request = [this](const std::string& id) {
    return "GET /healthz HTTP/1.1\r\n" + hostLine() + "\r\nX-Request-Id: " + id + "\r\n\r\n";
  };
  RawConnection connection(service().port());
  ASSERT_TRUE(connection.send(request("one") + request("two")));
  std::string answers = connection.receive(kPatience, "two");
  EXPECT_LT(answers.find("one"), answers.find("two")) << answers;
}

TEST_F(Wire, a_request_in_small_pieces_is_understood) {
  const std::string body = R"({"data":1})";
  const std::string request = "POST " + pool_.path("/jobs") + " HTTP/1.1\r\n" + hostLine() +
                              "\r\nContent-Length: " + std::to_string(body.size()) +
                              "\r\nConnection: close\r\n\r\n" + body;
  RawConnection connection(service().port());
  for (const char byte : request) ASSERT_TRUE(connection.send(std::string_view(&byte, 1)));
  EXPECT_EQ(connection.receive(kPatience).substr(0, 12), "HTTP/1.1 201");
}

TEST_F(Wire, a_chunked_body_is_understood) {
  const std::string answer = raw("POST " + pool_.path("/jobs") + " HTTP/1.1\r\n" + hostLine() +
                                 "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                                 "5\r\n{\"dat\r\n5\r\na\":1}\r\n0\r\n\r\n");
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 201") << answer;
}

TEST_F(Wire, garbage_is_survived) {
  for (const std::string& bytes :
       {std::string("\x16\x03\x01 hello"), std::string("GET\r\n\r\n"), std::string("\r\n\r\n"),
        "BREW /coffee HTTP/1.1\r\n" + hostLine() + "\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n" + hostLine() + "\r\n\r\n",
        "POST /v1/tick HTTP/1.1\r\n" + hostLine() + "\r\nContent-Length: -5\r\n\r\n",
        "POST /v1/tick HTTP/1.1\r\n" + hostLine() + "\r\nContent-Length: 99999999999999\r\n\r\n",
        "GET /v1/jobs/%zz HTTP/1.1\r\n" + hostLine() + "\r\n\r\n",
        std::string("GET /v1/pools HTTP/1.1\r\nConnection: close\r\n\r\n"), std::string(3, '\0')}) {
    RawConnection connection(service().port());
    connection.send(bytes);
    const std::string answer = connection.receive(300ms, "\r\n\r\n");
    EXPECT_NE(answer.substr(0, 10), "HTTP/1.1 5") << bytes << answer;
  }
  EXPECT_EQ(http_.get("/healthz").status, 200);
}

}  // namespace
}  // namespace muster::test
