#include "models/policy/byte_range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace muster {
namespace {

constexpr std::string_view kUnit = "bytes=";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// More than fits is as good as the largest number. Nothing if it is no row of digits.
std::optional<std::int64_t> digits(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc::result_out_of_range) return std::numeric_limits<std::int64_t>::max();
  return value;
}

}  // namespace

ByteRange chooseRange(std::string_view header, std::int64_t size) {
  const ByteRange whole{ByteRange::Kind::kWhole, 0, size};
  const ByteRange none{ByteRange::Kind::kNone, 0, 0};
  if (!header.starts_with(kUnit)) return whole;
  const std::string_view text = trim(header.substr(kUnit.size()));
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return whole;
  const std::string_view first_text = text.substr(0, dash), last_text = text.substr(dash + 1);
  const auto last = digits(last_text);
  if (!last && !last_text.empty()) return whole;
  if (first_text.empty()) {  // the last bytes
    if (!last) return whole;
    const std::int64_t length = std::min(*last, size);
    return length == 0 ? none : ByteRange{ByteRange::Kind::kPart, size - length, length};
  }
  const auto first = digits(first_text);
  if (!first || (last && *last < *first)) return whole;
  if (*first >= size) return none;
  const std::int64_t end = std::min(last.value_or(size - 1), size - 1);
  return {ByteRange::Kind::kPart, *first, end - *first + 1};
}

bool namesTag(std::string_view header, std::string_view tag) {
  std::string_view rest = header;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view one = trim(rest.substr(0, comma));
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

}  // namespace muster
