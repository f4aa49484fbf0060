#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

// Unguessable bytes, drawn in blocks from the system's generator. Not thread-safe.
class Random {
 public:
  void bytes(std::uint8_t* out, std::size_t size);
  double unit();        // in [0, 1)
  std::string token();  // 128 bits, as 32 hexadecimal digits

 private:
  std::array<std::uint8_t, 4096> block_{};
  std::size_t used_ = block_.size();
};

std::string toHex(const std::uint8_t* bytes, std::size_t size);

// Lower-case hexadecimal SHA-256 of the parts, one after the other.
std::string sha256Hex(std::string_view first, std::string_view second = {});

// HMAC-SHA-256, as bytes and in lower-case hexadecimal.
std::string hmacSha256(std::string_view key, std::string_view text);
std::string hmacSha256Hex(std::string_view key, std::string_view text);

// Takes the same time wherever the texts differ.
bool constantTimeEqual(std::string_view a, std::string_view b);

}  // namespace muster
