#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>

#include "models/result.h"

namespace muster {

// Whether the token of a request is known. Routes without a scope ask for none.
enum class CallerKind { kKnown, kUnknown };

// Smaller requests are not counted, so that they are served while large ones fill the memory.
constexpr std::size_t kUncountedBytes = 4096;

// Bounds the bytes of all requests that are in memory. Thread-safe.
class BufferBudget {
 public:
  // Callers that are not known may fill half, but at least one body.
  BufferBudget(std::size_t limit, std::size_t max_body_bytes)
      : limit_(limit), unknown_limit_(std::max(limit / 2, max_body_bytes)) {}

  // kStoreBusy if they do not fit: then nothing was taken.
  Status take(std::size_t bytes, CallerKind caller) {
    const std::size_t limit = caller == CallerKind::kKnown ? limit_ : unknown_limit_;
    const std::size_t before = taken_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit) return {};
    giveBack(bytes);
    return fail(ErrorCode::kStoreBusy, "the requests in memory reach the limit of " +
                                           std::to_string(limit_) + " bytes (max_buffered_bytes)");
  }
  void giveBack(std::size_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const std::size_t limit_;
  const std::size_t unknown_limit_;
  std::atomic<std::size_t> taken_ = 0;
};

}  // namespace muster
