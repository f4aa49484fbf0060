#include "tests/support/child_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

std::vector<std::string> environment(const Command& command) {
  std::vector<std::string> env = command.env;
  constexpr std::array<const char*, 5> kPassed = {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS",
                                                  "TSAN_OPTIONS", "LSAN_OPTIONS"};
  for (const char* name : kPassed) {
    if (const char* value = std::getenv(name)) env.push_back(std::string(name) + "=" + value);
  }
  return env;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

struct Prepared {
  const char* folder;
  char* const* argv;
  char* const* env;
  pid_t parent;
  bool obey_file_modes;
  bool adopts_orphans;
  const std::vector<int>& without;
  unsigned open_files;
};

// Between fork and exec: only calls that are safe there.
[[noreturn]] void becomeChild(const Prepared& child) {
  constexpr int kCannotStart = 127;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(kCannotStart);
  if (child.obey_file_modes) ::prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
  for (const int capability : child.without) ::prctl(PR_CAPBSET_DROP, capability);
  if (child.adopts_orphans) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const rlimit files{child.open_files, child.open_files};
  if (child.open_files > 0) ::setrlimit(RLIMIT_NOFILE, &files);
  if (::chdir(child.folder) != 0) ::_exit(kCannotStart);
  const int none = ::open("/dev/null", O_RDONLY);
  const int out = ::open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err = ::open("stderr.txt", O_WRONLY | O_CREAT | O_APPEND, 0644);
  ::dup2(none, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  for (int fd = STDERR_FILENO + 1; fd < 256; ++fd) ::close(fd);
  ::execve(child.argv[0], child.argv, child.env);
  ::_exit(kCannotStart);
}

}  // namespace

ChildProcess::ChildProcess(const Command& command) : folder_(command.folder) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> env = environment(command);
  const std::vector<char*> argv_pointers = pointers(argv);
  const std::vector<char*> env_pointers = pointers(env);
  const std::string folder = folder_.string();
  const Prepared child{folder.c_str(),  argv_pointers.data(),    env_pointers.data(),
                       ::getpid(),      command.obey_file_modes, command.adopts_orphans,
                       command.without, command.open_files};
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid_ == 0) becomeChild(child);
  ::setpgid(pid_, pid_);
}

ChildProcess::~ChildProcess() {
  ::kill(-pid_, SIGKILL);
  if (!exit_code_) ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::signal(int number) const {
  if (!exit_code_) ::kill(pid_, number);
}

bool ChildProcess::running() {
  if (exit_code_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  constexpr int kSignalled = 128;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return false;
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds deadline) {
  eventually(deadline, [this] { return !running(); });
  return exit_code_;
}

std::string ChildProcess::out() const { return readFile(folder_ / "stdout.txt"); }
std::string ChildProcess::err() const { return readFile(folder_ / "stderr.txt"); }

std::string musterBinary() {
  if (const char* named = std::getenv("MUSTER_BINARY")) return named;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "muster")
      .string();
}

}  // namespace muster::test
