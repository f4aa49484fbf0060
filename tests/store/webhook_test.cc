#include "models/store/sql/webhooks.h"

#include "models/store/sql/event_slice.h"
#include "models/store/standard_webhook.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

WebhookTry answered(int status) {
  WebhookTry made;
  made.status = status;
  made.took = 12ms;
  made.response_body = "said";
  if (!made.delivered()) made.error = "answered " + std::to_string(status);
  return made;
}

class WebhookTest : public StoreTest {
 protected:
  Webhook create(const WebhookSpec& spec = {.url = "http://a"}) {
    return write([&](Store& s) { return s.webhooks().create(spec, {}).value(); });
  }
  std::optional<Webhook> find(const WebhookId& id) {
    return read([&](Store& s) { return s.webhooks().find(id); });
  }
  Result<Webhook> change(const WebhookId& id, const WebhookChange& change, IfVersion version = {}) {
    return write([&](Store& s) { return s.webhooks().change(id, change, version); });
  }
  bool advance(const Webhook& webhook, std::int64_t to, const std::vector<Event>& events = {},
               std::int64_t expired = 0) {
    return share([&](Store& s) {
      return s.webhooks().advance({webhook.id, webhook.after_seq, to, expired, events});
    });
  }
  // All events that happened since it was made become its deliveries.
  void advanceToPresent(const Webhook& webhook) {
    ASSERT_TRUE(advance(webhook, lastEvent(), eventsAfter(webhook.after_seq)));
  }
  std::vector<WebhookDelivery> due(const WebhookId& id, int limit = 100) {
    return read([&](Store& s) { return s.webhooks().due(id, limit); });
  }
  DeliveryVerdict::Kind record(const WebhookDelivery& delivery, const WebhookTry& made) {
    return share([&](Store& s) { return s.webhooks().record(delivery, made, webhook_rules); });
  }
  Webhooks::DeliveryPage deliveries(const WebhookId& id, const std::string& status = "",
                                    std::int64_t before = 0, int limit = 100) {
    return read([&](Store& s) { return s.webhooks().deliveries(id, {status, before}, limit); });
  }
  Webhook withOneDelivery() {
    const Webhook webhook = create();
    push();
    advanceToPresent(webhook);
    return webhook;
  }

  WebhookRules webhook_rules;
};
MUSTER_ON_EVERY_BACKEND(WebhookTest);

TEST_P(WebhookTest, isKeptAsItWasMade) {
  const auto seen = lastEvent();
  const WebhookSpec spec{"http://a/b?c", {"job.*", "pool.created"}, "p", "mine", false};
  const Webhook made = create(spec);
  const auto found = find(made.id).value();
  EXPECT_EQ(found.spec, spec);
  EXPECT_EQ(found.version, 1);
  EXPECT_EQ(found.created_at, clock.now());
  EXPECT_EQ(found.secret, made.secret);
  EXPECT_EQ(standardKey(found.secret).value().size(), 32U);
  EXPECT_EQ(found.after_seq, lastEvent()) << "it begins at the present";
  EXPECT_EQ(found.pending, 0);
  EXPECT_NE(create().secret, made.secret);
  EXPECT_EQ(eventTypesAfter(seen), (Names{"webhook.created", "webhook.created"}));
}

TEST_P(WebhookTest, areListedInPages) {
  Names made, seen;
  for (int i = 0; i < 5; ++i) made.push_back(create().id.str());
  for (std::string after;;) {
    const auto page = read([&](Store& s) { return s.webhooks().list(after, 2); });
    if (page.empty()) break;
    for (const Webhook& webhook : page) seen.push_back(webhook.id.str());
    after = seen.back();
  }
  EXPECT_EQ(seen, made);
}

TEST_P(WebhookTest, thereAreNotAnyNumberOfThem) {
  for (int i = 0; i < Webhooks::kMost; ++i) create();
  EXPECT_EQ(codeOf(write([](Store& s) { return s.webhooks().create({.url = "http://a"}, {}); })),
            ErrorCode::kTooMany);
}

TEST_P(WebhookTest, aChangeMergesAndIsGuardedByTheVersion) {
  const Webhook made = create({.url = "http://a", .types = {"job.*"}, .pool = "p"});
  EXPECT_EQ(codeOf(change(made.id, {.url = "http://b"}, 2)), ErrorCode::kVersionMismatch);
  const auto seen = lastEvent();
  const Webhook other = change(made.id, {.url = "http://b"}, 1).value();
  EXPECT_EQ(other.spec, (WebhookSpec{"http://b", {"job.*"}, "p", "", true}));
  EXPECT_EQ(other.version, 2);
  EXPECT_EQ(change(made.id, {.url = "http://b"}).value().version, 2) << "nothing is different";
  EXPECT_EQ(change(made.id, {.types = Names{}, .pool = ""}).value().spec,
            (WebhookSpec{"http://b"}));
  change(made.id, {.enabled = false}).value();
  EXPECT_EQ(eventTypesAfter(seen),
            (Names{"webhook.updated", "webhook.updated", "webhook.disabled"}));
  EXPECT_EQ(codeOf(change(WebhookId("x"), {})), ErrorCode::kNotFound);
}

