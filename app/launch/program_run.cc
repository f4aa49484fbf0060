#include "app/launch/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>

namespace muster {
namespace {

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() { ::close(fd); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int fd;
};

// Until one of them is readable, whatever signals the process gets meanwhile.
bool awaitFirst(const Descriptor& first, const Descriptor& other, Millis at_most) {
  std::array<pollfd, 2> watched = {pollfd{first.fd, POLLIN, 0}, pollfd{other.fd, POLLIN, 0}};
  const auto seconds = std::chrono::floor<Seconds>(at_most);
  const timespec most{seconds.count(), std::chrono::nanoseconds(at_most - seconds).count()};
  sigset_t all;
  ::sigfillset(&all);
  ::ppoll(watched.data(), watched.size(), &most, &all);
  return watched[0].revents != 0;
}

}  // namespace

std::optional<std::string> runProgram(const ProcessSpec& spec, Millis at_most,
                                      const std::stop_token& stop) {
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Descriptor asked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::stop_callback ask(stop, [&asked] {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(asked.fd, &one, sizeof one);
  });
  const auto pid = spawn(spec, nowhere.fd);
  if (!pid) return pid.error();
  const Descriptor ended(openPidfd(*pid));
  const bool is_over = awaitFirst(ended, asked, at_most);
  if (!is_over) ::kill(-*pid, SIGKILL);
  const int status = collectChild(*pid).status;
  if (!is_over) return stop.stop_requested() ? "was stopped" : "took too long";
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return std::nullopt;
  return fmt::format("ended with {}", WEXITSTATUS(status));
}

}  // namespace muster
