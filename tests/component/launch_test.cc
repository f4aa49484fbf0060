#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "app/launch/http_post.h"
#include "app/launch/program_run.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

ProcessSpec command(std::vector<std::string> argv) { return {"", std::move(argv), {}, ""}; }

TEST(ProgramRun, tellsHowItEnded) {
  const std::stop_token never;
  EXPECT_EQ(runProgram(command({"true"}), 20s, never), std::nullopt);
  EXPECT_EQ(runProgram(command({"sh", "-c", "exit 7"}), 20s, never), "ended with 7");
  EXPECT_EQ(runProgram(command({"sh", "-c", "kill -9 $$"}), 20s, never), "was ended by signal 9");
  EXPECT_EQ(runProgram(command({"no_such_program"}), 20s, never),
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
      runProgram(command({"sh", "-c", "test ! -e /proc/self/fd/" + std::to_string(file)}), 20s, {}),
      std::nullopt);
  ::close(file);
}

TEST(ProgramRun, seesOfTheServicesOwnVariablesOnlyWhatItIsGiven) {
  ::setenv("MUSTER_STORE", "secret", 1);
  ProcessSpec spec =
      command({"sh", "-c", "test -z \"$MUSTER_STORE\" && test \"$MUSTER_TOKEN\" = t"});
  spec.env["MUSTER_TOKEN"] = "t";
  EXPECT_EQ(runProgram(spec, 20s, {}), std::nullopt);
  ::unsetenv("MUSTER_STORE");
}

TEST(HttpPost, refusesPrivateAddresses) {
  const auto isPrivate = [](const std::string& text) {
    sockaddr_storage storage{};
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
    } else {
      EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr), 1) << text;
      v6->sin6_family = AF_INET6;
    }
    return isPrivateAddress(reinterpret_cast<const sockaddr&>(storage));
  };
  for (const char* text : {"0.0.0.0",
                           "10.1.2.3",
                           "100.64.0.1",
                           "127.0.0.1",
                           "127.255.0.1",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.168.1.1",
                           "198.18.0.1",
                           "224.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "fe80::1",
                           "fc00::1",
                           "fd12::1",
                           "ff02::1",
                           "::ffff:127.0.0.1",
                           "::ffff:10.0.0.1",
                           "64:ff9b::a00:1",
                           "2002:a00:1::"}) {
    EXPECT_TRUE(isPrivate(text)) << text;
  }
  for (const char* text : {"8.8.8.8", "100.128.0.1", "172.32.0.1", "192.169.0.1", "1.1.1.1",
                           "2606:4700::1111", "2002:808:808::"}) {
    EXPECT_FALSE(isPrivate(text)) << text;
  }
  for (const char* url : {"http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/",
                          "http://2130706433:1/", "http://0x7f.1:1/"}) {
    const auto failure = postJson(url, "{}", false, {});
    ASSERT_TRUE(failure) << url;
    EXPECT_FALSE(failure->retryable) << url << failure->what;
  }
  EXPECT_TRUE(postJson("http://127.0.0.1:1/", "{}", true, {})->retryable) << "nobody listens";
}

}  // namespace
}  // namespace muster
