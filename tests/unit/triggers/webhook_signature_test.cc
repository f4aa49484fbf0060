#include "triggers/webhook_signature.h"

#include <gtest/gtest.h>

#include <map>

namespace muster {
namespace {

using Type = TriggerAuth::Type;
using Headers = std::map<std::string, std::string>;

bool accepted(const TriggerAuth& auth, const Headers& headers, std::string_view body,
              Time now = fromMillis(1'614'265'330'000)) {
  const auto fault = signatureFault(
      auth,
      [&](const std::string& name) {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string() : found->second;
      },
      body, now,
      [](const std::string& name) {
        return name == "HOOK_SECRET" ? std::optional<std::string>("topsecret") : std::nullopt;
      });
  return !fault;
}

// The published example of Standard Webhooks; signed again with `openssl dgst -sha256 -mac HMAC`.
const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string kBody = R"({"test": 2432232314})";
const std::string kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
Headers standardHeaders(const std::string& signature = kSignature) {
  return {{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
          {"webhook-timestamp", "1614265330"},
          {"webhook-signature", signature}};
}

TEST(WebhookSignature, takesThePublishedExampleOfStandardWebhooks) {
  const TriggerAuth auth{Type::kStandard, {kSecret}, "", "", false};
  EXPECT_TRUE(accepted(auth, standardHeaders(), kBody));
  EXPECT_TRUE(
      accepted({Type::kStandard, {kSecret.substr(6)}, "", "", false}, standardHeaders(), kBody))
      << "without whsec_";
  EXPECT_TRUE(
      accepted({Type::kStandard, {"whsec_AAAA", kSecret}, "", "", false}, standardHeaders(), kBody))
      << "one of several secrets";
  EXPECT_TRUE(accepted(auth, standardHeaders("v1a,xyz v1,AAAA " + kSignature), kBody))
      << "one of several signatures";
}

TEST(WebhookSignature, standardRefusesWhatDoesNotFit) {
  const TriggerAuth auth{Type::kStandard, {kSecret}, "", "", false};
  EXPECT_FALSE(accepted(auth, standardHeaders(), kBody + " ")) << "raw bytes count";
  EXPECT_FALSE(accepted(auth, standardHeaders("v2," + kSignature.substr(3)), kBody));
  EXPECT_FALSE(accepted(auth, standardHeaders(kSignature.substr(3)), kBody));
  EXPECT_FALSE(accepted(auth, standardHeaders(""), kBody));
  for (const char* name : {"webhook-id", "webhook-timestamp", "webhook-signature"}) {
    Headers headers = standardHeaders();
    headers.erase(name);
    EXPECT_FALSE(accepted(auth, headers, kBody)) << name;
  }
  for (const char* stamp : {"", "x", "1614265330x", "-1", "99999999999999999999"}) {
    Headers headers = standardHeaders();
    headers["webhook-timestamp"] = stamp;
    EXPECT_FALSE(accepted(auth, headers, kBody)) << stamp;
  }
  EXPECT_FALSE(
      accepted({Type::kStandard, {"whsec_AAAA"}, "", "", false}, standardHeaders(), kBody));
}

TEST(WebhookSignature, standardIsGoodForFiveMinutesEitherWay) {
  const TriggerAuth auth{Type::kStandard, {kSecret}, "", "", false};
  const std::pair<int, bool> table[] = {{-301, false}, {-300, true}, {300, true}, {301, false}};
  for (const auto& [seconds, good] : table) {
    const Time now = fromMillis((1'614'265'330 + seconds) * 1000LL);
    EXPECT_EQ(accepted(auth, standardHeaders(), kBody, now), good) << seconds;
  }
}

TEST(WebhookSignature, takesGithubsPublishedExample) {
  const std::string digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const TriggerAuth auth{
      Type::kHmacSha256, {"It's a Secret to Everybody"}, "X-Hub-Signature-256", "sha256=", false};
  EXPECT_TRUE(accepted(auth, {{"x-hub-signature-256", "sha256=" + digest}}, "Hello, World!"));
  EXPECT_FALSE(accepted(auth, {{"x-hub-signature-256", digest}}, "Hello, World!")) << "no prefix";
  EXPECT_FALSE(accepted(auth, {{"x-hub-signature-256", "sha256=" + digest}}, "Hello, World"));
  EXPECT_FALSE(accepted(auth, {}, "Hello, World!"));
}

TEST(WebhookSignature, hmacMayBeHexOrBase64AndTheSecretBytesOrAVariable) {
  // printf '{"base":{"id":"app1"}}' | openssl dgst -sha256 -hmac topsecret [-binary | base64]
  const std::string body = R"({"base":{"id":"app1"}})";
  const std::string hex = "0a07292607aa716adce050a24353bb72b553b03ed6c28bc554b9905b50b06af4";
  const std::string base64 = "CgcpJgeqcWrc4FCiQ1O7crVTsD7WwovFVLmQW1CwavQ=";
  for (const char* secret : {"topsecret", "env:HOOK_SECRET", "base64:dG9wc2VjcmV0"}) {
    EXPECT_TRUE(
        accepted({Type::kHmacSha256, {secret}, "X-Sig", "", false}, {{"x-sig", hex}}, body));
    EXPECT_TRUE(
        accepted({Type::kHmacSha256, {secret}, "X-Sig", "", true}, {{"x-sig", base64}}, body));
  }
  EXPECT_FALSE(
      accepted({Type::kHmacSha256, {"topsecret"}, "X-Sig", "", true}, {{"x-sig", hex}}, body));
}

TEST(WebhookSignature, aTokenMustBeTheSecretItself) {
  const TriggerAuth auth{Type::kToken, {"old", "new"}, "X-Token", "", false};
  EXPECT_TRUE(accepted(auth, {{"x-token", "old"}}, ""));
  EXPECT_TRUE(accepted(auth, {{"x-token", "new"}}, "anything"));
  for (const char* token : {"", "ne", "newer", "New"}) {
    EXPECT_FALSE(accepted(auth, {{"x-token", token}}, "")) << token;
  }
}

TEST(WebhookSignature, aSecretThatIsNotThereFitsNothing) {
  const TriggerAuth auth{Type::kToken, {"env:NOT_SET"}, "X-Token", "", false};
  EXPECT_FALSE(accepted(auth, {{"x-token", ""}}, ""));
  EXPECT_FALSE(accepted(auth, {{"x-token", "env:NOT_SET"}}, ""));
  EXPECT_FALSE(accepted(auth, {}, ""));
}

}  // namespace
}  // namespace muster
