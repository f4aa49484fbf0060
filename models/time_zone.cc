#include "models/time_zone.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

using namespace std::chrono;

constexpr std::size_t kHeaderBytes = 44;

// The counts of a TZif header, in their order.
struct Counts {
  std::uint32_t utc_flags, standard_flags, leaps, transitions, types, name_bytes;

  std::size_t blockBytes(std::size_t time_bytes) const {
    return std::size_t{transitions} * (time_bytes + 1) + std::size_t{types} * 6 + name_bytes +
           std::size_t{leaps} * (time_bytes + 4) + standard_flags + utc_flags;
  }
};

std::uint64_t bigEndian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

std::int32_t signed32(std::string_view bytes, std::size_t at) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bigEndian(bytes, at, 4)));
}

std::optional<Counts> readHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with("TZif") || bytes[4] < '2') {
    return std::nullopt;
  }
  std::array<std::uint32_t, 6> n{};
  for (std::size_t i = 0; i < n.size(); ++i) {
    n[i] = static_cast<std::uint32_t>(bigEndian(bytes, 20 + 4 * i, 4));
    if (n[i] > 100'000) return std::nullopt;
  }
  return Counts{n[0], n[1], n[2], n[3], n[4], n[5]};
}

}  // namespace

// Takes the parts of a POSIX TZ string off its front.
class PosixZoneReader {
 public:
  explicit PosixZoneReader(std::string_view text) : rest_(text) {}

