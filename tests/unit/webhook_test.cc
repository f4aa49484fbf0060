#include "models/webhook.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

bool wantsOne(const std::vector<std::string>& types, const std::string& type,
              const std::string& of_pool = "", const std::string& pool = "") {
  WebhookSpec spec;
  spec.types = types;
  spec.pool = of_pool;
  Event event;
  event.type = type;
  event.pool = pool;
  return wants(spec, event);
}

TEST(Webhook, wantsWhatItsTypesAndItsPoolSay) {
  struct Row {
    std::vector<std::string> types;
    std::string of_pool;
    std::string type, pool;
    bool wanted;
  };
  const std::vector<Row> rows = {
      {{}, "", "job.created", "p", true},
      {{"job.created"}, "", "job.created", "p", true},
      {{"job.created"}, "", "job.completed", "p", false},
      {{"job.*"}, "", "job.completed", "p", true},
      {{"job.*"}, "", "worker.lost", "p", false},
      {{"job.*", "worker.lost"}, "", "worker.lost", "p", true},
      {{}, "p", "job.created", "p", true},
      {{}, "p", "job.created", "q", false},
      {{}, "p", "node.joined", "", false},
      {{"job.*"}, "p", "job.created", "p", true},
      {{"job.*"}, "p", "pool.created", "p", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(wantsOne(row.types, row.type, row.of_pool, row.pool), row.wanted)
        << row.type << " of '" << row.pool << "'";
  }
}

TEST(Webhook, knowsTypesAndTheirBeginnings) {
  for (const char* good : {"job.completed", "job.*", "webhook.disabled", "leader.*", "pool.*"}) {
    EXPECT_TRUE(isKnownTypePattern(good)) << good;
  }
  for (const char* bad : {"", "*", ".*", "job", "job.", "jobs.*", "job.comp*", "job.completed.*"}) {
    EXPECT_FALSE(isKnownTypePattern(bad)) << bad;
  }
}

TEST(Webhook, bothSecretsSignUntilTheOldOneEnds) {
  Webhook webhook;
  webhook.secret = "new";
  EXPECT_EQ(secretsOf(webhook, fromMillis(5)), (std::vector<std::string>{"new"}));
  webhook.old_secret = "old";
  webhook.old_secret_until = fromMillis(10);
  EXPECT_EQ(secretsOf(webhook, fromMillis(9)), (std::vector<std::string>{"new", "old"}));
  EXPECT_EQ(secretsOf(webhook, fromMillis(10)), (std::vector<std::string>{"new"}));
}

TEST(Webhook, saysHowItFares) {
  Webhook webhook;
  EXPECT_EQ(statusOf(webhook), "active");
  webhook.failing_since = fromMillis(1);
  EXPECT_EQ(statusOf(webhook), "failing");
  webhook.spec.enabled = false;
  EXPECT_EQ(statusOf(webhook), "disabled");
}

TEST(Webhook, aDeliveryIsKnownByItsWebhookAndItsEvent) {
  WebhookDelivery delivery;
  delivery.webhook = WebhookId("w1");
  delivery.event_seq = 42;
  delivery.created_at = fromMillis(7);
  EXPECT_EQ(delivery.id(), "w1.42.7");
  EXPECT_EQ(eventSeqOf(WebhookId("w1"), "w1.42.7"), 42);
  for (const char* bad :
       {"w1.", "w1.x.7", "w1.42", "w1.42x.7", "w1.-1.7", "w1.0.7", "w2.42.7", "w1", "42"}) {
    EXPECT_FALSE(eventSeqOf(WebhookId("w1"), bad)) << bad;
  }
}

}  // namespace
}  // namespace muster
