#include "controllers/request_head.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using State = RequestHead::State;

TEST(RequestHead, ends_with_an_empty_line_and_counts_the_body) {
  const struct {
    const char* why;
    std::string_view bytes;
    State state;
    std::string_view method;
    std::size_t size, body_size;
  } cases[] = {
      {"nothing yet", "", State::kIncomplete, "", 0, 0},
      {"half a method", "TRA", State::kIncomplete, "", 0, 0},
      {"half a head", "GET / HTTP/1.1\r\nHost: a\r\n", State::kIncomplete, "", 0, 0},
      {"no headers", "GET / HTTP/1.1\r\n\r\nmore", State::kComplete, "GET", 18, 0},
      {"no body", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", State::kComplete, "TRACE", 29, 0},
      {"a body", "PUT / HTTP/1.1\r\ncontent-LENGTH:  7 \r\n\r\n1234567", State::kComplete, "PUT",
       39, 7},
      {"chunked", "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", State::kUnclear, "PUT", 0,
       0},
      {"to be upgraded", "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n", State::kUnclear, "", 0, 0},
      {"two lengths", "PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
       State::kUnclear, "", 0, 0},
      {"a sign", "PUT / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", State::kUnclear, "", 0, 0},
      {"no digits", "PUT / HTTP/1.1\r\nContent-Length: \r\n\r\n", State::kUnclear, "", 0, 0},
      {"more than digits", "PUT / HTTP/1.1\r\nContent-Length: 5x\r\n\r\n", State::kUnclear, "PUT",
       0, 0},
      {"too many digits", "PUT / HTTP/1.1\r\nContent-Length: 1234567890123456789\r\n\r\n",
       State::kUnclear, "", 0, 0},
      {"a line without a colon", "GET / HTTP/1.1\r\nnonsense\r\n\r\n", State::kUnclear, "GET", 0,
       0},
      {"a folded line", "GET / HTTP/1.1\r\nA: b\r\n c: d\r\n\r\n", State::kUnclear, "", 0, 0},
      {"a method alone", "GET\r\n\r\n", State::kUnclear, "", 0, 0},
      {"TLS", "\x16\x03\x01 hello", State::kUnclear, "", 0, 0},
      {"a method of 33 characters", "ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567 / HTTP/1.1\r\n\r\n",
       State::kUnclear, "", 0, 0},
  };
  for (const auto& expected : cases) {
    const RequestHead head = readRequestHead(expected.bytes);
    EXPECT_EQ(head.state, expected.state) << expected.why;
    if (expected.state != State::kComplete) continue;
    EXPECT_EQ(head.method, expected.method) << expected.why;
    EXPECT_EQ(head.size, expected.size) << expected.why;
    EXPECT_EQ(head.body_size, expected.body_size) << expected.why;
  }
}

TEST(RequestHead, that_never_ends_is_left_to_the_framework) {
  EXPECT_EQ(readRequestHead("GET / HTTP/1.1\r\nX: " + std::string(70'000, 'x')).state,
            State::kUnclear);
}

TEST(RequestHead, an_unknown_method_travels_in_the_path) {
  EXPECT_TRUE(isFrameworkMethod("PATCH"));
  EXPECT_FALSE(isFrameworkMethod("patch"));
  EXPECT_FALSE(isFrameworkMethod("TRACE"));
  const std::string line = beginOfRenamed("TRACE") + "/v1/pools";
  ASSERT_TRUE(line.starts_with("OPTIONS /")) << line;
  std::string_view path = std::string_view(line).substr(std::string_view("OPTIONS ").size());
  EXPECT_EQ(takeRenamedMethod(path), "TRACE");
  EXPECT_EQ(path, "/v1/pools");
  EXPECT_EQ(takeRenamedMethod(path), "");
  EXPECT_EQ(path, "/v1/pools");
  path = "/~method/POST/v1/pools";
  EXPECT_EQ(takeRenamedMethod(path), "") << "a known method was not renamed";
  EXPECT_EQ(path, "/~method/POST/v1/pools");
}

}  // namespace
}  // namespace muster
