#include "models/ids.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::string_view kIdAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";

bool isIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '~' || c == ':' || c == '-';
}

}  // namespace

bool isValidId(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), isIdCharacter);
}

std::string IdMaker::next(Time now) {
  const auto millis = static_cast<std::uint64_t>(now.time_since_epoch().count());
  if (millis > millis_) {
    millis_ = millis;
    random_(tail_.data(), tail_.size());
    tail_[0] &= 0x7f;  // room to count up: 2^79 ids in one millisecond
  } else {
    for (auto byte = tail_.rbegin(); byte != tail_.rend() && ++*byte == 0; ++byte) {
    }
  }

  // 128 bits in 26 characters of 5: the first character carries the top 3 bits only.
  std::array<std::uint8_t, 16> bits{};
  for (std::size_t i = 0; i < 6; ++i) {
    bits[i] = static_cast<std::uint8_t>(millis_ >> (8 * (5 - i)));
  }
  std::copy(tail_.begin(), tail_.end(), bits.begin() + 6);
  std::string text(26, '0');
  unsigned buffer = 0;
  int buffered = 2;  // two zero bits in front make 130 bits
  auto out = text.begin();
  for (const std::uint8_t byte : bits) {
    buffer = (buffer << 8) | byte;
    buffered += 8;
    while (buffered >= 5) {
      buffered -= 5;
      *out++ = kIdAlphabet[(buffer >> buffered) & 31];
    }
    buffer &= (1U << buffered) - 1;
  }
  return text;
}

}  // namespace muster
