// Workers, and the service, vanish at every step; no job does.
#include <signal.h>

#include <fstream>
#include <thread>

#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

// The command takes the first try of a job until it is killed, and the second to its end.
class Vanishing : public LaunchFixture {
 protected:
  explicit Vanishing(const std::string& start_timeout = "60")
      : LaunchFixture(
            "worker_start_timeout_seconds: " + start_timeout +
            "\n"
            "worker_shutdown_timeout_seconds: 1\n"
            "templates:\n"
            "  once: {run: [sh, -c, 'if [ $MUSTER_ATTEMPT = 1 ]; then echo $$ > pid.new; "
            "mv pid.new pid; while [ ! -e go ]; do sleep 0.02; done; fi; echo 7']}\n"
            "  stubborn: {run: [sh, -c, 'trap \"\" TERM; echo $$ > pid.new; mv pid.new pid; "
            "while true; do sleep 0.1; done']}\n"
            "  sleeper: {worker: [sh, -c, 'echo $MUSTER_LAUNCH_TOKEN $MUSTER_WORKER_ID > "
            "token.new; mv token.new token; exec sleep 1000']}\n"
            "pools:\n"
            "  p: {template: once, lease_seconds: 30, retry: {base_ms: 0}, "
            "scaling: {max_workers: 1}}\n") {}

  // Of the last one that was launched: noted a moment after it has begun.
  pid_t workerPid() {
    EXPECT_TRUE(becomes([&] { return workers().back().isMember("pid"); }));
    return workers().back()["pid"].asInt();
  }
  bool commandGone() {
    const pid_t command = std::stoi(textOf("pid"));
    return becomes([&] { return !isRunning(command); });
  }
};

class VanishingEarly : public Vanishing {
 protected:
  VanishingEarly() : Vanishing("1") {}
};

TEST_F(Vanishing, a_worker_killed_in_its_job_loses_nothing) {
  const Json::Value job = pool().push();
  ASSERT_TRUE(appears("pid"));
  ::kill(workerPid(), SIGKILL);
  ASSERT_TRUE(allDone(1)) << service().log();
  EXPECT_TRUE(commandGone()) << "the command must not run beside the second try";
  const Json::Value after = pool().job(job);
  EXPECT_EQ(after["attempts"], 2);
  EXPECT_EQ(after["result"], 7);
  const auto tries = http().get("/v1/jobs/" + job["id"].asString() + "/attempts").json["items"];
  EXPECT_EQ(tries[0]["outcome"], "worker_lost");
  EXPECT_EQ(tries[0]["exit_signal"], 9);
}

TEST_F(Vanishing, a_stopped_worker_is_lost_and_its_process_ended) {
  const auto giveUpAfter = [this](const std::string& seconds) {
    pool().configure(R"("template":"once","retry":{"base_ms":0},"scaling":{"max_workers":1},)"
                     R"("stale_threshold_seconds":)" +
                     seconds);
  };
  pool().push();
  ASSERT_TRUE(appears("pid"));
  const pid_t worker = workerPid();
  ::kill(worker, SIGSTOP);
  giveUpAfter("1");
  ASSERT_TRUE(becomes([&] { return !eventsOf("worker.lost").empty(); }));
  giveUpAfter("60");
  EXPECT_TRUE(becomes([&] { return !isRunning(worker); }));
  EXPECT_TRUE(allDone(1));
  EXPECT_TRUE(commandGone());
}

TEST_F(Vanishing, a_service_killed_in_mid_job_finds_its_worker_again) {
  const Json::Value job = pool().push();
  ASSERT_TRUE(appears("pid"));
  const pid_t worker = workerPid();
  service().kill9();
  EXPECT_TRUE(isRunning(worker));
  service().start();
  allow("go");
  ASSERT_TRUE(allDone(1)) << service().log();
  EXPECT_EQ(pool().job(job)["attempts"], 1);
  ASSERT_TRUE(nobodyLeft());
  EXPECT_EQ(workers().size(), 1U);
}

TEST_F(Vanishing, a_worker_that_died_while_the_service_was_away_is_noticed_at_once) {
  const Json::Value job = pool().push();
  ASSERT_TRUE(appears("pid"));
  const pid_t worker = workerPid();
  service().kill9();
  ::kill(worker, SIGKILL);
  ASSERT_TRUE(becomes([&] { return !isRunning(worker); }));
  service().start();
  ASSERT_TRUE(allDone(1)) << service().log();
  EXPECT_EQ(pool().job(job)["attempts"], 2);
}

