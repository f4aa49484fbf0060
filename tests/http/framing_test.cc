#include "tests/support/raw_connection.h"
#include "tests/support/service_fixture.h"

#ifdef MUSTER_FRAMEWORK_TELLS_OF_CONNECTIONS

namespace muster::test {
namespace {

class Framing : public ServiceFixture {
 protected:
  std::string hostLine() const {
    return "Host: 127.0.0.1:" + std::to_string(service().port()) + "\r\n";
  }
  std::string post(const std::string& headers) const {
    return "POST " + pool_.path("/jobs") + " HTTP/1.1\r\n" + hostLine() + headers + "\r\n";
  }
  std::string get(const std::string& id) const {
    return "GET /healthz HTTP/1.1\r\n" + hostLine() + "X-Request-Id: " + id + "\r\n\r\n";
  }
};

TEST_F(Framing, a_request_that_two_readers_could_understand_in_two_ways_is_refused) {
  const std::string start = "GET /healthz HTTP/1.1\r\n";
  const std::pair<const char*, std::string> cases[] = {
      {"a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")},
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n")},
      {"a list of lengths", post("Content-Length: 5, 6\r\n")},
      {"a length with a sign", post("Content-Length: +5\r\n")},
      {"a negative length", post("Content-Length: -5\r\n")},
      {"a length that is no number", post("Content-Length: five\r\n")},
      {"a length that overflows", post("Content-Length: 18446744073709551621\r\n")},
      {"an unknown coding", post("Transfer-Encoding: gzip, chunked\r\n")},
      {"a chunk with a bad size", post("Transfer-Encoding: chunked\r\n") + "0x5\r\n"},
      {"a chunk with a negative size", post("Transfer-Encoding: chunked\r\n") + "-5\r\n"},
      {"a chunk that is too long", post("Transfer-Encoding: chunked\r\n") + "1\r\nxx\r\n"},
      {"a chunk that ends with LF", post("Transfer-Encoding: chunked\r\n") + "1\nx"},
      {"LF", "GET /healthz HTTP/1.1\n" + hostLine() + "\r\n"},
      {"LF between headers", start + "A: b\n" + hostLine() + "\r\n"},
      {"a NUL", start + hostLine() + "A: " + std::string(1, '\0') + "\r\n\r\n"},
      {"a folded header", start + hostLine() + "A: b\r\n c: d\r\n\r\n"},
      {"a space before a colon", start + hostLine() + "Content-Length : 5\r\n\r\n"},
      {"no host", start + "\r\n"},
      {"two hosts", start + hostLine() + hostLine() + "\r\n"},
      {"another version", "GET /healthz HTTP/1.2\r\n" + hostLine() + "\r\n"},
      {"TLS", std::string("\x16\x03\x01\x02")},
  };
  for (const auto& [why, bytes] : cases) {
    RawConnection connection(service().port());
    ASSERT_TRUE(connection.send(bytes));
    std::string answer = connection.receive(kPatience);
    EXPECT_TRUE(connection.closed()) << why;
    EXPECT_TRUE(isProblem(takeReply(answer), 400, "invalid_header")) << why;
    EXPECT_EQ(answer, "") << why;
  }
  EXPECT_EQ(pool_.stats()["queue_depth"], 0);
}

TEST_F(Framing, what_comes_behind_a_malformed_request_is_not_read) {
  RawConnection connection(service().port());
  const std::string push = post("Content-Length: 10\r\n") + R"({"data":1})";
  ASSERT_TRUE(connection.send(push + post("Content-Length: 5\r\nContent-Length: 6\r\n") + push));
  std::string answers = connection.receive(kPatience);
  EXPECT_EQ(takeReply(answers).status, 201) << "the answer to the one before comes first";
  EXPECT_EQ(takeReply(answers).status, 400);
  EXPECT_EQ(answers, "");
  EXPECT_EQ(pool_.stats()["queue_depth"], 1);
}

TEST_F(Framing, a_refusal_waits_for_the_answers_before_it) {
  const std::string claim = R"({"wait_seconds":30,"worker_id":"w"})";
  RawConnection connection(service().port());
  ASSERT_TRUE(connection.send("POST " + pool_.path("/claim") + " HTTP/1.1\r\n" + hostLine() +
                              "Content-Length: " + std::to_string(claim.size()) + "\r\n\r\n" +
                              claim + "nonsense\r\n\r\n"));
  pool_.push();
  std::string answers = connection.receive(kPatience);
  EXPECT_EQ(takeReply(answers).status, 200);
  EXPECT_TRUE(isProblem(takeReply(answers), 400));
}

TEST_F(Framing, requests_behind_a_chunked_body_are_answered) {
  RawConnection connection(service().port());
  const std::string chunked = post("Transfer-Encoding: chunked\r\n") +
                              "5;a=b\r\n{\"dat\r\n5\r\na\":1}\r\n0\r\nTrailer: x\r\n\r\n";
  ASSERT_TRUE(connection.send(chunked + get("between") + chunked + get("last")));
  std::string answers = connection.receive(kPatience, "last");
  EXPECT_EQ(takeReply(answers).status, 201);
  EXPECT_EQ(takeReply(answers).header("x-request-id"), "between");
  EXPECT_EQ(takeReply(answers).status, 201);
  EXPECT_EQ(pool_.stats()["queue_depth"], 2);
}

TEST_F(Framing, a_chunked_body_may_come_byte_by_byte) {
  RawConnection connection(service().port());
  const std::string chunked = post("Transfer-Encoding: chunked\r\nConnection: close\r\n") +
                              "a\r\n{\"data\":1}\r\n0\r\n\r\n";
  for (const char byte : chunked) ASSERT_TRUE(connection.send(std::string_view(&byte, 1)));
  std::string answer = connection.receive(kPatience);
  EXPECT_EQ(takeReply(answer).status, 201);
}

TEST_F(Framing, an_upgrade_is_not_taken_up) {
  RawConnection connection(service().port());
  ASSERT_TRUE(connection.send("GET /healthz HTTP/1.1\r\n" + hostLine() +
                              "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + get("next")));
  std::string answers = connection.receive(kPatience, "next");
  EXPECT_EQ(takeReply(answers).status, 200);
  EXPECT_EQ(takeReply(answers).header("x-request-id"), "next");
}

TEST_F(Framing, HTTP_1_0_needs_no_host) {
  std::string answer = exchange(service().port(), "GET /healthz HTTP/1.0\r\n\r\n", kPatience);
  EXPECT_EQ(takeReply(answer).status, 200);
}

}  // namespace
}  // namespace muster::test

#endif
