// `muster top` at a terminal: it fills the screen, and leaves it as it was.
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <system_error>

#include "tests/launch/command_fixture.h"

namespace muster::test {
namespace {

constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";

// A program at a terminal of its own. It does not outlive this object.
class AtTerminal {
 public:
  AtTerminal(const std::vector<std::string>& args, unsigned short rows, unsigned short columns) {
    std::vector<std::string> texts = args;
    std::vector<char*> argv;
    for (auto& text : texts) argv.push_back(text.data());
    argv.push_back(nullptr);
    winsize size{rows, columns, 0, 0};
    pid_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "forkpty");
    if (pid_ == 0) {
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~AtTerminal() {
    if (!exit_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(fd_);
  }
  AtTerminal(const AtTerminal&) = delete;
  AtTerminal& operator=(const AtTerminal&) = delete;

  void type(const std::string& keys) const {
    EXPECT_EQ(::write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void signal(int number) const { ::kill(pid_, number); }
  void resize(unsigned short rows, unsigned short columns) const {
    const winsize size{rows, columns, 0, 0};
    ::ioctl(fd_, TIOCSWINSZ, &size);
  }

  // All that it has printed so far.
  const std::string& screen() {
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(fd_, buffer.data(), buffer.size())) > 0;) {
      seen_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return seen_;
  }
  bool shows(const std::string& text, std::size_t from = 0) {
    return eventually(kPatience, [&] { return screen().find(text, from) != std::string::npos; });
  }
  int exitCode() {
    eventually(kPatience, [&] {
      screen();
      int status = 0;
      if (!exit_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
        exit_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
      return exit_.has_value();
    });
    return exit_.value_or(-1);
  }

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
  std::string seen_;
  std::optional<int> exit_;
};

class Screen : public CommandFixture {
 protected:
  Screen() : CommandFixture("pools:\n  some: {template: echo}\n") {}

  std::vector<std::string> top() {
    return {musterBinary(), "top",   "--interval-seconds", "0.1",
            "--no-color",   "--url", service().url()};
  }
};

TEST_F(Screen, is_left_as_it_was_whatever_ends_it) {
  for (const std::string how : {"q", "ctrl-c", "SIGTERM"}) {
    AtTerminal terminal(top(), 20, 120);
    ASSERT_TRUE(terminal.shows(kEnter)) << how;
    ASSERT_TRUE(terminal.shows("LAUNCHES")) << how;
    if (how == "SIGTERM") {
      terminal.signal(SIGTERM);
    } else {
      terminal.type(how == "q" ? "q" : "\x03");
    }
    EXPECT_EQ(terminal.exitCode(), 0) << how;
    EXPECT_TRUE(terminal.screen().ends_with(kLeave)) << how;
  }
}

TEST_F(Screen, follows_the_size_of_the_terminal) {
  AtTerminal terminal(top(), 20, 120);
  ASSERT_TRUE(terminal.shows("LAUNCHES"));
  terminal.resize(20, 30);
  ASSERT_TRUE(terminal.shows("POOL  QUEUE  RUNNABLE  CLAIME…"));
}

TEST_F(Screen, stays_when_the_service_goes_and_says_so) {
  AtTerminal terminal(top(), 20, 120);
  ASSERT_TRUE(terminal.shows("LAUNCHES"));
  service().stop();
  ASSERT_TRUE(terminal.shows("cannot reach the service at"));
  const std::size_t gone = terminal.screen().size();
  EXPECT_TRUE(terminal.shows("some", gone)) << "what was seen last is still there";
}

TEST_F(Screen, an_absent_service_is_told_without_touching_the_screen) {
  AtTerminal terminal({musterBinary(), "top", "--url", "http://127.0.0.1:1"}, 20, 120);
  EXPECT_EQ(terminal.exitCode(), 3);
  EXPECT_EQ(terminal.screen().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace muster::test
