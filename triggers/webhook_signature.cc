#include "triggers/webhook_signature.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "models/base64.h"
#include "models/store/random.h"
#include "models/store/standard_webhook.h"

namespace muster {
namespace {

constexpr auto kTolerance = std::chrono::seconds(300);

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

// The secrets as the bytes they stand for; those that are not there are left out.
std::vector<std::string> keysOf(const TriggerAuth& auth, const VariableLookup& variable) {
  std::vector<std::string> keys;
  for (const std::string& secret : auth.secrets) {
    std::optional<std::string> text = secret;
    if (secret.starts_with("env:")) text = variable(secret.substr(4));
    if (text && text->starts_with("base64:")) {
      text = decodeBase64(std::string_view(*text).substr(7));
    } else if (text && auth.type == TriggerAuth::Type::kStandard) {
      text = standardKey(*text);
    }
    if (text && !text->empty()) keys.push_back(*std::move(text));
  }
  return keys;
}

// Goes through all, so that the time tells nothing of which one fits.
template <class Fits>
bool anyFits(const std::vector<std::string>& keys, const Fits& fits) {
  bool found = false;
  for (const std::string& key : keys) found = fits(key) || found;
  return found;
}

std::optional<std::string> standardFault(const std::vector<std::string>& keys,
                                         const HeaderLookup& header, std::string_view body,
                                         Time now) {
  const std::string id = header("webhook-id"), stamp = header("webhook-timestamp"),
                    given = header("webhook-signature");
  if (id.empty() || stamp.empty() || given.empty()) {
    return "webhook-id, webhook-timestamp and webhook-signature are needed";
  }
  std::int64_t seconds = 0;
  const auto [end, fault] = std::from_chars(stamp.data(), stamp.data() + stamp.size(), seconds);
  if (fault != std::errc() || end != stamp.data() + stamp.size() || seconds < 0 ||
      seconds > 1'000'000'000'000) {
    return "webhook-timestamp is no number of seconds";
  }
  const Time sent = Time(std::chrono::seconds(seconds));
  if (sent < now - kTolerance) return "webhook-timestamp is too old";
  if (sent > now + kTolerance) return "webhook-timestamp is in the future";
  const bool proven = anyFits(keys, [&](const std::string& key) {
    const std::string expected = standardSignature(key, id, stamp, body);
    bool fits = false;
    std::string_view rest = given;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      const std::string_view one = rest.substr(0, space);
      fits = constantTimeEqual(one, expected) || fits;
      rest.remove_prefix(std::min(space + 1, rest.size()));
    }
    return fits;
  });
  return proven ? std::nullopt : std::optional<std::string>("the signature does not fit");
}

}  // namespace

std::optional<std::string> signatureFault(const TriggerAuth& auth, const HeaderLookup& header,
                                          std::string_view body, Time now,
                                          const VariableLookup& variable) {
  const auto keys = keysOf(auth, variable);
  if (keys.empty()) return "the trigger's secret is not set";
  if (auth.type == TriggerAuth::Type::kStandard) return standardFault(keys, header, body, now);
  const std::string sent = header(lower(auth.header));
  if (sent.empty()) return auth.header + " is needed";
  if (!sent.starts_with(auth.prefix)) return auth.header + " does not begin as it should";
  const std::string_view given = std::string_view(sent).substr(auth.prefix.size());
  if (auth.type == TriggerAuth::Type::kToken) {
    const bool known = anyFits(keys, [&](const std::string& key) {
      // Of the hashes, so that the length is hidden too.
      return constantTimeEqual(sha256Hex(given), sha256Hex(key));
    });
    return known ? std::nullopt : std::optional<std::string>("the token is not the right one");
  }
  const bool proven = anyFits(keys, [&](const std::string& key) {
    return auth.base64 ? constantTimeEqual(given, encodeBase64(hmacSha256(key, body)))
                       : constantTimeEqual(lower(given), hmacSha256Hex(key, body));
  });
  return proven ? std::nullopt : std::optional<std::string>("the signature does not fit");
}

}  // namespace muster
