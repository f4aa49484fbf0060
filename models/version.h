#pragma once

#include <cstdint>
#include <optional>

namespace muster {

// What If-Match asks for: a version of the resource, or any as long as it exists.
using IfVersion = std::optional<std::int64_t>;
constexpr std::int64_t kAnyVersion = 0;

inline bool versionFits(const IfVersion& wanted, std::int64_t actual) {
  return !wanted || *wanted == kAnyVersion || *wanted == actual;
}

}  // namespace muster
