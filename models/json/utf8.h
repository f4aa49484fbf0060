#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length of the UTF-8 sequence at `at`, or 0 when it is not well-formed (RFC 3629).
inline std::size_t utf8Length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!continues(1) || !continues(2)) return 0;
    if (lead == 0xe0 && byte(1) < 0xa0) return 0;
    if (lead == 0xed && byte(1) > 0x9f) return 0;
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (lead == 0xf0 && byte(1) < 0x90) return 0;
    if (lead == 0xf4 && byte(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

inline bool isUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8Length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

// Every byte that is no UTF-8 becomes U+FFFD.
inline std::string validUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8Length(bytes, at);
    text.append(length == 0 ? kReplacement : bytes.substr(at, length));
    at += length == 0 ? 1 : length;
  }
  return text;
}

// Text that every store can keep: what is no UTF-8, and NUL, becomes U+FFFD.
inline std::string storableText(std::string_view bytes) {
  std::string text;
  for (const char c : validUtf8(bytes)) {
    if (c == '\0') {
      text += kReplacement;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace muster
