#include "controllers/request_head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace muster {
namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kMaxHead = 64U << 10;  // the framework refuses longer lines by itself
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kRenamedPath = "/~method/";

bool isTokenChar(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kMarks.find(c) != std::string_view::npos;
}

bool isToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isTokenChar);
}

bool equalsIgnoringCase(std::string_view text, std::string_view lower_case) {
  return std::equal(text.begin(), text.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Of lines "name: value" the number of bytes behind the head; nothing if they leave a doubt.
std::optional<std::size_t> bodySize(std::string_view lines) {
  std::optional<std::size_t> size;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find(kLineEnd), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + kLineEnd.size(), lines.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !isToken(line.substr(0, colon))) return std::nullopt;
    const std::string_view name = line.substr(0, colon);
    if (equalsIgnoringCase(name, "transfer-encoding") || equalsIgnoringCase(name, "upgrade")) {
      return std::nullopt;
    }
    if (!equalsIgnoringCase(name, "content-length")) continue;
    const std::string_view digits = trimmed(line.substr(colon + 1));
    constexpr std::size_t kMaxDigits = 18;  // no sum of sizes overflows
    std::size_t value = 0;
    const auto [rest, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool is_number = fault == std::errc() && rest == digits.data() + digits.size();
    if (!is_number || digits.size() > kMaxDigits || size) return std::nullopt;
    size = value;
  }
  return size.value_or(0);
}

}  // namespace

RequestHead readRequestHead(std::string_view bytes) {
  RequestHead head;
  const std::size_t space =
      std::min(bytes.substr(0, kMaxMethod + 1).find(' '), std::min(bytes.size(), kMaxMethod + 1));
  head.method = bytes.substr(0, space);
  if (bytes.empty()) return head;
  if (!isToken(head.method) || space > kMaxMethod) {
    head.state = RequestHead::State::kUnclear;
    return head;
  }
  const std::size_t end = bytes.find(kHeadEnd);
  if (end == std::string_view::npos) {
    if (bytes.size() >= kMaxHead) head.state = RequestHead::State::kUnclear;
    return head;
  }
  head.size = end + kHeadEnd.size();
  const std::string_view lines = bytes.substr(0, end);
  const std::size_t first = std::min(lines.find(kLineEnd), lines.size());
  const auto body = bodySize(lines.substr(std::min(first + kLineEnd.size(), lines.size())));
  head.body_size = body.value_or(0);
  head.state = body && space < first ? RequestHead::State::kComplete : RequestHead::State::kUnclear;
  return head;
}

bool isFrameworkMethod(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown = {"GET",    "POST",    "PUT", "PATCH",
                                                      "DELETE", "OPTIONS", "HEAD"};
  return std::find(kKnown.begin(), kKnown.end(), method) != kKnown.end();
}

std::string beginOfRenamed(std::string_view method) {
  return std::string("OPTIONS ").append(kRenamedPath).append(method);
}

std::string_view takeRenamedMethod(std::string_view& path) {
  if (!path.starts_with(kRenamedPath)) return {};
  const std::string_view rest = path.substr(kRenamedPath.size());
  const std::size_t end = std::min(rest.find('/'), rest.size());
  const std::string_view method = rest.substr(0, end);
  if (isFrameworkMethod(method)) return {};  // somebody else wrote it: no way around other checks
  path = rest.substr(end);
  return method;
}

}  // namespace muster
