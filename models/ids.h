#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "models/time.h"

namespace muster {

// A string that names one kind of thing, so that a worker id cannot be passed as a job id.
template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string value) : value_(std::move(value)) {}

  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  // The linter takes the comparison in the generated code for one with a pointer.
  auto operator<=>(const Id&) const = default;  // NOLINT(modernize-use-nullptr)

 private:
  std::string value_;
};

using JobId = Id<struct JobTag>;
using WorkerId = Id<struct WorkerTag>;
using PoolId = Id<struct PoolTag>;
using FlowId = Id<struct FlowTag>;

// What may stand in a path as an id: 1 to 128 of A-Z a-z 0-9 . _ ~ : -
bool isValidId(std::string_view text);

// Makes ids that sort by the time they were made: 26 characters of Crockford's base 32 in lower
// case, 48 bits of milliseconds and 80 bits that start at random in each millisecond and count up
// within it. Not thread-safe.
class IdMaker {
 public:
  using RandomBytes = std::function<void(std::uint8_t* out, std::size_t size)>;
  explicit IdMaker(RandomBytes random) : random_(std::move(random)) {}

  // Strictly greater than every id this maker made before, also when `now` steps back.
  std::string next(Time now);

 private:
  RandomBytes random_;
  std::uint64_t millis_ = 0;
  std::array<std::uint8_t, 10> tail_{};
};

}  // namespace muster

template <class Tag>
struct std::hash<muster::Id<Tag>> {
  std::size_t operator()(const muster::Id<Tag>& id) const {
    return std::hash<std::string>{}(id.str());
  }
};
