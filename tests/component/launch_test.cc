#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "app/launch/http_post.h"
#include "app/launch/program_run.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

ProcessSpec command(std::vector<std::string> argv) { return {"", std::move(argv), {}, ""}; }

TEST(ProgramRun, tellsHowItEnded) {
  const std::stop_token never;
  EXPECT_EQ(runProgram(command({"true"}), 60s, never), std::nullopt);
  EXPECT_EQ(runProgram(command({"sh", "-c", "exit 7"}), 60s, never), "ended with 7");
  EXPECT_EQ(runProgram(command({"sh", "-c", "kill -9 $$"}), 60s, never), "was ended by signal 9");
  EXPECT_EQ(runProgram(command({"no_such_program"}), 60s, never),
            "the program 'no_such_program' was not found in PATH");
  EXPECT_EQ(runProgram(command({"sleep", "100"}), 40ms, never), "took too long");
}

TEST(ProgramRun, endsWhenItIsAskedToStop) {
  std::stop_source stop;
  std::jthread other([&] {
    EXPECT_EQ(runProgram(command({"sleep", "100"}), 60s, stop.get_token()), "was stopped");
  });
  stop.request_stop();
}

TEST(ProgramRun, inheritsNoFiles) {
  const int file = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(file, 0);
  EXPECT_EQ(
      runProgram(command({"sh", "-c", "test ! -e /proc/self/fd/" + std::to_string(file)}), 60s, {}),
      std::nullopt);
  ::close(file);
}

TEST(ProgramRun, seesOfTheServicesOwnVariablesOnlyWhatItIsGiven) {
  ::setenv("MUSTER_STORE", "secret", 1);
  ProcessSpec spec =
      command({"sh", "-c", "test -z \"$MUSTER_STORE\" && test \"$MUSTER_TOKEN\" = t"});
  spec.env["MUSTER_TOKEN"] = "t";
  EXPECT_EQ(runProgram(spec, 60s, {}), std::nullopt);
  ::unsetenv("MUSTER_STORE");
}

TEST(Spawn, a_pidfd_signals_a_group_while_its_leader_is_not_waited_for_and_nobody_after) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  // The leader ends at once; the one it leaves in its group holds the pipe.
  const auto pid = spawn(command({"sh", "-c", "sleep 1000 & exit 0"}), ends[1]);
  ASSERT_TRUE(pid) << pid.error();
  ::close(ends[1]);
  const int pidfd = openPidfd(*pid);
  pollfd ended{pidfd, POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 60'000), 1);
  EXPECT_TRUE(hasEnded(pidfd));
  if (!signalGroup(pidfd, SIGKILL)) ::kill(-*pid, SIGKILL);  // an older kernel
  pollfd held{ends[0], POLLIN, 0};
  EXPECT_EQ(::poll(&held, 1, 60'000), 1) << "the rest of the group is still there";
  collectChild(*pid);
  signalProcess(pidfd, SIGKILL);
  EXPECT_EQ(errno, ESRCH);
  for (const int fd : {pidfd, ends[0]}) ::close(fd);
}

TEST(Spawn, a_pidfd_tells_who_runs) {
  const auto pid = spawn(command({"sleep", "1000"}), 1);
  ASSERT_TRUE(pid) << pid.error();
  const int pidfd = openPidfd(*pid);
  EXPECT_FALSE(hasEnded(pidfd));
  signalProcess(pidfd, SIGKILL);
  EXPECT_EQ(WTERMSIG(collectChild(*pid).status), SIGKILL);
  ::close(pidfd);
}

TEST(HttpPost, refusesPrivateAddresses) {
  for (const char* url : {"http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/",
                          "http://2130706433:1/", "http://0x7f.1:1/"}) {
    const auto failure = postJson(url, "{}", AddressGuard({}), false, {});
    ASSERT_TRUE(failure) << url;
    EXPECT_FALSE(failure->retryable) << url << failure->what;
  }
  EXPECT_TRUE(postJson("http://127.0.0.1:1/", "{}", AddressGuard({}), true, {})->retryable)
      << "nobody listens";
  EXPECT_TRUE(
      postJson("http://127.0.0.1:1/", "{}", AddressGuard({"127.0.0.1"}), false, {})->retryable)
      << "nobody listens";
}

}  // namespace
}  // namespace muster
