#include "tests/support/raw_connection.h"
#include "tests/support/service_fixture.h"

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS

namespace muster::test {
namespace {

constexpr std::size_t kMiB = 1U << 20;

// "the-secret" has all scopes. Bodies may have 1 MiB.
constexpr const char* kSettings =
    "tokens: [{name: t, sha256: "
    "5a90063288c04e4df59164f25bacb191f42f8f7e11b127030cb01fffd22af956, scopes: [admin]}]\n"
    "max_body_bytes: 1048576\nmax_buffered_bytes: 2097152\n";

class BodyLimit : public testing::Test {
 protected:
  static Service& service() {
    static Service made({.store = anyStore(), .settings = kSettings});
    return made;
  }
  static std::string head(const std::string& path, const std::string& headers,
                          const std::string& host = "localhost") {
    return "POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n";
  }
  static std::string push(const std::string& headers) {
    return head("/v1/pools/p/jobs", "Authorization: Bearer the-secret\r\n" + headers);
  }
  // What is answered to the bytes while no more are sent; the connection is closed then.
  static Reply refusal(const std::string& bytes) {
    std::string answer = exchange(service().port(), bytes, kPatience);
    Reply reply = takeReply(answer);
    EXPECT_EQ(answer, "");
    return reply;
  }
};

TEST_F(BodyLimit, what_the_head_decides_is_answered_before_the_body_is_read) {
  const std::string size = "Content-Length: 1048576\r\n";
  const std::string token = "Authorization: Bearer the-secret\r\n" + size;
  const std::string jobs = "/v1/pools/p/jobs";
  EXPECT_TRUE(isProblem(refusal(head(jobs, size)), 401, "unauthorized"));
  EXPECT_TRUE(isProblem(refusal(head(jobs, "Authorization: Bearer x\r\n" + size)), 401));
  EXPECT_TRUE(isProblem(refusal(head(jobs, token, "evil.example")), 421, "misdirected_host"));
  EXPECT_TRUE(isProblem(refusal(head(jobs, "Origin: http://evil.example\r\n" + token)), 403,
                        "origin_not_allowed"));
  EXPECT_TRUE(isProblem(refusal(head("/nope", token)), 404, "not_found"));
  const Reply wrong_method = refusal(head("/v1/pools", token));
  EXPECT_TRUE(isProblem(wrong_method, 405, "method_not_allowed"));
  EXPECT_NE(wrong_method.header("allow").find("GET"), std::string::npos);
}

TEST_F(BodyLimit, a_length_above_the_limit_is_refused_by_the_head_alone) {
  EXPECT_TRUE(isProblem(refusal(push("Content-Length: 1048577\r\n")), 413, "body_too_large"));
  EXPECT_TRUE(isProblem(refusal(push("Content-Length: 99999999999999\r\n")), 413));
  EXPECT_TRUE(isProblem(refusal(push("Content-Length: 1048577\r\nExpect: 100-continue\r\n")), 413))
      << "and not with 100 first";
}

TEST_F(BodyLimit, chunks_are_refused_when_they_announce_too_much) {
  const std::string chunked = push("Transfer-Encoding: chunked\r\n");
  EXPECT_TRUE(isProblem(refusal(chunked + "100001\r\n"), 413, "body_too_large"));
  EXPECT_TRUE(isProblem(
      refusal(chunked + "80000\r\n" + std::string(kMiB / 2, 'x') + "\r\n80001\r\n"), 413));
  EXPECT_TRUE(isProblem(refusal(chunked + "fffffffffffffff\r\n"), 413));
}

TEST_F(BodyLimit, a_body_of_the_largest_size_is_taken) {
  const std::string frame = R"({"data":""})";
  const std::string body = R"({"data":")" + std::string(kMiB - frame.size(), 'x') + "\"}";
  EXPECT_EQ(refusal(push("Content-Length: 1048576\r\nConnection: close\r\n") + body).status, 201);
  EXPECT_EQ(refusal(push("Transfer-Encoding: chunked\r\nConnection: close\r\n") + "100000\r\n" +
                    body + "\r\n0\r\n\r\n")
                .status,
            201);
}

TEST_F(BodyLimit, a_client_that_reads_only_when_all_is_sent_sees_the_refusal) {
  constexpr std::size_t kMuch = 10 * kMiB;  // more than the sockets hold
  const std::string length = "Content-Length: " + std::to_string(kMuch) + "\r\n";
  EXPECT_TRUE(isProblem(refusal(push(length) + std::string(kMuch, 'x')), 413));
}

TEST_F(BodyLimit, a_client_that_waits_for_100_gets_it_when_the_body_is_wanted) {
  for (const char* headers : {"Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n"}) {
    RawConnection connection(service().port());
    ASSERT_TRUE(connection.send(push(std::string(headers) + "Expect: 100-continue\r\n")));
    std::string answer = connection.receive(kPatience, "\r\n\r\n");
    EXPECT_EQ(takeReply(answer).status, 100) << headers;
    const bool chunked = headers[0] == 'T';
    ASSERT_TRUE(connection.send(chunked ? "a\r\n{\"data\":1}\r\n0\r\n\r\n" : R"({"data":1})"));
    answer += connection.receive(kPatience, "\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 201")) << answer;
  }
  EXPECT_TRUE(isProblem(
      refusal(head("/v1/pools/p/jobs", "Content-Length: 10\r\nExpect: 100-continue\r\n")), 401));
}

TEST_F(BodyLimit, a_hook_takes_a_body_without_a_token_up_to_the_limit) {
  const std::string hook = "/v1/hooks/work_added";
  EXPECT_TRUE(isProblem(refusal(head(hook, "Content-Length: 1048577\r\n")), 413));
  RawConnection connection(service().port());
  ASSERT_TRUE(connection.send(head(hook, "Content-Length: 10\r\n")));
  ASSERT_TRUE(connection.send("0123456789"));
  std::string answer = connection.receive(kPatience, "\r\n\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401")) << "the hook itself asks: " << answer;
}

TEST_F(BodyLimit, large_bodies_find_room_or_are_refused) {
  {
    // Two of them are under way, once the service has asked for their bodies.
    const std::string asking = push("Content-Length: 1048576\r\nExpect: 100-continue\r\n");
    RawConnection one(service().port()), two(service().port());
    for (RawConnection* connection : {&one, &two}) {
      ASSERT_TRUE(connection->send(asking));
      std::string answer = connection->receive(kPatience, "\r\n\r\n");
      ASSERT_EQ(takeReply(answer).status, 100);
      connection->send("{");
    }
    const Reply refused = refusal(asking);
    EXPECT_TRUE(isProblem(refused, 503, "store_busy"));
    EXPECT_FALSE(refused.header("retry-after").empty());
    Http http(service().url());
    EXPECT_EQ(
        http.post("/v1/pools/p/jobs", R"({"data":1})", {{"Authorization", "Bearer the-secret"}})
            .status,
        201)
        << "small ones are served";
  }
  const std::string body = R"({"data":")" + std::string(kMiB - 11, 'x') + "\"}";
  EXPECT_TRUE(eventually(kPatience, [&] {
    return refusal(push("Content-Length: 1048576\r\nConnection: close\r\n") + body).status == 201;
  })) << "the room of those that went is free again";
}

}  // namespace
}  // namespace muster::test

#endif
