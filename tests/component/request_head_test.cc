#include "controllers/request_head.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using HeadState = RequestHead::State;
using std::string_view_literals::operator""sv;

TEST(RequestHead, ends_with_an_empty_line_and_counts_the_body) {
  const struct {
    const char* why;
    std::string_view bytes;
    std::string_view method;
    std::size_t size, body_size;
  } cases[] = {
      {"no headers", "GET / HTTP/1.0\r\n\r\nmore", "GET", 18, 0},
      {"no body", "TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", "TRACE", 29, 0},
      {"a body", "PUT / HTTP/1.1\r\nhOST:a\r\ncontent-LENGTH:  7 \r\n\r\n1234567", "PUT", 47, 7},
      {"an empty host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET", 25, 0},
      {"bytes above ASCII", "GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\nX: \xff\t\x01\r\n\r\n", "GET", 37,
       0},
      {"a whole address", "GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET", 38, 0},
      {"no space behind a colon", "GET / HTTP/1.1\r\nHost:a\r\nA:\r\nB:b\r\n\r\n", "GET", 35, 0},
  };
  for (const auto& expected : cases) {
    const RequestHead head = readRequestHead(expected.bytes);
    EXPECT_EQ(head.state, HeadState::kComplete) << expected.why << ": " << head.fault;
    EXPECT_EQ(head.method, expected.method) << expected.why;
    EXPECT_EQ(head.text.size(), expected.size) << expected.why;
    EXPECT_EQ(head.body_size, expected.body_size) << expected.why;
  }
}

TEST(RequestHead, waits_for_more_wherever_its_bytes_end) {
  const std::string_view whole =
      "POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nX: \r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const RequestHead head = readRequestHead(whole.substr(0, size));
    EXPECT_EQ(head.state, HeadState::kIncomplete) << whole.substr(0, size) << ": " << head.fault;
  }
  EXPECT_EQ(readRequestHead(whole).state, HeadState::kComplete);
}

