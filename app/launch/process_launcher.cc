#include "app/launch/process_launcher.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "app/launch/process_table.h"

namespace muster {
namespace {

constexpr auto kTrimEvery = std::chrono::seconds(2);
constexpr int kOrphansLookMs = 1000;

ProcessEnd endOf(const ChildEnd& child) {
  ProcessEnd end;
  if (WIFEXITED(child.status)) end.exit_code = WEXITSTATUS(child.status);
  if (WIFSIGNALED(child.status)) end.exit_signal = WTERMSIG(child.status);
  end.max_rss_bytes = static_cast<std::int64_t>(child.usage.ru_maxrss) * 1024;
  return end;
}

}  // namespace

ProcessLauncher::ProcessLauncher(std::string folder, Listener listener, const Clock& clock,
                                 const Log& log)
    : folder_(std::move(folder)),
      listener_(std::move(listener)),
      clock_(clock),
      log_(log),
      adopts_orphans_(adoptsOrphans()),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  makeOwnFolder(folder_);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    throw std::runtime_error(std::string("epoll: ") + std::strerror(errno));
  }
  thread_ = std::jthread([this] { loop(); });
}

void ProcessLauncher::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  post([] {});
  if (thread_.joinable()) thread_.join();
}

ProcessLauncher::~ProcessLauncher() {
  close();
  for (const auto& [fd, name] : by_pidfd_) ::close(fd);
  ::close(wake_);
  ::close(epoll_);
  std::error_code has_outputs;
  std::filesystem::remove(folder_, has_outputs);
}

void ProcessLauncher::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

void ProcessLauncher::launch(ProcessSpec spec) {
  ++running_;
  post([this, spec = std::move(spec)] { start(spec); });
}

void ProcessLauncher::adopt(std::string name, std::string process_key) {
  ++running_;
  post([this, name = std::move(name), key = std::move(process_key)] {
    const pid_t pid = pidOf(key);
    // Opened first: the pid cannot be given to another process between the look and the watch.
    const int pidfd = pid > 0 ? openPidfd(pid) : -1;
    OutputFile output(pathOf(name), false);
    if (pidfd < 0 || !isAlive(key)) {
      if (pidfd >= 0) ::close(pidfd);
      ProcessEnd end;
      output.readInto(end);
      output.remove();
      tellEnded(name, end);
      return;
    }
    Process process{pid, pidfd, key, std::move(output)};
    process.child = false;
    watch(name, std::move(process));
  });
}

void ProcessLauncher::stop(std::string name, Millis delay, Millis grace) {
  const auto at = clock_.monotonic() + delay;
  post([this, name = std::move(name), at, grace] {
    const auto found = processes_.find(name);
    if (found == processes_.end()) return;
    Process& process = found->second;
    if (process.kill_at || (process.term_at && *process.term_at <= at)) return;
    process.term_at = at;
    process.grace = grace;
  });
}

ProcessEnd ProcessLauncher::peek(const std::string& name) {
  ProcessEnd end;
  if (::access(pathOf(name).c_str(), R_OK) == 0) OutputFile(pathOf(name), false).readInto(end);
  return end;
}

void ProcessLauncher::start(const ProcessSpec& spec) {
  try {
    makeOwnFolder(folder_);  // somebody may have tidied up
    OutputFile output(pathOf(spec.name), true);
    if (spec.user) output.letOthersWrite();
    const auto spawned = spawn(spec, output.descriptor());
    if (!spawned) {
      output.remove();
      tellFailed(spec.name, spawned.error());
      return;
    }
    const pid_t pid = *spawned;
    const int pidfd = openPidfd(pid);
    if (pidfd < 0) {
      // What cannot be watched must not run. Nobody else has waited for it, so the pid is its own.
      const std::string why = std::strerror(errno);
      ::kill(-pid, SIGKILL);
      collectChild(pid);
      output.remove();
      return tellFailed(spec.name, "cannot watch the process: " + why);
    }
    std::string key = processKey(pid).value_or(std::to_string(pid) + ":0:ended");
    listener_.started(spec, key);
    watch(spec.name, Process{pid, pidfd, std::move(key), std::move(output)});
  } catch (const std::exception& error) {
    tellFailed(spec.name, error.what());
  }
}

void ProcessLauncher::tellFailed(const std::string& name, const std::string& why) {
  listener_.failed(name, why);
  --running_;
}

void ProcessLauncher::tellEnded(const std::string& name, const ProcessEnd& end) {
  listener_.ended(name, end);
  --running_;
}

void ProcessLauncher::watch(const std::string& name, Process process) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = process.pidfd;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, process.pidfd, &event);
  by_pidfd_[process.pidfd] = name;
  processes_.emplace(name, std::move(process));
}

void ProcessLauncher::collect(const std::string& name) {
  const auto found = processes_.find(name);
  if (found == processes_.end()) return;
  Process& process = found->second;
  ProcessEnd end;
  if (process.child) end = endOf(collectChild(process.pid));
  process.output.readInto(end);
  process.output.remove();
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, process.pidfd, nullptr);
  ::close(process.pidfd);
  by_pidfd_.erase(process.pidfd);
  processes_.erase(found);
  tellEnded(name, end);
}

void ProcessLauncher::signal(const Process& process, int number) {
  if (!signalGroup(process.pidfd, number)) {
    // By its number, then. That of a child is its own until it is waited for, which this thread
    // does; that of an adopted process is while it runs.
    if (process.child || !hasEnded(process.pidfd)) ::kill(-process.pid, number);
  }
  signalProcess(process.pidfd, number);  // in case it has left its group
}

void ProcessLauncher::lookAtDeadlines() {
  const auto now = clock_.monotonic();
  for (auto& [name, process] : processes_) {
    if (process.term_at && *process.term_at <= now) {
      process.term_at.reset();
      process.kill_at = now + process.grace;
      signal(process, SIGTERM);
      log_.info("stopping a process", {{"worker", name}});
    }
    if (process.kill_at && *process.kill_at <= now) {
      process.kill_at.reset();
      signal(process, SIGKILL);
      log_.warn("killed a process that would not stop", {{"worker", name}});
    }
  }
  if (now >= next_trim_) {
    next_trim_ = now + kTrimEvery;
    for (const auto& [name, process] : processes_) process.output.trim();
  }
}

// Until the next deadline, in milliseconds; -1: there is none.
int ProcessLauncher::timeout() const {
  if (processes_.empty()) return adopts_orphans_ ? kOrphansLookMs : -1;
  auto next = next_trim_;
  for (const auto& [name, process] : processes_) {
    if (process.term_at) next = std::min(next, *process.term_at);
    if (process.kill_at) next = std::min(next, *process.kill_at);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - clock_.monotonic());
  const int most = adopts_orphans_ ? kOrphansLookMs : 60'000;
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, most));
}

void ProcessLauncher::runTasks() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_, &count, sizeof count);
  std::deque<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) task();
}

void ProcessLauncher::loop() {
  std::vector<epoll_event> events(64);
  for (;;) {
    const int count =
        ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout());
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == wake_) continue;
      if (const auto found = by_pidfd_.find(fd); found != by_pidfd_.end()) {
        collect(std::string(found->second));
      }
    }
    runTasks();
    lookAtDeadlines();
    if (adopts_orphans_) reapOrphans();
    const std::lock_guard lock(mutex_);
    if (closing_ && tasks_.empty()) return;
  }
}

}  // namespace muster