TEST_P(WebhookTest, aRotationKeepsTheOldSecretForADay) {
  const Webhook made = create();
  const auto rotate = [&](std::optional<std::string> secret, IfVersion version = {}) {
    return write([&](Store& s) { return s.webhooks().rotate(made.id, secret, version); });
  };
  EXPECT_EQ(codeOf(rotate({}, 7)), ErrorCode::kVersionMismatch);
  const Webhook rotated = rotate({}).value();
  EXPECT_EQ(secretsOf(rotated, clock.now() + 23h), (Names{rotated.secret, made.secret}));
  EXPECT_EQ(secretsOf(rotated, clock.now() + 24h), Names{rotated.secret});
  EXPECT_NE(rotated.secret, made.secret);
  EXPECT_EQ(rotate(kSecret).value().secret, kSecret);
}

TEST_P(WebhookTest, theCursorAndTheDeliveriesMoveTogether) {
  const Webhook webhook = create();
  push();
  const auto events = eventsAfter(webhook.after_seq);
  ASSERT_FALSE(events.empty());
  const auto present = lastEvent();
  EXPECT_FALSE(storage->writeAndWait([&](Store& s) {
    s.webhooks().advance({webhook.id, webhook.after_seq, present, 0, events});
    throw std::runtime_error("no");
  }));
  EXPECT_EQ(find(webhook.id)->after_seq, webhook.after_seq);
  EXPECT_TRUE(due(webhook.id).empty());
  EXPECT_TRUE(advance(webhook, lastEvent(), events));
  EXPECT_EQ(find(webhook.id)->after_seq, lastEvent());
  EXPECT_EQ(find(webhook.id)->pending, static_cast<std::int64_t>(events.size()));
  EXPECT_FALSE(advance(webhook, lastEvent(), events)) << "somebody else has been there";
  EXPECT_EQ(due(webhook.id).size(), events.size());
}

TEST_P(WebhookTest, aDisabledOneIsNotAdvanced) {
  const Webhook webhook = create({.url = "http://a", .enabled = false});
  EXPECT_FALSE(advance(webhook, lastEvent() + 1));
  EXPECT_TRUE(read([](Store& s) { return s.webhooks().readers(); }).empty());
}

TEST_P(WebhookTest, deliveriesAreDueInTheOrderOfEvents) {
  const Webhook webhook = create();
  for (int i = 0; i < 3; ++i) push();
  advanceToPresent(webhook);
  std::int64_t last = webhook.after_seq;
  for (const WebhookDelivery& delivery : due(webhook.id)) {
    EXPECT_GT(delivery.event_seq, last);
    last = delivery.event_seq;
    EXPECT_NE(delivery.body.find("\"seq\":" + std::to_string(last)), std::string::npos);
  }
  EXPECT_EQ(last, lastEvent());
  EXPECT_EQ(due(webhook.id, 2).size(), 2U);
}

TEST_P(WebhookTest, whatWasTakenIsNotDueAgain) {
  const Webhook webhook = withOneDelivery();
  for (const auto& delivery : due(webhook.id)) {
    EXPECT_EQ(record(delivery, answered(204)), DeliveryVerdict::Kind::kDelivered);
  }
  EXPECT_TRUE(due(webhook.id).empty());
  const auto shown = deliveries(webhook.id).deliveries.at(0);
  EXPECT_EQ(shown.status, "delivered");
  EXPECT_EQ(shown.attempts, 1);
  EXPECT_EQ(shown.response_status, 204);
  EXPECT_EQ(shown.duration_ms, 12);
  EXPECT_EQ(shown.response_body, "said");
  EXPECT_EQ(shown.last_attempt_at, clock.now());
  EXPECT_FALSE(shown.next_attempt_at);
  const Webhook after = find(webhook.id).value();
  EXPECT_EQ(after.pending, 0);
  EXPECT_EQ(after.last_delivered_at, clock.now());
  EXPECT_EQ(after.version, 1) << "nobody has changed it";
}

