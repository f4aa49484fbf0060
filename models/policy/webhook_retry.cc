#include "models/policy/webhook_retry.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr double kDeliveryJitter = 0.1;
constexpr Millis kLongestAsked = std::chrono::hours(24);

// In multiples of the base.
constexpr std::array<std::int64_t, kMostTries - 1> kWaits = {1,    60,    360,   1440, 3600,
                                                             7200, 10080, 14400, 17280};

// Only of those who say that they are busy.
Millis askedFor(const WebhookTry& made) {
  const bool is_busy = made.status == 429 || made.status == 503;
  if (!is_busy || !made.retry_after) return Millis(0);
  return std::clamp(Millis(*made.retry_after), Millis(0), kLongestAsked);
}

}  // namespace

bool isGone(const WebhookTry& made) { return made.status == 410; }

DeliveryVerdict judgeTry(int attempts, const WebhookTry& made, Millis base, double dice) {
  using Kind = DeliveryVerdict::Kind;
  if (made.delivered()) return {Kind::kDelivered};
  if (isGone(made) || attempts >= kMostTries) return {Kind::kFailed};
  const auto step = static_cast<std::size_t>(std::max(attempts, 1) - 1);
  const double factor = 1 + kDeliveryJitter * (2 * dice - 1);
  const auto planned = Millis(static_cast<std::int64_t>(
      static_cast<double>(base.count()) * static_cast<double>(kWaits[step]) * factor));
  return {Kind::kRetried, std::max(planned, askedFor(made))};
}

Millis pauseAfterFailures(int failures, const WebhookTry& last, Millis base) {
  if (failures <= 0) return Millis(0);
  const Millis longest = base * 12;
  const Millis grown = base / 10 * (std::int64_t{1} << std::min(failures - 1, 20));
  return std::max(std::min(grown, longest), askedFor(last));
}

std::optional<Time> hopelessSince(Time now, Millis disable_after) {
  if (disable_after <= Millis(0)) return std::nullopt;
  return now - disable_after;
}

}  // namespace muster
