#include "models/trace_context.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::size_t kVersionAt = 0, kTraceAt = 3, kSpanAt = 36, kFlagsAt = 53, kSize = 55;

bool isLowerHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool isZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

std::string readTraceparent(std::string_view header) {
  if (header.size() < kSize) return {};
  const auto version = header.substr(kVersionAt, 2), trace = header.substr(kTraceAt, 32),
             span = header.substr(kSpanAt, 16), flags = header.substr(kFlagsAt, 2);
  const bool divided =
      header[kTraceAt - 1] == '-' && header[kSpanAt - 1] == '-' && header[kFlagsAt - 1] == '-';
  if (!divided || !isLowerHex(version) || !isLowerHex(trace) || !isLowerHex(span) ||
      !isLowerHex(flags) || version == "ff" || isZero(trace) || isZero(span)) {
    return {};
  }
  if (version == "00") return header.size() == kSize ? std::string(header) : std::string();
  if (header.size() > kSize && header[kSize] != '-') return {};
  // Of the flags of a later version only "sampled" is known to mean the same.
  const int last = flags[1] <= '9' ? flags[1] - '0' : flags[1] - 'a' + 10;
  std::string known("00");
  known.append(header.substr(2, kFlagsAt - 2)).append(last % 2 == 1 ? "01" : "00");
  return known;
}

}  // namespace muster
