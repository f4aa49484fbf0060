#include "models/json/webhook_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

const auto kAnyUrl = [](std::string_view text) { return text.starts_with("http"); };

std::vector<std::string> faultsOf(const std::string& json) {
  std::vector<FieldError> faults;
  const auto doc = JsonDoc::parse(json);
  readNewWebhook(doc->root(), kAnyUrl, faults);
  std::vector<std::string> pointers;
  for (const FieldError& fault : faults) pointers.push_back(fault.pointer + " " + fault.code);
  return pointers;
}
using Faults = std::vector<std::string>;

TEST(WebhookJson, isReadWithItsDefaults) {
  std::vector<FieldError> faults;
  const auto doc = JsonDoc::parse(R"({"url":"http://a","types":["job.*"],"pool_id":"p"})");
  const NewWebhook webhook = readNewWebhook(doc->root(), kAnyUrl, faults);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(webhook.spec, (WebhookSpec{"http://a", {"job.*"}, "p", "", true}));
  EXPECT_FALSE(webhook.secret);
}

TEST(WebhookJson, everyFaultIsPointedAt) {
  EXPECT_EQ(faultsOf("{}"), Faults{"/url required"});
  EXPECT_EQ(faultsOf(R"({"url":"ftp://a"})"), Faults{"/url format"});
  EXPECT_EQ(faultsOf(R"({"url":"http://a","types":["job.*","nope"],"pool_id":"a b","x":1,
                         "secret":"s"})"),
            (Faults{"/types/1 choice", "/pool_id format", "/secret format", "/x unknown_field"}));
}

TEST(WebhookJson, aSecretIsOfUsefulLength) {
  const auto with = [](const std::string& secret) {
    return faultsOf(R"({"url":"http://a","secret":")" + secret + "\"}");
  };
  EXPECT_EQ(with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), Faults{}) << "24 bytes";
  EXPECT_EQ(with("whsec_" + std::string(84, 'A') + "AA=="), Faults{}) << "64 bytes";
  EXPECT_EQ(with("whsec_" + std::string(84, 'A') + "AAA="), Faults{"/secret format"}) << "65 bytes";
  EXPECT_EQ(with("whsec_" + std::string(28, 'A') + "AAA="), Faults{"/secret format"}) << "23 bytes";
  EXPECT_EQ(with("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), Faults{"/secret format"}) << "no prefix";
  EXPECT_EQ(with("whsec_not base64 at all, is it? it is n"), Faults{"/secret format"});
}

TEST(WebhookJson, aSecretIsShownOnlyWhenItIsMade) {
  Webhook webhook;
  webhook.secret = "whsec_x";
  webhook.old_secret = "whsec_y";
  const auto text = [&](bool with_secret) {
    JsonWriter out;
    writeWebhook(out, webhook, with_secret);
    return out.take();
  };
  EXPECT_EQ(text(false).find("whsec_"), std::string::npos) << text(false);
  EXPECT_NE(text(true).find(R"("secret":"whsec_x")"), std::string::npos);
  EXPECT_EQ(text(true).find("whsec_y"), std::string::npos);
}

TEST(WebhookJson, aMessageHoldsTheEventAsEventsShowIt) {
  Event event;
  event.seq = 7;
  event.at = fromMillis(1'700'000'000'000);
  event.type = "job.completed";
  event.pool = "p";
  event.job = "j";
  EXPECT_EQ(writeWebhookBody(event),
            R"({"type":"job.completed","timestamp":"2023-11-14T22:13:20.000Z","data":)"
            R"({"seq":7,"at":"2023-11-14T22:13:20.000Z","type":"job.completed","pool_id":"p",)"
            R"("job_id":"j","details":{}}})");
}

}  // namespace
}  // namespace muster
