#include "app/worker/process_signals.h"

#include <signal.h>
#include <sys/eventfd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace muster {
namespace {

std::atomic<const WakeUp*> woken = nullptr;
std::atomic<int> stop_requests = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void onSignal(int number) {
  const int saved = errno;
  if (number != SIGCHLD) ++stop_requests;
  if (const WakeUp* wake_up = woken.load()) wake_up->wake();
  errno = saved;
}

// Without SA_RESTART: a blocking call returns, so that its caller looks around.
void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

}  // namespace

WakeUp::WakeUp() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_.isOpen()) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void WakeUp::wake() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof one);
}

void WakeUp::clear() const noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event_.get(), &count, sizeof count);
}

ProcessSignals::ProcessSignals(const WakeUp& wake_up) {
  stop_requests = 0;
  woken = &wake_up;
  for (const int number : {SIGTERM, SIGINT, SIGCHLD}) handle(number, onSignal);
  handle(SIGPIPE, SIG_IGN);
}

ProcessSignals::~ProcessSignals() {
  for (const int number : {SIGTERM, SIGINT, SIGCHLD, SIGPIPE}) handle(number, SIG_DFL);
  woken = nullptr;
}

int ProcessSignals::stopRequests() const { return stop_requests.load(); }

}  // namespace muster
