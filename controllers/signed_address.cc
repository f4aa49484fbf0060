#include "controllers/signed_address.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

#include "models/store/random.h"

namespace muster {
namespace {

std::string signatureOf(std::string_view key, std::string_view uid, std::string_view expires) {
  return hmacSha256Hex(key, fmt::format("content\n{}\n{}", uid, expires));
}

}  // namespace

std::string signedPath(std::string_view key, std::string_view uid, Time expires_at) {
  const std::string expires = std::to_string(toMillis(expires_at) / 1000);
  return fmt::format("/v1/resources/{}/content?expires={}&signature={}", uid, expires,
                     signatureOf(key, uid, expires));
}

bool isSignedPath(std::string_view key, std::string_view uid, std::string_view expires,
                  std::string_view signature, Time now) {
  if (!constantTimeEqual(signature, signatureOf(key, uid, expires))) return false;
  std::int64_t seconds = 0;
  const auto [end, fault] =
      std::from_chars(expires.data(), expires.data() + expires.size(), seconds);
  return fault == std::errc() && end == expires.data() + expires.size() &&
         toMillis(now) < seconds * 1000;
}

}  // namespace muster
