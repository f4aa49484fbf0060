#pragma once

#include <optional>

#include "models/time.h"
#include "models/webhook.h"

namespace muster {

struct WebhookRules {
  Millis retry_base = Seconds(5);  // before the second try; the later waits are multiples of it
  Millis disable_after = std::chrono::hours(120);  // of failing without an end; 0: never
};

// Tries of a delivery in all: at once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h
// and 24 h, when the base is 5 s.
constexpr int kMostTries = 10;

// What becomes of a delivery after a try.
struct DeliveryVerdict {
  enum class Kind { kDelivered, kRetried, kFailed };
  Kind kind;
  Millis wait{0};  // before the next try
};

// The receiver wants nothing more, ever.
bool isGone(const WebhookTry& made);

// `attempts` counts the try already; `dice` in [0, 1) chooses within a tenth of the wait. A
// receiver that is busy may ask for a longer wait, up to a day, but for none that is shorter.
DeliveryVerdict judgeTry(int attempts, const WebhookTry& made, Millis base, double dice);

// How long a webhook is left alone after so many failures in a row, whatever else waits for it.
Millis pauseAfterFailures(int failures, const WebhookTry& last, Millis base);

// Since when it must have failed to be disabled now.
std::optional<Time> hopelessSince(Time now, Millis disable_after);

}  // namespace muster
