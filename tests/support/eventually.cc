#include "tests/support/eventually.h"

#include <poll.h>

namespace muster::test {

bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& condition) {
  constexpr int kPauseMs = 5;
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    ::poll(nullptr, 0, kPauseMs);
  }
  return true;
}

}  // namespace muster::test
