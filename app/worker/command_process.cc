#include "app/worker/command_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

namespace muster {
namespace {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// Both ends are closed by exec. Never 0, 1 or 2, which the child gives another meaning.
tl::expected<Pipe, int> openPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return tl::unexpected(errno);
  Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  for (Descriptor* end : {&pipe.read, &pipe.write}) {
    if (end->get() > STDERR_FILENO) continue;
    *end = Descriptor(::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!end->isOpen()) return tl::unexpected(errno);
  }
  return pipe;
}

void makeNonBlocking(const Descriptor& end) {
  ::fcntl(end.get(), F_SETFL, ::fcntl(end.get(), F_GETFL) | O_NONBLOCK);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

struct ChildSide {
  int input;
  int output;
  int errors;
  int failure;
  pid_t parent;
  char* const* argv;
  char* const* env;
};

// Between fork and exec: only calls that are safe there.
[[noreturn]] void becomeCommand(const ChildSide& child) {
  constexpr int kCannotStart = 127;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(kCannotStart);
  ::dup2(child.input, STDIN_FILENO);
  ::dup2(child.output, STDOUT_FILENO);
  ::dup2(child.errors, STDERR_FILENO);
  if (::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    constexpr int kOnOlderKernels = 1024;
    for (int fd = STDERR_FILENO + 1; fd < kOnOlderKernels; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGCHLD}) {
    ::sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(child.argv[0], child.argv, child.env);
  const int error = errno;
  [[maybe_unused]] const auto told = ::write(child.failure, &error, sizeof error);
  ::_exit(kCannotStart);
}

// 0 once the child has become the program; else the errno that kept it from that.
int awaitExec(const Descriptor& failure) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

tl::expected<CommandProcess, int> CommandProcess::start(std::vector<std::string> argv,
                                                        std::vector<std::string> env) {
  auto input = openPipe(), output = openPipe(), errors = openPipe(), failure = openPipe();
  for (const auto* pipe : {&input, &output, &errors, &failure}) {
    if (!*pipe) return tl::unexpected(pipe->error());
  }
  const std::vector<char*> argv_list = pointers(argv), env_list = pointers(env);
  const ChildSide child{input->read.get(),    output->write.get(), errors->write.get(),
                        failure->write.get(), ::getpid(),          argv_list.data(),
                        env_list.data()};
  CommandProcess process;
  process.pid_ = ::fork();
  if (process.pid_ < 0) return tl::unexpected(errno);
  if (process.pid_ == 0) becomeCommand(child);
  failure->write.close();
  if (const int error = awaitExec(failure->read); error != 0) return tl::unexpected(error);
  process.input_ = std::move(input->write);
  process.output_ = std::move(output->read);
  process.errors_ = std::move(errors->read);
  for (const Descriptor* end : {&process.input_, &process.output_, &process.errors_}) {
    makeNonBlocking(*end);
  }
  return process;
}

CommandProcess::CommandProcess(CommandProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

CommandProcess::~CommandProcess() {
  if (pid_ < 0) return;
  signalGroup(SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void CommandProcess::signalGroup(int number) const {
  if (pid_ > 0) ::kill(-pid_, number);
}

std::optional<CommandProcess::Exit> CommandProcess::reap() {
  // The group is signalled while the program is still a zombie: its number cannot be anybody
  // else's.
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return std::nullopt;
  }
  signalGroup(SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  Exit exit;
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
  constexpr std::int64_t kUnit = 1024;
  exit.max_rss_bytes = usage.ru_maxrss * kUnit;
  return exit;
}

}  // namespace muster