  std::optional<PosixZone> read() {
    PosixZone zone;
    seconds west{};
    if (!name() || !time(west)) return std::nullopt;
    zone.standard_ = zone.summer_ = -west;  // POSIX counts to the west
    if (rest_.empty()) return zone;
    zone.has_summer_ = true;
    zone.summer_ = zone.standard_ + hours(1);
    if (!name()) return std::nullopt;
    if (!rest_.empty() && rest_.front() != ',') {
      if (!time(west)) return std::nullopt;
      zone.summer_ = -west;
    }
    if (!take(',') || !change(zone.begin_) || !take(',') || !change(zone.end_)) return std::nullopt;
    return rest_.empty() ? std::optional(zone) : std::nullopt;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool name() {
    std::size_t end = 0;
    if (take('<')) {
      end = rest_.find('>');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    while (end < rest_.size() && ((rest_[end] | 0x20) >= 'a' && (rest_[end] | 0x20) <= 'z')) ++end;
    rest_.remove_prefix(end);
    return end >= 3;
  }

  bool number(int& value) {
    std::size_t end = 0;
    value = 0;
    while (end < rest_.size() && end < 4 && rest_[end] >= '0' && rest_[end] <= '9') {
      value = 10 * value + (rest_[end++] - '0');
    }
    rest_.remove_prefix(end);
    return end > 0;
  }

  // [+-]h[h][:mm[:ss]]
  bool time(seconds& value) {
    const bool negative = take('-');
    if (!negative) take('+');
    int h = 0, m = 0, s = 0;
    if (!number(h)) return false;
    if (take(':')) {
      if (!number(m)) return false;
      if (take(':') && !number(s)) return false;
    }
    value = hours(h) + minutes(m) + seconds(s);
    if (negative) value = -value;
    return true;
  }

  bool change(PosixZone::Switch& when) {
    using Kind = PosixZone::Switch::Kind;
    if (take('M')) {
      when.kind = Kind::kWeekday;
      if (!number(when.month) || !take('.') || !number(when.week) || !take('.') ||
          !number(when.day) || when.month < 1 || when.month > 12 || when.week < 1 ||
          when.week > 5 || when.day > 6) {
        return false;
      }
    } else {
      when.kind = take('J') ? Kind::kJulian : Kind::kDay;
      if (!number(when.day) || when.day > 365) return false;
    }
    return take('/') ? time(when.time) : true;
  }

  std::string_view rest_;
};

std::optional<PosixZone> PosixZone::parse(std::string_view text) {
  return PosixZoneReader(text).read();
}

local_seconds PosixZone::Switch::in(year y) const {
  local_days date;
  if (kind == Kind::kWeekday) {
    const auto of_month = std::chrono::month(static_cast<unsigned>(month));
    const std::chrono::weekday wanted(static_cast<unsigned>(this->day));
    date = week == 5 ? local_days(y / of_month / wanted[last])
                     : local_days(y / of_month / wanted[static_cast<unsigned>(week)]);
  } else {
    // Julian days never count 29 February.
    const bool after_leap_day = kind == Kind::kJulian && y.is_leap() && this->day >= 60;
    date = local_days(y / January / 1) + days(this->day - (kind == Kind::kJulian ? 1 : 0)) +
           days(after_leap_day ? 1 : 0);
  }
  return local_seconds(date) + time;
}

seconds PosixZone::offsetAt(sys_seconds at) const {
  if (!has_summer_) return standard_;
  const year y = year_month_day(floor<days>(at + standard_)).year();
  const sys_seconds begin(begin_.in(y).time_since_epoch() - standard_);
  const sys_seconds end(end_.in(y).time_since_epoch() - summer_);
  const bool summer = begin < end ? at >= begin && at < end : at >= begin || at < end;
  return summer ? summer_ : standard_;
}

std::shared_ptr<const TimeZone> TimeZone::utc() {
  static const auto zone = std::make_shared<const TimeZone>();
  return zone;
}

tl::expected<std::shared_ptr<const TimeZone>, std::string> TimeZone::parse(std::string_view bytes) {
  const auto refuse = [](std::string what) { return tl::unexpected(std::move(what)); };
  const auto old = readHeader(bytes);
  if (!old) return refuse("is no zone file of version 2 or later");
  const std::size_t second = kHeaderBytes + old->blockBytes(4);
  const auto counts = readHeader(bytes.substr(std::min(second, bytes.size())));
  if (!counts || counts->types == 0) return refuse("has no 64-bit table");
  bytes.remove_prefix(second + kHeaderBytes);
  const std::size_t block = counts->blockBytes(8);
  if (bytes.size() < block) return refuse("is cut off");

  const std::size_t kinds = std::size_t{counts->transitions} * 8;
  const std::size_t types = kinds + counts->transitions;
  auto zone = std::make_shared<TimeZone>();
  zone->before_ = seconds(signed32(bytes, types));
  for (std::size_t i = 0; i < counts->transitions; ++i) {
    const auto kind = static_cast<unsigned char>(bytes[kinds + i]);
    if (kind >= counts->types) return refuse("is damaged");
    const auto at = static_cast<std::int64_t>(bigEndian(bytes, 8 * i, 8));
    zone->transitions_.push_back(
        {sys_seconds(seconds(at)), seconds(signed32(bytes, types + std::size_t{kind} * 6))});
  }
  bytes.remove_prefix(block);
  const std::size_t end = bytes.size() > 1 ? bytes.find('\n', 1) : std::string_view::npos;
  if (end == std::string_view::npos || bytes.front() != '\n') {
    return refuse("has no rule for later times");
  }
  if (end > 1) {
    zone->after_ = PosixZone::parse(bytes.substr(1, end - 1));
    if (!zone->after_) return refuse("has a rule for later times that cannot be read");
  }
  return std::shared_ptr<const TimeZone>(std::move(zone));
}

seconds TimeZone::offsetAt(sys_seconds at) const {
  const auto next = std::upper_bound(
      transitions_.begin(), transitions_.end(), at,
      [](sys_seconds time, const Transition& transition) { return time < transition.at; });
  if (next == transitions_.end() && after_) return after_->offsetAt(at);
  return next == transitions_.begin() ? before_ : std::prev(next)->offset;
}

sys_seconds TimeZone::firstInstant(local_seconds local) const {
  const auto asUtc = [local](seconds offset) {
    return sys_seconds(local.time_since_epoch() - offset);
  };
  // Offsets are never farther from each other than a day, and transitions not as near as that.
  const seconds before = offsetAt(asUtc(hours(24))), after = offsetAt(asUtc(hours(-24)));
  const sys_seconds early = asUtc(std::max(before, after)), late = asUtc(std::min(before, after));
  if (toLocal(early) == local) return early;
  if (toLocal(late) == local) return late;
  // A gap: between the two stands the transition.
  sys_seconds low = early, high = late;
  while (high - low > seconds(1)) {
    const sys_seconds middle = low + (high - low) / 2;
    (toLocal(middle) < local ? low : high) = middle;
  }
  return high;
}

}  // namespace muster
