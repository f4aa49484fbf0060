#include "models/store/standard_webhook.h"

#include <array>

#include "models/base64.h"

namespace muster {
namespace {

constexpr std::string_view kPrefix = "whsec_";

}  // namespace

std::optional<std::string> standardKey(std::string_view secret) {
  if (secret.starts_with(kPrefix)) secret.remove_prefix(kPrefix.size());
  return decodeBase64(secret);
}

std::string standardSignature(std::string_view key, std::string_view id, std::string_view timestamp,
                              std::string_view body) {
  std::string content;
  content.reserve(id.size() + timestamp.size() + body.size() + 2);
  content.append(id).append(".").append(timestamp).append(".").append(body);
  return "v1," + encodeBase64(hmacSha256(key, content));
}

std::string newStandardSecret(Random& random) {
  std::array<std::uint8_t, 32> bytes{};
  random.bytes(bytes.data(), bytes.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return std::string(kPrefix) + encodeBase64(text);
}

}  // namespace muster
