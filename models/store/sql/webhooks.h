#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/policy/webhook_retry.h"
#include "models/result.h"
#include "models/store/sql/session.h"
#include "models/version.h"
#include "models/webhook.h"

namespace muster {

// Webhooks, and the deliveries that were made of the events they have read.
class Webhooks {
 public:
  explicit Webhooks(Session& session) : s_(session) {}

  static constexpr int kMost = 100;
  // How long the old secret signs along after a rotation.
  static constexpr auto kOldSecretSigns = std::chrono::hours(24);

  // Reads what happens from now on: webhook.created. Without a secret it is given one. kTooMany.
  Result<Webhook> create(const WebhookSpec& spec, const std::optional<std::string>& secret);
  std::optional<Webhook> find(const WebhookId& id);
  // In the order of their ids, those after `after`.
  std::vector<Webhook> list(const std::string& after, int limit);
  // webhook.updated, or webhook.disabled when that is what changes. One that is enabled again goes
  // on where it stopped, and is judged anew. kNotFound, kVersionMismatch.
  Result<Webhook> change(const WebhookId& id, const WebhookChange& change, IfVersion version = {});
  // webhook.updated. kNotFound, kVersionMismatch.
  Result<Webhook> rotate(const WebhookId& id, const std::optional<std::string>& secret,
                         IfVersion version = {});
  // With what was pending: webhook.deleted. kNotFound, kVersionMismatch.
  Status remove(const WebhookId& id, IfVersion version = {});

  struct DeliveryFilter {
    std::string status;       // empty: any
    std::int64_t before = 0;  // older than this event; 0: from the newest on
  };
  struct DeliveryPage {
    std::vector<WebhookDelivery> deliveries;  // newest first
    bool more = false;
  };
  DeliveryPage deliveries(const WebhookId& id, const DeliveryFilter& filter, int limit);
  // Makes it once more, with all its tries. kNotFound.
  Result<WebhookDelivery> resend(const WebhookId& id, const std::string& delivery_id);

  // What follows is for whoever delivers: one at a time.

  // An enabled webhook with the times at which something is to be done for it.
  struct Reader {
    Webhook webhook;
    std::optional<Time> first_due;  // may have passed
    std::optional<Time> next_due;   // has not
  };
  std::vector<Reader> readers();

  // The events of the webhook up to `read_to` become deliveries, due now; `expired` others were
  // gone. False when it has moved from `after_seq` on, or is not enabled any more: nothing is done.
  struct Found {
    WebhookId webhook;
    std::int64_t after_seq = 0;
    std::int64_t read_to = 0;
    std::int64_t expired = 0;
    std::vector<Event> events;
  };
  bool advance(const Found& found);

  // Those that are due, the longest first.
  std::vector<WebhookDelivery> due(const WebhookId& id, int limit);

  // Notes how a try went, unless the delivery has been changed since it was read. Disables the
  // webhook when there is no hope for it: webhook.disabled.
  DeliveryVerdict::Kind record(const WebhookDelivery& delivery, const WebhookTry& made,
                               const WebhookRules& rules);

  std::int64_t pending();
  // Deliveries that came to an end before `before`.
  std::int64_t removeOldDeliveries(Time before, int limit);

 private:
  Result<Webhook> guarded(const WebhookId& id, const IfVersion& version);
  void save(const Webhook& webhook);
  void emit(std::string_view type, const WebhookId& id, std::string_view reason = {});

  Session& s_;
};

}  // namespace muster
