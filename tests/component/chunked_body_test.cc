#include "controllers/chunked_body.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using ChunkState = ChunkedBody::State;
using std::string_view_literals::operator""sv;

TEST(ChunkedBody, is_put_together_however_its_bytes_are_cut) {
  const struct {
    const char* why;
    std::string_view bytes;
    std::string_view data;
  } cases[] = {
      {"no chunk", "0\r\n\r\n", ""},
      {"two chunks", "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", "hello!"},
      {"hexadecimal", "0A\r\n0123456789\r\n00\r\n\r\n", "0123456789"},
      {"line ends in the data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"},
      {"extensions", "1;a=b\r\nx\r\n0;c\r\n\r\n", "x"},
      {"trailers", "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n", "x"},
  };
  for (const auto& [why, bytes, data] : cases) {
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
      ChunkedBody body;
      ChunkState state = ChunkState::kIncomplete;
      for (std::size_t at = 0; at < bytes.size(); at += piece) {
        ASSERT_EQ(state, ChunkState::kIncomplete) << why;
        std::string_view part = bytes.substr(at, piece);
        state = body.read(part);
        EXPECT_TRUE(part.empty()) << why;
      }
      EXPECT_EQ(state, ChunkState::kComplete) << why << ": " << body.fault();
      EXPECT_EQ(body.data(), data) << why;
    }
  }
}

TEST(ChunkedBody, leaves_what_comes_behind_it) {
  ChunkedBody body;
  std::string_view bytes = "1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1";
  EXPECT_EQ(body.read(bytes), ChunkState::kComplete);
  EXPECT_EQ(bytes, "GET / HTTP/1.1");
}

TEST(ChunkedBody, tells_its_size_before_the_data_comes) {
  ChunkedBody body;
  std::string_view bytes = "2\r\nab\r\nfffffff\r\n";
  EXPECT_EQ(body.read(bytes), ChunkState::kIncomplete);
  EXPECT_EQ(body.expected(), 2U + 0xfffffff);
}

TEST(ChunkedBody, that_can_be_understood_in_two_ways_is_malformed) {
  const std::string long_extension = "1;" + std::string(300, 'x') + "\r\n";
  const std::string long_trailers = "0\r\n" + std::string(9000, 'x') + "\r\n\r\n";
  const struct {
    const char* why;
    std::string_view bytes;
  } cases[] = {
      {"no size", "\r\n"sv},
      {"a size that is no number", "x\r\n"sv},
      {"a negative size", "-1\r\n"sv},
      {"a prefix", "0x1\r\n"sv},
      {"a space before the size", " 1\r\n"sv},
      {"a space behind the size", "1 \r\n"sv},
      {"a size of 16 digits", "0000000000000001\r\n"sv},
      {"LF behind the size", "1\nx\r\n0\r\n\r\n"sv},
      {"CR alone behind the size", "1\rx"sv},
      {"LF behind an extension", "1;a\nx"sv},
      {"NUL in an extension", "1;\0"sv},
      {"a long extension", long_extension},
      {"more data than the size", "1\r\nxx\r\n"sv},
      {"LF behind the data", "1\r\nx\n"sv},
      {"CR alone behind the data", "1\r\nx\rx"sv},
      {"LF behind a trailer", "0\r\nA: b\n"sv},
      {"LF as the end", "0\r\n\n"sv},
      {"long trailers", long_trailers},
  };
  for (const auto& [why, bytes] : cases) {
    ChunkedBody body;
    std::string_view rest = bytes;
    EXPECT_EQ(body.read(rest), ChunkState::kMalformed) << why;
    EXPECT_STRNE(body.fault(), "") << why;
  }
}

}  // namespace
}  // namespace muster
