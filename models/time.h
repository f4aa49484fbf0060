#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;
using Time = std::chrono::sys_time<Millis>;

inline std::int64_t toMillis(Time time) { return time.time_since_epoch().count(); }
inline Time fromMillis(std::int64_t millis) { return Time(Millis(millis)); }

// 2026-03-01T12:00:00.250Z
std::string formatTime(Time time);

// RFC 3339 with any offset, years 1970 to 9999; finer than a millisecond is cut off.
std::optional<Time> parseTime(std::string_view text);

}  // namespace muster
