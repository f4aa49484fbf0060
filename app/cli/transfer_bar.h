#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "models/clock.h"

namespace muster {

// A line about a transfer that takes longer than a second; nothing where nobody looks.
class TransferBar {
 public:
  TransferBar(std::ostream& err, const Clock& clock, bool is_screen)
      : err_(err), clock_(clock), is_screen_(is_screen), began_(clock.monotonic()) {}
  // Takes the line away again.
  ~TransferBar();
  TransferBar(const TransferBar&) = delete;
  TransferBar& operator=(const TransferBar&) = delete;

  void show(std::uint64_t done, std::optional<std::uint64_t> size);

 private:
  std::ostream& err_;
  const Clock& clock_;
  const bool is_screen_;
  const std::chrono::nanoseconds began_;
  std::chrono::nanoseconds shown_{0};
};

}  // namespace muster