TEST_F(Vanishing, a_stop_of_the_service_leaves_its_workers_alone) {
  pool().push();
  ASSERT_TRUE(appears("pid"));
  const pid_t worker = workerPid();
  EXPECT_EQ(service().stop(), 0);
  EXPECT_TRUE(isRunning(worker));
  service().start();
  allow("go");
  EXPECT_TRUE(allDone(1));
}

TEST_F(VanishingEarly, a_worker_that_never_registers_is_given_up_and_stopped) {
  pool().configure(
      R"("template":"sleeper","launch_backoff_base_seconds":300,"scaling":{"max_workers":1})");
  pool().push();
  ASSERT_TRUE(appears("token"));
  const pid_t worker = workerPid();
  ASSERT_TRUE(becomes([&] { return !eventsOf("worker.lost").empty(); }));
  EXPECT_TRUE(becomes([&] { return !isRunning(worker); }));
  EXPECT_TRUE(becomes([&] { return settings()["launch_failures"] >= 1; }));
  EXPECT_EQ(settings()["launch_state"], "backing_off");
  EXPECT_EQ(pool().stats()["queue_depth"], 1);

  // What it could have said now is refused.
  const std::string text = textOf("token");
  const std::string token = text.substr(0, text.find(' '));
  const std::string id = text.substr(text.find(' ') + 1, text.size() - text.find(' ') - 2);
  const auto late = http().post(
      "/v1/workers", R"({"worker_id":")" + id + R"(","launch_token":")" + token + R"("})");
  EXPECT_TRUE(isProblem(late, 410)) << late;
}

TEST_F(Vanishing, a_launch_is_used_by_one_process) {
  pool().configure(R"("template":"sleeper","scaling":{"max_workers":1})");
  pool().push();
  ASSERT_TRUE(appears("token"));
  const std::string text = textOf("token");
  const std::string token = text.substr(0, text.find(' '));
  const std::string id = text.substr(text.find(' ') + 1, text.size() - text.find(' ') - 2);
  const auto join = [&](const std::string& fields) {
    return http().post("/v1/workers", R"({"worker_id":")" + id + R"(")" + fields + "}");
  };
  EXPECT_EQ(join("").code(), "worker_id_taken");
  EXPECT_TRUE(isProblem(join(R"(,"launch_token":"wrong")"), 410));
  const auto as = [&](pid_t pid) {
    return join(R"(,"launch_token":")" + token + R"(","pid":)" + std::to_string(pid));
  };
  const pid_t process = workerPid();
  EXPECT_EQ(as(process).status, 201);
  EXPECT_TRUE(isProblem(as(process + 1), 410));
}

TEST_F(Vanishing, a_command_that_ignores_the_request_to_stop_is_made_to) {
  pool().configure(R"("template":"stubborn","scaling":{"max_workers":1})");
  const Json::Value job = pool().push();
  ASSERT_TRUE(appears("pid"));
  http().post(pool().path("/pause"));
  const std::string id = workers().back()["worker_id"].asString();
  EXPECT_EQ(http().post("/v1/workers/" + id + "/terminate").status, 200);
  ASSERT_TRUE(nobodyLeft()) << service().log();
  EXPECT_TRUE(commandGone());
  ASSERT_TRUE(becomes([&] { return pool().job(job)["status"] == "pending"; }));
  EXPECT_EQ(pool().job(job)["attempts"], 0) << "the try is given back";
}

TEST_F(Vanishing, a_worker_started_by_hand_on_this_host_is_missed_when_its_process_is_gone) {
  http().post(pool().path("/pause"));
  pool().configure(R"("template":"once","stale_threshold_seconds":600)");
  const TempFolder elsewhere;
  ChildProcess process({{"/bin/sleep", "1000"}, elsewhere.path()});
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  pool().registerWorker("by-hand", R"("host":")" + std::string(host.data()) + R"(","pid":)" +
                                       std::to_string(process.pid()));
  process.signal(SIGKILL);
  process.wait();
  EXPECT_TRUE(becomes([&] { return pool().worker("by-hand")["status"] == "lost"; }));
  EXPECT_EQ(pool().worker("by-hand")["status_reason"], "its process is gone");
}

}  // namespace
}  // namespace muster::test
