#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace muster {

// The rule for the times after the last transition of a zone's table: a POSIX TZ string like
// CET-1CEST,M3.5.0,M10.5.0/3.
class PosixZone {
 public:
  // Nothing when the text is no such rule.
  static std::optional<PosixZone> parse(std::string_view text);

  std::chrono::seconds offsetAt(std::chrono::sys_seconds at) const;

 private:
  // A day of each year and a time on it.
  struct Switch {
    enum class Kind { kWeekday, kJulian, kDay } kind = Kind::kDay;
    int month = 0, week = 0, day = 0;
    std::chrono::seconds time{7200};

    std::chrono::local_seconds in(std::chrono::year year) const;
  };
  friend class PosixZoneReader;

  std::chrono::seconds standard_{0};
  std::chrono::seconds summer_{0};
  bool has_summer_ = false;
  Switch begin_, end_;
};

// How local time and UTC belong together in one zone. Immutable.
class TimeZone {
 public:
  static std::shared_ptr<const TimeZone> utc();
  // Reads a compiled zone file (TZif, RFC 8536, version 2 or later). The error is for a person.
  static tl::expected<std::shared_ptr<const TimeZone>, std::string> parse(std::string_view bytes);

  std::chrono::seconds offsetAt(std::chrono::sys_seconds at) const;
  std::chrono::local_seconds toLocal(std::chrono::sys_seconds at) const {
    return std::chrono::local_seconds(at.time_since_epoch() + offsetAt(at));
  }
  // The first instant that has this local time; when none has, the first instant after the gap.
  std::chrono::sys_seconds firstInstant(std::chrono::local_seconds local) const;

 private:
  struct Transition {
    std::chrono::sys_seconds at;
    std::chrono::seconds offset;  // from then on
  };
  std::chrono::seconds before_{0};  // the first transition
  std::vector<Transition> transitions_;
  std::optional<PosixZone> after_;  // the last transition
};

// Finds a zone by its IANA name; null when there is none.
using ZoneLookup = std::function<std::shared_ptr<const TimeZone>(const std::string& name)>;

}  // namespace muster
