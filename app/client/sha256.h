#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

// SHA-256 of bytes that come piece by piece. Own code, so that the light program needs no library
// for it.
class Sha256 {
 public:
  Sha256& add(std::string_view bytes);

  // Of what was added so far, 32 bytes; more may be added afterwards.
  std::string digest() const;
  std::string hex() const;

 private:
  void addBlock(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_{};  // the beginning of a block
  std::size_t rest_size_ = 0;
  std::uint64_t size_ = 0;
};

// 64 hexadecimal digits in lower case.
bool isSha256Hex(std::string_view text);

}  // namespace muster
