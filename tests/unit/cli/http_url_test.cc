#include "app/http/http_url.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(HttpUrl, isTakenApart) {
  struct Row {
    const char* text;
    bool tls;
    const char* host;
    int port;
    const char* path;
    const char* authority;
  };
  const Row rows[] = {
      {"http://127.0.0.1:8080", false, "127.0.0.1", 8080, "", "127.0.0.1:8080"},
      {"http://example.org", false, "example.org", 80, "", "example.org"},
      {"https://example.org", true, "example.org", 443, "", "example.org"},
      {"https://example.org:80/a/b/?c=d#e", true, "example.org", 80, "/a/b/?c=d", "example.org:80"},
      {"http://[::1]:9/x", false, "::1", 9, "/x", "[::1]:9"},
      {"https://[2001:db8::1]", true, "2001:db8::1", 443, "", "[2001:db8::1]"},
      {"http://h?q", false, "h", 80, "?q", "h"},
  };
  for (const Row& row : rows) {
    const auto url = parseHttpUrl(row.text);
    ASSERT_TRUE(url) << row.text;
    EXPECT_EQ(url->tls, row.tls) << row.text;
    EXPECT_EQ(url->host, row.host) << row.text;
    EXPECT_EQ(url->port, row.port) << row.text;
    EXPECT_EQ(url->path, row.path) << row.text;
    EXPECT_EQ(url->authority(), row.authority) << row.text;
  }
}

TEST(HttpUrl, whatIsNoneIsRefused) {
  for (const char* text :
       {"", "http://", "http:///x", "ftp://h", "h:80", "http://h:0", "http://h:65536",
        "http://h:8x", "http://h:", "http://[::1", "http://[::1]x", "http://user:secret@h",
        "http://a b", "http://h/\r\nX: y"}) {
    EXPECT_FALSE(parseHttpUrl(text)) << text;
  }
}

}  // namespace
}  // namespace muster
