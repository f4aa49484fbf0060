#include "app/launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The library takes vfork to be gone since POSIX 2008. Linux has it, and it is what keeps a launch
// fast when the service is large: nothing of its memory is copied.
#define BOOST_POSIX_HAS_VFORK 1
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
#include <boost/process/start_dir.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <sstream>

#include "app/launch/become_user.h"
#include "app/launch/process_start.h"

namespace muster {
namespace {

namespace bp = boost::process;

// Every process that was started here and not collected yet, so that adopted ones can be told
// apart.
struct Children {
  std::mutex mutex;
  std::set<pid_t> running;  // guarded by mutex
};

Children& children() {
  static Children all;
  return all;
}

// Runs in the new process just before the program does, and shares memory with the service there:
// system calls only.
struct CleanStart : bp::extend::handler {
  CleanStart(const SystemUser* becomes, int& fault)
      : user(becomes), user_fault(fault), mask(umaskAtStart()), open_files(openFilesAtStart()) {}

  template <class Executor>
  void on_exec_setup(Executor&) const {
    constexpr int kCannotStart = 127;
    ::setpgid(0, 0);
    if (mask) ::umask(*mask);
    if (open_files) ::setrlimit(RLIMIT_NOFILE, &*open_files);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGXFSZ, SIG_DFL);
#ifdef SYS_close_range
    constexpr unsigned kOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
    ::syscall(SYS_close_range, 3U, ~0U, kOnExec);
#endif
    // What lets the service become others must not let its jobs.
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0UL, 0UL, 0UL);
    if (user == nullptr) return;
    user_fault = becomeUser(*user);
    if (user_fault != 0) ::_exit(kCannotStart);
  }

  const SystemUser* user;
  int& user_fault;
  std::optional<mode_t> mask;
  std::optional<rlimit> open_files;
};

std::string pathVariable() {
  const char* const folders = std::getenv("PATH");
  return folders == nullptr ? "" : folders;
}

}  // namespace

tl::expected<std::string, std::string> findProgram(const std::string& program,
                                                   const std::string& cwd,
                                                   const std::string& folders) {
  if (!cwd.empty() && ::access(cwd.c_str(), X_OK) != 0) {
    return tl::unexpected(fmt::format("the folder '{}' cannot be entered", cwd));
  }
  if (program.find('/') != std::string::npos) {
    const bool from_cwd = !program.starts_with('/') && !cwd.empty();
    if (::access((from_cwd ? cwd + "/" + program : program).c_str(), X_OK) == 0) return program;
    return tl::unexpected(fmt::format("cannot run '{}': {}", program, std::strerror(errno)));
  }
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + "/" + program;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return tl::unexpected(fmt::format("the program '{}' was not found in PATH", program));
}

tl::expected<pid_t, std::string> spawn(const ProcessSpec& spec, int output) {
  const std::string& program = spec.command.front();
  const auto path = findProgram(program, spec.cwd, pathVariable());
  if (!path) return tl::unexpected(path.error());
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  bp::environment env;
  for (const auto& [name, value] : spec.env) env.set(name, value);
  const SystemUser* const user = spec.user && !isOwnUser(*spec.user) ? &*spec.user : nullptr;
  int user_fault = 0;
  std::error_code error;
  // Held until the child is noted: it may end at once.
  const std::lock_guard lock(children().mutex);
  bp::child child(bp::exe = *path,
                  bp::args = std::vector<std::string>(spec.command.begin() + 1, spec.command.end()),
                  env, bp::start_dir = spec.cwd.empty() ? "." : spec.cwd,
                  bp::posix::fd.bind(0, nothing), bp::posix::fd.bind(1, output),
                  bp::posix::fd.bind(2, output), bp::posix::use_vfork, CleanStart(user, user_fault),
                  error);
  ::close(nothing);
  if (error) {
    return tl::unexpected(fmt::format("cannot run '{}': {}", program, error.message()));
  }
  const pid_t pid = child.id();
  child.detach();
  if (user_fault != 0) {
    ::waitpid(pid, nullptr, 0);
    return tl::unexpected(fmt::format("cannot run '{}' as user {}: {}", program, spec.user->name,
                                      std::strerror(user_fault)));
  }
  children().running.insert(pid);
  return pid;
}

int openPidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

void signalProcess(int pidfd, int number) {
  ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0U);
}

bool signalGroup(int pidfd, int number) {
  constexpr unsigned kProcessGroup = 1U << 2;  // PIDFD_SIGNAL_PROCESS_GROUP
  return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, kProcessGroup) == 0 ||
         (errno != EINVAL && errno != ENOSYS);
}

bool hasEnded(int pidfd) {
  pollfd watched{pidfd, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

ChildEnd collectChild(pid_t pid) {
  ChildEnd end;
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT);
  const std::lock_guard lock(children().mutex);
  ::wait4(pid, &end.status, 0, &end.usage);
  children().running.erase(pid);
  return end;
}

bool adoptsOrphans() {
  int subreaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  return subreaper != 0 || ::getpid() == 1;
}

void reapOrphans() {
  const std::lock_guard lock(children().mutex);
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
    // The kernel names the same one each time: look again when it has been collected.
    if (children().running.contains(ended.si_pid)) return;
    ::waitpid(ended.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace muster
