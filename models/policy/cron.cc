#include "models/policy/cron.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace muster {
namespace {

using namespace std::chrono;

constexpr auto kFarthest = days(366 * 10);

using Words = std::vector<std::string_view>;
const Words kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                       "jul", "aug", "sep", "oct", "nov", "dec"};
const Words kWeekdays = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
  std::string_view name;
  int min, max;
  const Words* names = nullptr;
  int first_name = 0;
};

struct Nickname {
  std::string_view name, expression;
};
constexpr std::array<Nickname, 7> kNicknames = {{{"@yearly", "0 0 1 1 *"},
                                                 {"@annually", "0 0 1 1 *"},
                                                 {"@monthly", "0 0 1 * *"},
                                                 {"@weekly", "0 0 * * 0"},
                                                 {"@daily", "0 0 * * *"},
                                                 {"@midnight", "0 0 * * *"},
                                                 {"@hourly", "0 * * * *"}}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool isSpace(char c) { return c == ' ' || c == '\t'; }

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t at = 0;
  while (at < text.size()) {
    while (at < text.size() && isSpace(text[at])) ++at;
    const std::size_t start = at;
    while (at < text.size() && !isSpace(text[at])) ++at;
    if (at > start) found.push_back(text.substr(start, at - start));
  }
  return found;
}

std::optional<int> number(std::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<int> value(std::string_view text, const Field& field) {
  if (const auto plain = number(text)) return plain;
  if (field.names == nullptr) return std::nullopt;
  const auto found = std::find(field.names->begin(), field.names->end(), lower(text));
  if (found == field.names->end()) return std::nullopt;
  return static_cast<int>(found - field.names->begin()) + field.first_name;
}

}  // namespace

// Reads the fields of one expression; `fault` says what is wrong with the first bad one.
class CronReader {
 public:
  bool read(std::string_view expression, CronSchedule& schedule) {
    if (expression.starts_with('@')) {
      const std::string name = lower(words(expression).front());
      const auto found = std::find_if(kNicknames.begin(), kNicknames.end(),
                                      [&](const Nickname& known) { return known.name == name; });
      if (found == kNicknames.end() || words(expression).size() != 1) {
        fault = fmt::format("\"{}\" is not one of @yearly, @monthly, @weekly, @daily and @hourly",
                            expression.substr(0, 40));
        return false;
      }
      expression = found->expression;
    }
    const auto fields = words(expression);
    if (fields.size() != 5) {
      fault = fmt::format("has {} fields, expected 5: minute, hour, day, month, day of week",
                          fields.size());
      return false;
    }
    std::bitset<8> weekdays;
    schedule.any_day_ = fields[2].starts_with('*');
    schedule.any_weekday_ = fields[4].starts_with('*');
    const bool ok = list(fields[0], {"minute", 0, 59}, schedule.minutes_) &&
                    list(fields[1], {"hour", 0, 23}, schedule.hours_) &&
                    list(fields[2], {"day of month", 1, 31}, schedule.days_) &&
                    list(fields[3], {"month", 1, 12, &kMonths, 1}, schedule.months_) &&
                    list(fields[4], {"day of week", 0, 7, &kWeekdays, 0}, weekdays);
    for (std::size_t day = 0; day < weekdays.size(); ++day) {
      if (weekdays[day]) schedule.weekdays_.set(day % 7);
    }
    return ok;
  }

  std::string fault;

 private:
  template <std::size_t Size>
  bool list(std::string_view text, const Field& field, std::bitset<Size>& set) {
    while (true) {
      const std::size_t comma = std::min(text.find(','), text.size());
      if (!range(text.substr(0, comma), field, set)) return false;
      if (comma == text.size()) return true;
      text.remove_prefix(comma + 1);
    }
  }

  template <std::size_t Size>
  bool range(std::string_view text, const Field& field, std::bitset<Size>& set) {
    const std::size_t slash = text.find('/');
    const std::string_view span = text.substr(0, slash);
    const std::size_t dash = span.find('-');
    std::optional<int> low, high, step = 1;
    if (slash != std::string_view::npos) step = number(text.substr(slash + 1));
    if (span == "*") {
      low = field.min;
      high = field.max == 7 ? 6 : field.max;
    } else {
      low = value(span.substr(0, dash), field);
      high = dash != std::string_view::npos    ? value(span.substr(dash + 1), field)
             : slash != std::string_view::npos ? std::optional(field.max)
                                               : low;
      if (dash != std::string_view::npos && field.max == 7 && high == 0) high = 7;  // fri-sun
    }
    if (!low || !high || !step || *step < 1 || *low < field.min || *high > field.max ||
        *low > *high) {
      fault = fmt::format("\"{}\" is no {} ({} to {})", text.substr(0, 40), field.name, field.min,
                          field.max);
      return false;
    }
    for (int at = *low; at <= *high; at += *step) set.set(static_cast<std::size_t>(at));
    return true;
  }
};

