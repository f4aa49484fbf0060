#include "app/launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
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
#include <csignal>
#include <cstdlib>
#include <sstream>

namespace muster {
namespace {

namespace bp = boost::process;

// Runs in the new process just before the program does, and shares memory with the service there:
// system calls only.
struct CleanStart : bp::extend::handler {
  template <class Executor>
  void on_exec_setup(Executor&) const {
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
#ifdef SYS_close_range
    constexpr unsigned kOnExec = 1U << 2;  // CLOSE_RANGE_CLOEXEC
    ::syscall(SYS_close_range, 3U, ~0U, kOnExec);
#endif
  }
};

bp::environment environmentOf(const ProcessSpec& spec) {
  bp::environment env;
  for (const auto& variable : boost::this_process::environment()) {
    if (!variable.get_name().starts_with("MUSTER_"))
      env[variable.get_name()] = variable.to_string();
  }
  for (const auto& [name, value] : spec.env) env[name] = value;
  return env;
}

// As a shell would; "" when it is nowhere.
std::string findInPath(const std::string& program) {
  const char* const folders = std::getenv("PATH");
  std::istringstream list(folders == nullptr ? "" : folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + "/" + program;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace

tl::expected<pid_t, std::string> spawn(const ProcessSpec& spec, int output) {
  const std::string& program = spec.command.front();
  std::string path = program;
  if (program.find('/') == std::string::npos) {
    path = findInPath(program);
    if (path.empty()) {
      return tl::unexpected(fmt::format("the program '{}' was not found in PATH", program));
    }
  }
  const std::string cwd = spec.cwd.empty() ? "." : spec.cwd;
  if (::access(cwd.c_str(), X_OK) != 0) {
    return tl::unexpected(fmt::format("the folder '{}' cannot be entered", cwd));
  }
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::error_code error;
  bp::child child(bp::exe = path,
                  bp::args = std::vector<std::string>(spec.command.begin() + 1, spec.command.end()),
                  environmentOf(spec), bp::start_dir = cwd, bp::posix::fd.bind(0, nothing),
                  bp::posix::fd.bind(1, output), bp::posix::fd.bind(2, output),
                  bp::posix::use_vfork, CleanStart(), error);
  ::close(nothing);
  if (error) {
    return tl::unexpected(fmt::format("cannot run '{}': {}", program, error.message()));
  }
  const pid_t pid = child.id();
  child.detach();
  return pid;
}

}  // namespace muster
