#include "app/client/refusal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/client/json_fields.h"

namespace muster {
namespace {

std::optional<Seconds> retryAfter(const HttpAnswer& answer) {
  const auto found = answer.headers.find("retry-after");
  if (found == answer.headers.end()) return std::nullopt;
  constexpr int kLongest = 3600;
  int seconds = 0;
  const std::string& text = found->second;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Seconds(std::clamp(seconds, 0, kLongest));
}

}  // namespace

Refusal refusalOf(const HttpAnswer& answer) {
  Refusal refusal{answer.status, "", fmt::format("status {}", answer.status), retryAfter(answer)};
  if (const auto problem = JsonAnswer::parse(answer.body)) {
    refusal.code = textOf(problem->root(), "code");
    if (auto detail = textOf(problem->root(), "detail"); !detail.empty()) refusal.detail = detail;
    if (!textOf(problem->root(), "leader_url").empty()) {
      refusal.detail += "; it gets the token only if MUSTER_NODES allows that";
    }
  }
  return refusal;
}

}  // namespace muster