tl::expected<CronSchedule, CronSchedule::Fault> CronSchedule::parse(std::string_view expression,
                                                                    std::string_view timezone,
                                                                    const ZoneLookup& zones) {
  while (!expression.empty() && isSpace(expression.front())) expression.remove_prefix(1);
  for (const std::string_view prefix : {"CRON_TZ=", "TZ="}) {
    if (!expression.starts_with(prefix)) continue;
    const std::size_t end = std::min(expression.find(' '), expression.size());
    const std::string_view named = expression.substr(prefix.size(), end - prefix.size());
    if (!timezone.empty() && timezone != named) {
      return tl::unexpected(Fault{true, "is another one than the schedule names"});
    }
    timezone = named;
    expression.remove_prefix(end);
    while (!expression.empty() && isSpace(expression.front())) expression.remove_prefix(1);
    if (named.empty()) return tl::unexpected(Fault{false, "names no zone"});
    break;
  }
  CronSchedule schedule;
  CronReader reader;
  if (!reader.read(expression, schedule)) return tl::unexpected(Fault{false, reader.fault});
  schedule.zone_ =
      timezone.empty() || timezone == "UTC" ? TimeZone::utc() : zones(std::string(timezone));
  if (!schedule.zone_) {
    return tl::unexpected(
        Fault{true, fmt::format("\"{}\" is no time zone known here", timezone.substr(0, 80))});
  }
  if (!schedule.everHappens()) {
    return tl::unexpected(Fault{false, "names a day that no month of it has"});
  }
  return schedule;
}

bool CronSchedule::everHappens() const {
  if (!any_weekday_) return true;
  constexpr std::array<std::size_t, 13> kLongest = {0,  31, 29, 31, 30, 31, 30,
                                                    31, 31, 30, 31, 30, 31};
  for (std::size_t month = 1; month <= 12; ++month) {
    for (std::size_t day = 1; months_[month] && day <= kLongest[month]; ++day) {
      if (days_[day]) return true;
    }
  }
  return false;
}

bool CronSchedule::matchesDate(year_month_day date) const {
  if (!months_[static_cast<unsigned>(date.month())]) return false;
  const bool day = days_[static_cast<unsigned>(date.day())];
  const bool week = weekdays_[weekday(local_days(date)).c_encoding()];
  return any_day_ || any_weekday_ ? day && week : day || week;
}

std::optional<Time> CronSchedule::next(Time after) const {
  const sys_seconds from = floor<seconds>(after);
  const auto found = hours_.all() ? nextElapsed(from) : nextNamed(from);
  if (!found) return std::nullopt;
  return Time(*found);
}

std::optional<Time> CronSchedule::last(Time until) const {
  // From further and further back, so that there are few times to walk over.
  for (Millis back = minutes(1); back < kFarthest; back *= 2) {
    std::optional<Time> found;
    for (auto at = next(until - back); at && *at <= until; at = next(*at)) found = at;
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<sys_seconds> CronSchedule::nextNamed(sys_seconds after) const {
  const local_seconds begin = floor<minutes>(zone_->toLocal(after));
  for (local_days date = floor<days>(begin); date < begin + kFarthest; date += days(1)) {
    if (!matchesDate(year_month_day(date))) continue;
    for (std::size_t hour = 0; hour < 24; ++hour) {
      if (!hours_[hour]) continue;
      for (std::size_t minute = 0; minute < 60; ++minute) {
        const local_seconds local = local_seconds(date) + hours(hour) + minutes(minute);
        if (!minutes_[minute] || local < begin) continue;
        const sys_seconds at = zone_->firstInstant(local);
        if (at > after) return at;
      }
    }
  }
  return std::nullopt;
}

std::optional<sys_seconds> CronSchedule::nextElapsed(sys_seconds after) const {
  sys_seconds at = floor<minutes>(after) + minutes(1);
  while (at < after + kFarthest) {
    const local_seconds local = zone_->toLocal(at);
    const local_days date = floor<days>(local);
    if (!matchesDate(year_month_day(date))) {
      at = std::max(zone_->firstInstant(date + days(1)), at + minutes(1));
    } else if (minutes_[static_cast<std::size_t>(
                   duration_cast<minutes>(local - floor<hours>(local)).count())]) {
      return at;
    } else {
      at += minutes(1);
    }
  }
  return std::nullopt;
}

}  // namespace muster
