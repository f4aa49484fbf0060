#include "models/webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace muster {
namespace {

// "job." of "job.*"; nothing when it is no such pattern.
std::optional<std::string_view> beginningOf(std::string_view pattern) {
  if (!pattern.ends_with(".*")) return std::nullopt;
  return pattern.substr(0, pattern.size() - 1);
}

bool fits(std::string_view pattern, std::string_view type) {
  const auto beginning = beginningOf(pattern);
  return beginning ? type.starts_with(*beginning) : type == pattern;
}

}  // namespace

WebhookSpec changed(WebhookSpec spec, const WebhookChange& change) {
  if (change.url) spec.url = *change.url;
  if (change.types) spec.types = *change.types;
  if (change.pool) spec.pool = *change.pool;
  if (change.description) spec.description = *change.description;
  if (change.enabled) spec.enabled = *change.enabled;
  return spec;
}

std::string_view statusOf(const Webhook& webhook) {
  if (!webhook.spec.enabled) return "disabled";
  return webhook.failing_since ? "failing" : "active";
}

std::vector<std::string> secretsOf(const Webhook& webhook, Time now) {
  std::vector<std::string> secrets = {webhook.secret};
  if (webhook.old_secret_until && now < *webhook.old_secret_until) {
    secrets.push_back(webhook.old_secret);
  }
  return secrets;
}

bool wants(const WebhookSpec& spec, const Event& event) {
  if (!spec.pool.empty() && spec.pool != event.pool) return false;
  return spec.types.empty() ||
         std::any_of(spec.types.begin(), spec.types.end(),
                     [&event](const std::string& pattern) { return fits(pattern, event.type); });
}

bool isKnownTypePattern(std::string_view pattern) {
  return std::any_of(event_type::kAll.begin(), event_type::kAll.end(),
                     [pattern](std::string_view type) { return fits(pattern, type); });
}

std::string WebhookDelivery::id() const {
  return fmt::format("{}.{}.{}", webhook.str(), event_seq, toMillis(created_at));
}

std::optional<std::int64_t> eventSeqOf(const WebhookId& webhook, std::string_view delivery_id) {
  const std::string beginning = webhook.str() + ".";
  if (!delivery_id.starts_with(beginning)) return std::nullopt;
  delivery_id.remove_prefix(beginning.size());
  std::int64_t seq = 0;
  const char* const end = delivery_id.data() + delivery_id.size();
  const auto [read_to, fault] = std::from_chars(delivery_id.data(), end, seq);
  if (fault != std::errc() || read_to == end || *read_to != '.' || seq <= 0) return std::nullopt;
  return seq;
}

}  // namespace muster