TEST_P(WebhookTest, whatWasNotTakenIsDueLater) {
  const Webhook webhook = withOneDelivery();
  const auto first = due(webhook.id).at(0);
  EXPECT_EQ(record(first, answered(500)), DeliveryVerdict::Kind::kRetried);
  for (const auto& delivery : due(webhook.id)) record(delivery, answered(200));
  const auto readers = read([](Store& s) { return s.webhooks().readers(); });
  ASSERT_EQ(readers.size(), 1U);
  ASSERT_TRUE(readers[0].next_due);
  EXPECT_GT(*readers[0].next_due, clock.now() + 4s);
  EXPECT_LT(*readers[0].next_due, clock.now() + 6s);
  clock.advance(6s);
  const auto again = due(webhook.id);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].event_seq, first.event_seq);
  EXPECT_EQ(again[0].attempts, 1);
  EXPECT_EQ(again[0].error, "answered 500");
}

TEST_P(WebhookTest, afterTheLastTryItIsGivenUp) {
  const Webhook webhook = withOneDelivery();
  const auto first = due(webhook.id).at(0);
  for (const auto& other : due(webhook.id)) {
    if (other.event_seq != first.event_seq) record(other, answered(200));
  }
  webhook_rules.disable_after = 0h;
  int tries = 0;
  for (; !due(webhook.id).empty(); ++tries) {
    record(due(webhook.id).at(0), answered(500));
    clock.advance(30h);
  }
  EXPECT_EQ(tries, kMostTries);
  const auto failed = deliveries(webhook.id, "failed").deliveries;
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].attempts, kMostTries);
  EXPECT_TRUE(find(webhook.id)->spec.enabled) << "it is never disabled";
}

TEST_P(WebhookTest, failingForDaysDisablesIt) {
  const Webhook webhook = withOneDelivery();
  const auto began = clock.now();
  record(due(webhook.id).at(0), answered(500));
  EXPECT_EQ(find(webhook.id)->failing_since, began);
  EXPECT_EQ(find(webhook.id)->last_error, "answered 500");
  clock.advance(119h);
  record(due(webhook.id).at(0), answered(502));
  EXPECT_EQ(find(webhook.id)->failing_since, began);
  EXPECT_TRUE(find(webhook.id)->spec.enabled);
  clock.advance(1h);
  const auto seen = lastEvent();
  record(due(webhook.id).at(0), answered(500));
  const Webhook after = find(webhook.id).value();
  EXPECT_FALSE(after.spec.enabled);
  EXPECT_EQ(after.disabled_reason, "failing");
  EXPECT_EQ(eventTypesAfter(seen), Names{"webhook.disabled"});

  const Webhook enabled = change(webhook.id, {.enabled = true}).value();
  EXPECT_FALSE(enabled.failing_since) << "it is judged anew";
  EXPECT_EQ(enabled.disabled_reason, "");
  EXPECT_GT(enabled.pending, 0) << "what was pending goes on";
}

TEST_P(WebhookTest, aSuccessEndsTheFailing) {
  const Webhook webhook = create();
  push(), push();
  advanceToPresent(webhook);
  const auto both = due(webhook.id);
  record(both.at(0), answered(500));
  record(both.at(1), answered(200));
  EXPECT_FALSE(find(webhook.id)->failing_since);
  EXPECT_EQ(find(webhook.id)->last_error, "");
}

TEST_P(WebhookTest, goneDisablesItAtOnce) {
  const Webhook webhook = withOneDelivery();
  const auto seen = lastEvent();
  EXPECT_EQ(record(due(webhook.id).at(0), answered(410)), DeliveryVerdict::Kind::kFailed);
  EXPECT_EQ(find(webhook.id)->disabled_reason, "gone");
  EXPECT_FALSE(find(webhook.id)->spec.enabled);
  EXPECT_EQ(find(webhook.id)->version, 2);
  const auto events = eventsAfter(seen);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].details, R"({"webhook_id":")" + webhook.id.str() + R"(","reason":"gone"})");
}

TEST_P(WebhookTest, aLateOutcomeDoesNotCountForAnotherTry) {
  const Webhook webhook = withOneDelivery();
  const auto delivery = due(webhook.id).at(0);
  record(delivery, answered(500));
  record(delivery, answered(200));
  EXPECT_EQ(deliveries(webhook.id, "delivered").deliveries.size(), 0U);
  EXPECT_EQ(deliveries(webhook.id, "pending").deliveries.back().attempts, 1);
}

TEST_P(WebhookTest, aDeliveryCanBeMadeOnceMore) {
  const Webhook webhook = withOneDelivery();
  const auto delivery = due(webhook.id).at(0);
  for (const auto& one : due(webhook.id)) record(one, answered(200));
  const auto resend = [&](const std::string& id) {
    return write([&](Store& s) { return s.webhooks().resend(webhook.id, id); });
  };
  EXPECT_EQ(codeOf(resend(delivery.id() + "0")), ErrorCode::kNotFound) << "of another time";
  EXPECT_EQ(resend(delivery.id()).value().status, "pending");
  const auto again = due(webhook.id);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].body, delivery.body);
  EXPECT_EQ(codeOf(resend("x")), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(write([&](Store& s) { return s.webhooks().resend(WebhookId("x"), "x.1.2"); })),
            ErrorCode::kNotFound);
}

