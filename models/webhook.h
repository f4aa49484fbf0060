#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/event.h"
#include "models/ids.h"
#include "models/time.h"

namespace muster {

using WebhookId = Id<struct WebhookTag>;

// What its owner says of a webhook.
struct WebhookSpec {
  std::string url;
  std::vector<std::string> types = {};  // job.completed, or job.* for all that begin so; empty: all
  std::string pool = {};                // empty: events of all pools, and of none
  std::string description = {};
  bool enabled = true;

  bool operator==(const WebhookSpec&) const = default;
};

// What is to be different; the rest stays.
struct WebhookChange {
  std::optional<std::string> url = {};
  std::optional<std::vector<std::string>> types = {};
  std::optional<std::string> pool = {};  // empty: of all pools
  std::optional<std::string> description = {};
  std::optional<bool> enabled = {};
};
WebhookSpec changed(WebhookSpec spec, const WebhookChange& change);

// Why a webhook was disabled, when its owner has not done it.
namespace disabled_reason {
constexpr std::string_view kGone = "gone";        // the receiver answered 410
constexpr std::string_view kFailing = "failing";  // nothing was taken for days
}  // namespace disabled_reason

// Somebody who is told of events: a reader of the event table that posts what it finds.
struct Webhook {
  WebhookId id;
  WebhookSpec spec;
  std::string secret;      // whsec_…; never shown again
  std::string old_secret;  // signs along until then
  std::optional<Time> old_secret_until;
  std::int64_t version = 1;
  Time created_at;
  Time updated_at;
  std::int64_t after_seq = 0;       // events up to here have their deliveries
  std::int64_t events_expired = 0;  // were removed before it had looked at them
  std::string disabled_reason;      // one of disabled_reason, or empty
  std::optional<Time> failing_since;
  std::optional<Time> last_delivered_at;
  std::string last_error;
  std::int64_t pending = 0;  // deliveries that are still to be made
};
// active, failing or disabled.
std::string_view statusOf(const Webhook& webhook);
// Those that sign now, the newest first.
std::vector<std::string> secretsOf(const Webhook& webhook, Time now);

bool wants(const WebhookSpec& spec, const Event& event);
// A type of event, or the beginning of some with .* behind it.
bool isKnownTypePattern(std::string_view pattern);

namespace delivery_status {
constexpr std::string_view kPending = "pending";
constexpr std::string_view kDelivered = "delivered";
constexpr std::string_view kFailed = "failed";
}  // namespace delivery_status

// One event on its way to one webhook.
struct WebhookDelivery {
  WebhookId webhook;
  std::int64_t event_seq = 0;
  std::string type;
  std::string body;  // as it is posted
  std::string status;
  int attempts = 0;
  Time created_at;
  std::optional<Time> next_attempt_at;  // while it is pending
  std::optional<Time> last_attempt_at;
  std::optional<int> response_status;  // of the last try, like what follows
  std::optional<std::int64_t> duration_ms;
  std::string response_body;  // its beginning
  std::string error;

  // The webhook-id header: the same for every try. The time keeps apart what has the same number
  // in a store that was restored from a backup.
  std::string id() const;
};
// The number of the event in the id of a delivery to this webhook.
std::optional<std::int64_t> eventSeqOf(const WebhookId& webhook, std::string_view delivery_id);

// How one call went.
struct WebhookTry {
  std::optional<int> status;  // absent: there was no answer
  Millis took{0};
  std::string response_body;  // its beginning
  std::string error;          // empty: it was taken
  std::optional<Seconds> retry_after;

  bool delivered() const { return status && *status >= 200 && *status < 300; }
};

}  // namespace muster
