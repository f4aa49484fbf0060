#pragma once

#include <termios.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/worker/process_signals.h"

namespace muster {

struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 24;
};

// The terminal's alternate screen, without cursor and echo, until it is destroyed: then everything
// is as it was before. SIGINT and SIGTERM end the wait instead of the process, and so does a
// change of the terminal's size. At most one at a time.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize size() const;
  void show(const std::vector<std::string>& lines) const;
  // Until the time is over or the size changed; false when it is time to end: a signal, q, or
  // nobody is at the terminal any more.
  bool wait(int milliseconds);

 private:
  WakeUp wake_up_;
  ProcessSignals signals_;
  std::optional<termios> before_;  // not set: stdin is no terminal
};

}  // namespace muster