TEST_P(WebhookTest, deliveriesAreListedNewestFirstInPagesAndByStatus) {
  const Webhook webhook = create();
  for (int i = 0; i < 6; ++i) push();
  advanceToPresent(webhook);
  const auto all = due(webhook.id);
  record(all.at(0), answered(410));
  change(webhook.id, {.enabled = true}).value();
  for (std::size_t i = 1; i < 4; ++i) record(all[i], answered(200));
  const auto seqs = [&](const std::string& status) {
    std::vector<std::int64_t> found;
    for (std::int64_t before = 0;;) {
      const auto page = deliveries(webhook.id, status, before, 2);
      for (const auto& one : page.deliveries) found.push_back(one.event_seq);
      if (!page.more) return found;
      before = found.back();
    }
  };
  std::vector<std::int64_t> newest_first;
  for (auto at = all.rbegin(); at != all.rend(); ++at) newest_first.push_back(at->event_seq);
  EXPECT_EQ(seqs(""), newest_first);
  EXPECT_EQ(seqs("failed"), std::vector{all[0].event_seq});
  EXPECT_EQ(seqs("delivered"), (std::vector{all[3].event_seq, all[2].event_seq, all[1].event_seq}));
  EXPECT_EQ(seqs("pending").size(), all.size() - 4);
}

TEST_P(WebhookTest, whatHasEndedGoesWithItsTime) {
  const Webhook webhook = create();
  push(), push();
  advanceToPresent(webhook);
  record(due(webhook.id).at(0), answered(200));
  const auto tidy = [&](Time before) {
    return write([&](Store& s) { return s.webhooks().removeOldDeliveries(before, 10); });
  };
  EXPECT_EQ(tidy(clock.now()), 0);
  clock.advance(1h);
  EXPECT_EQ(tidy(clock.now()), 1);
  EXPECT_FALSE(due(webhook.id).empty()) << "what is pending stays";
}

TEST_P(WebhookTest, removingItDropsWhatIsPending) {
  const Webhook webhook = withOneDelivery();
  const auto delivery = due(webhook.id).at(0);
  EXPECT_GT(read([](Store& s) { return s.webhooks().pending(); }), 0);
  EXPECT_EQ(codeOf(write([&](Store& s) { return s.webhooks().remove(webhook.id, 2); })),
            ErrorCode::kVersionMismatch);
  EXPECT_TRUE(write([&](Store& s) { return s.webhooks().remove(webhook.id); }));
  EXPECT_FALSE(find(webhook.id));
  EXPECT_EQ(read([](Store& s) { return s.webhooks().pending(); }), 0);
  record(delivery, answered(500));  // of a call that was under way
  EXPECT_EQ(codeOf(write([&](Store& s) { return s.webhooks().remove(webhook.id); })),
            ErrorCode::kNotFound);
}

TEST_P(WebhookTest, aSliceOfEventsSaysWhatIsMissing) {
  const auto before = lastEvent();
  push(), push(), push();
  const auto all = eventsAfter(before);
  const auto slice = [&](std::int64_t after, int limit) {
    return read([&](Store& s) { return sliceAfter(s, after, limit); });
  };
  EventSlice two = slice(all[0].seq, 2);
  EXPECT_EQ(two.events.size(), 2U);
  EXPECT_EQ(two.read_to, all[2].seq);
  EXPECT_TRUE(two.more);
  EXPECT_EQ(two.expired, 0);
  EXPECT_EQ(slice(lastEvent(), 2).read_to, lastEvent());
  EXPECT_FALSE(slice(lastEvent(), 2).more);
  clock.advance(1h);
  write([&](Store& s) { s.events().removeOld(s.now(), 1000); });
  const EventSlice rest = slice(all[0].seq, 10);
  ASSERT_EQ(rest.events.size(), 1U) << "the newest stays";
  EXPECT_EQ(rest.expired, all.back().seq - all[0].seq - 1);
  EXPECT_EQ(rest.read_to, all.back().seq);
}

TEST_P(WebhookTest, eventsThatWereMissedAreCounted) {
  const Webhook webhook = create();
  ASSERT_TRUE(advance(webhook, webhook.after_seq + 5, {}, 3));
  EXPECT_EQ(find(webhook.id)->events_expired, 3);
}

}  // namespace
}  // namespace muster::test