TEST(RequestHead, that_can_be_understood_in_two_ways_is_malformed) {
  const struct {
    const char* why;
    std::string_view bytes;
  } cases[] = {
      {"TLS", "\x16\x03\x01 hello"sv},
      {"a method alone", "GET\r\n"sv},
      {"an empty line first", "\r\n\r\n"sv},
      {"a method of 33 characters", "ABCDEFGHIJKLMNOPQRSTUVWXYZ1234567"sv},
      {"two spaces", "GET  / HTTP/1.1\r\n"sv},
      {"a space in the target", "GET /a b HTTP/1.1\r\n"sv},
      {"no version", "GET /\r\n"sv},
      {"an unknown version", "GET / HTTP/2.0\r\n"sv},
      {"an unknown minor version", "GET / HTTP/1.2\r\n"sv},
      {"a longer version", "GET / HTTP/1.11\r\n"sv},
      {"LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"sv},
      {"LF behind a header", "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"sv},
      {"LF as the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n"sv},
      {"CR within a header", "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"sv},
      {"NUL in a value", "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"sv},
      {"NUL in a name", "GET / HTTP/1.1\r\nHo\0st: a\r\n\r\n"sv},
      {"NUL in the target", "GET /\0 HTTP/1.1\r\n"sv},
      {"a folded header", "GET / HTTP/1.1\r\nHost: a\r\n b: c\r\n\r\n"sv},
      {"a header folded with a tab", "GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n\r\n"sv},
      {"a first header that is folded", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"sv},
      {"a space before a colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n"sv},
      {"a tab before a colon", "GET / HTTP/1.1\r\nHost\t: a\r\n\r\n"sv},
      {"a header without a colon", "GET / HTTP/1.1\r\nnonsense\r\n\r\n"sv},
      {"a header without a name", "GET / HTTP/1.1\r\n: a\r\n\r\n"sv},
      {"no host", "GET / HTTP/1.1\r\nX: a\r\n\r\n"sv},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"sv},
      {"two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n"sv},
      {"a negative length", "PUT / HTTP/1.0\r\nContent-Length: -5\r\n\r\n"sv},
      {"a length with a sign", "PUT / HTTP/1.0\r\nContent-Length: +5\r\n\r\n"sv},
      {"an empty length", "PUT / HTTP/1.0\r\nContent-Length: \r\n\r\n"sv},
      {"more than a length", "PUT / HTTP/1.0\r\nContent-Length: 5x\r\n\r\n"sv},
      {"a hexadecimal length", "PUT / HTTP/1.0\r\nContent-Length: 0x5\r\n\r\n"sv},
      {"a list of lengths", "PUT / HTTP/1.0\r\nContent-Length: 5, 5\r\n\r\n"sv},
      {"a length of 19 digits", "PUT / HTTP/1.0\r\nContent-Length: 1234567890123456789\r\n\r\n"sv},
      {"lengths that differ", "PUT / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"sv},
      {"lengths that agree", "PUT / HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"sv},
      {"a length and chunks",
       "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"sv},
      {"chunks and a length",
       "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"sv},
      {"chunks in HTTP/1.0", "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"sv},
      {"an unknown coding", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"sv},
      {"two codings", "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"sv},
      {"an obfuscated coding",
       "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n"sv},
      {"chunked twice",
       "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"sv},
      {"an unknown expectation", "PUT / HTTP/1.1\r\nHost: a\r\nExpect: cookies\r\n\r\n"sv},
  };
  for (const auto& [why, bytes] : cases) {
    const RequestHead head = readRequestHead(bytes);
    EXPECT_EQ(head.state, HeadState::kMalformed) << why;
    EXPECT_STRNE(head.fault, "") << why;
  }
}

TEST(RequestHead, gives_its_headers_and_its_path) {
  const RequestHead head = readRequestHead(
      "GET /a/b?c=/d HTTP/1.1\r\nHost: h:1\r\nX-Empty:\r\nORIGIN: \t http://o \r\nOrigin: "
      "2\r\n\r\n");
  ASSERT_EQ(head.state, HeadState::kComplete) << head.fault;
  EXPECT_EQ(head.header("host"), "h:1");
  EXPECT_EQ(head.header("origin"), "http://o");
  EXPECT_EQ(head.header("x-empty"), "");
  EXPECT_EQ(head.header("a"), "");
  for (const auto& [target, path] :
       {std::pair("/a/b?c=/d", "/a/b"), std::pair("/", "/"), std::pair("//a", "//a"),
        std::pair("http://host/p/q?r", "/p/q"), std::pair("http://host", "/"),
        std::pair("*", "/")}) {
    const std::string bytes = "GET " + std::string(target) + " HTTP/1.0\r\n\r\n";
    EXPECT_EQ(readRequestHead(bytes).path(), path) << target;
  }
}

TEST(RequestHead, passes_as_it_is_unless_something_is_left_to_us) {
  const auto passes = [](const std::string& method, const std::string& header) {
    const std::string bytes = method + " / HTTP/1.1\r\nHost: a\r\n" + header + "\r\n";
    const RequestHead head = readRequestHead(bytes);
    EXPECT_EQ(head.state, HeadState::kComplete) << bytes << head.fault;
    return passesAsItIs(head);
  };
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"}) {
    EXPECT_TRUE(passes(method, "Content-Length: 5\r\nConnection: close\r\n")) << method;
  }
  EXPECT_FALSE(passes("patch", ""));
  EXPECT_FALSE(passes("TRACE", ""));
  EXPECT_FALSE(passes("GET", "Upgrade: websocket\r\n"));
  EXPECT_FALSE(passes("GET", "expect: 100-Continue\r\n"));
  EXPECT_FALSE(passes("GET", "transfer-encoding: Chunked\r\n"));
}

TEST(RequestHead, is_rewritten_without_what_we_have_dealt_with) {
  const RequestHead head = readRequestHead(
      "BREW /pot?a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nupgrade: h2c\r\n"
      "Connection: keep-alive\r\nContent-Length: 3\r\nX: y\r\n\r\n");
  ASSERT_EQ(head.state, HeadState::kComplete) << head.fault;
  EXPECT_EQ(rewriteHead(head),
            "OPTIONS /~method/BREW/pot?a HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n"
            "Content-Length: 3\r\nX: y\r\n");
  EXPECT_EQ(rewriteRefusedHead(head),
            "OPTIONS /~method/BREW/pot?a HTTP/1.1\r\nHost: a\r\nX: y\r\nConnection: close\r\n");
  const RequestHead old = readRequestHead("GET / HTTP/1.0\r\nA: b\r\n\r\n");
  EXPECT_EQ(rewriteHead(old), "GET / HTTP/1.0\r\nA: b\r\n");
}

TEST(RequestHead, an_unknown_method_travels_in_the_path) {
  std::string_view path = "/~method/TRACE/v1/pools";
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
