#include "models/time.h"

#include <cctype>
#include <charconv>
#include <cstdint>

namespace muster {
namespace {

// Reads exactly `digits` decimal digits at `at`, or nothing.
std::optional<int> number(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return std::nullopt;
  int value = 0;
  for (std::size_t i = at; i < at + digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

void put(std::string& out, std::size_t at, std::size_t digits, long value) {
  for (std::size_t i = at + digits; i-- > at; value /= 10) {
    out[i] = static_cast<char>('0' + value % 10);
  }
}

}  // namespace

std::string formatTime(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string text = "0000-00-00T00:00:00.000Z";
  put(text, 0, 4, static_cast<int>(date.year()));
  put(text, 5, 2, static_cast<long>(static_cast<unsigned>(date.month())));
  put(text, 8, 2, static_cast<long>(static_cast<unsigned>(date.day())));
  put(text, 11, 2, clock.hours().count());
  put(text, 14, 2, clock.minutes().count());
  put(text, 17, 2, clock.seconds().count());
  put(text, 20, 3, clock.subseconds().count());
  return text;
}

std::optional<Time> parseTime(std::string_view text) {
  const auto year = number(text, 0, 4), month = number(text, 5, 2), day = number(text, 8, 2);
  const auto hour = number(text, 11, 2), minute = number(text, 14, 2), second = number(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;

  std::size_t at = 19;
  int millis = 0;
  if (at < text.size() && text[at] == '.') {
    std::size_t digits = 0;
    for (++at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
      if (digits++ < 3) millis = millis * 10 + (text[at] - '0');
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) millis *= 10;
  }

  std::chrono::minutes offset{0};
  if (at < text.size() && (text[at] == 'Z' || text[at] == 'z')) {
    ++at;
  } else {
    if (at >= text.size() || (text[at] != '+' && text[at] != '-')) return std::nullopt;
    const auto hours = number(text, at + 1, 2), minutes = number(text, at + 4, 2);
    if (!hours || !minutes || text[at + 3] != ':' || *hours > 23 || *minutes > 59) {
      return std::nullopt;
    }
    offset = std::chrono::minutes(*hours * 60 + *minutes);
    if (text[at] == '-') offset = -offset;
    at += 6;
  }
  if (at != text.size()) return std::nullopt;
  const Time time = std::chrono::sys_days(date) + std::chrono::hours(*hour) +
                    std::chrono::minutes(*minute) + std::chrono::seconds(*second) + Millis(millis) -
                    offset;
  constexpr Time kYear10000 = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  if (toMillis(time) < 0 || time >= kYear10000) return std::nullopt;
  return time;
}

}  // namespace muster
