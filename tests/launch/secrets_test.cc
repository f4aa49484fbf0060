// What others on the machine, and jobs above all, can learn of the service.
#include <gtest/gtest.h>
#include <linux/capability.h>

#include "tests/launch/probe.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

// Of a process, as far as the user of the test may read it.
std::string procFile(pid_t pid, const std::string& name) {
  return readFile("/proc/" + std::to_string(pid) + "/" + name);
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Secrets, are_gone_from_environment_and_command_line) {
  PostgresDatabase database;
  Service service({.store = database.url() + "&password=very-secret",
                   .env = {"MUSTER_TOKEN=very-secret", "HOOK_KEY=very-secret"}});
  EXPECT_FALSE(holds(procFile(service.pid(), "environ"), "very-secret"));
  const std::string line = procFile(service.pid(), "cmdline");
  EXPECT_TRUE(holds(line, "&password=***********")) << line;
  EXPECT_FALSE(holds(line, "very-secret")) << line;
}

TEST(Secrets, of_a_worker_started_by_hand_are_gone_too) {
  const TempFolder folder;
  // Nobody listens there, so it tries on.
  ChildProcess worker({{musterBinary(), "--token", "very-secret", "worker", "--pool", "p", "--url",
                        "http://127.0.0.1:1", "--connect-timeout", "3600", "--", "true"},
                       folder.path(),
                       {"MUSTER_WORKER_TOKEN=very-secret"}});
  ASSERT_TRUE(eventually(kPatience, [&] { return holds(worker.err(), "trying again"); }));
  const std::string line = procFile(worker.pid(), "cmdline");
  EXPECT_TRUE(holds(line, "***********")) << line;
  EXPECT_FALSE(holds(line, "very-secret")) << line;
  EXPECT_FALSE(holds(procFile(worker.pid(), "environ"), "very-secret"));
}

TEST(Secrets, a_job_cannot_look_into_the_service) {
  Probe probe(
      "cat /proc/$PPID/environ; echo environ $?; head -c 1 /proc/$PPID/maps; echo maps $?; exit 1",
      {.env = {"MUSTER_TOKEN=very-secret"},
       .without = {CAP_SYS_PTRACE, CAP_PERFMON, CAP_SYS_ADMIN}});
  const std::string output = probe.output();
  EXPECT_TRUE(holds(output, "environ 1\n")) << output;
  EXPECT_TRUE(holds(output, "maps 1\n")) << output;
  EXPECT_FALSE(holds(output, "very-secret")) << output;
}

const std::vector<std::string> kEnvironment = {"PGPASSWORD=very-secret", "HOOK_KEY=very-secret",
                                               "MUSTER_TOKEN=very-secret", "LC_ALL=C", "TZ=UTC"};

TEST(Secrets, do_not_pass_to_workers) {
  Probe probe("env; exit 1", {.env = kEnvironment});
  const std::string output = probe.output();
  for (const char* wanted : {"PATH=", "LC_ALL=C\n", "TZ=UTC\n", "MUSTER_URL="}) {
    EXPECT_TRUE(holds(output, wanted)) << wanted << "\n" << output;
  }
  EXPECT_FALSE(holds(output, "very-secret")) << output;
}

TEST(Secrets, pass_to_workers_that_are_meant_to_have_them) {
  Probe probe("env; exit 1",
              {.settings = "worker_environment: [PATH, HOOK_*]\n", .env = kEnvironment},
              ", pass_env: [PGPASSWORD]");
  const std::string output = probe.output();
  for (const char* wanted : {"PATH=", "HOOK_KEY=very-secret\n", "PGPASSWORD=very-secret\n"}) {
    EXPECT_TRUE(holds(output, wanted)) << wanted << "\n" << output;
  }
  EXPECT_FALSE(holds(output, "TZ=")) << output;
  EXPECT_FALSE(holds(output, "MUSTER_TOKEN=")) << output;
}

}  // namespace
}  // namespace muster::test
