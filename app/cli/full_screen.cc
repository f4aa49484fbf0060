#include "app/cli/full_screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

namespace muster {
namespace {

std::atomic<const WakeUp*> resized = nullptr;

void onResize(int) {
  const int saved = errno;
  if (const WakeUp* wake_up = resized.load()) wake_up->wake();
  errno = saved;
}

void setResizeHandler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGWINCH, &action, nullptr);
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

FullScreen::FullScreen() : signals_(wake_up_) {
  resized = &wake_up_;
  setResizeHandler(onResize);
  termios now{};
  if (::tcgetattr(STDIN_FILENO, &now) == 0) {
    before_ = now;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  print("\x1b[?1049h\x1b[?25l");
}

FullScreen::~FullScreen() {
  print("\x1b[?25h\x1b[?1049l");
  if (before_) ::tcsetattr(STDIN_FILENO, TCSANOW, &*before_);
  setResizeHandler(SIG_DFL);
  resized = nullptr;
}

ScreenSize FullScreen::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

// One write, each line cleared behind its end: nothing flickers.
void FullScreen::show(const std::vector<std::string>& lines) const {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "" : "\r\n") + lines[i] + "\x1b[K";
  }
  print(text + "\x1b[J");
}

bool FullScreen::wait(int milliseconds) {
  std::array<pollfd, 2> ready{
      {{wake_up_.fd(), POLLIN, 0}, {before_ ? STDIN_FILENO : -1, POLLIN, 0}}};
  const int count = ::poll(ready.data(), ready.size(), milliseconds);
  if (signals_.stopRequests() > 0) return false;
  if (count <= 0) return true;
  if (ready[0].revents != 0) wake_up_.clear();
  if (ready[1].revents == 0) return true;
  char key = 0;
  return ::read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
}

}  // namespace muster
