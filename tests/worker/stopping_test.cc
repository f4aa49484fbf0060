// How a worker and its command end before their time.
#include <signal.h>

#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

class Stopping : public WorkerFixture {
 protected:
  // A worker that has begun with the only job of the pool.
  std::unique_ptr<ChildProcess> begin(const std::string& script,
                                      const std::vector<std::string>& options = {}) {
    job_ = pool_.push();
    auto worker = startScript(script, options);
    EXPECT_TRUE(appears("pid")) << worker->err();
    return worker;
  }
  Json::Value job_;
};

TEST_F(Stopping, heartbeats_keep_the_job_of_a_slow_command) {
  const auto worker = begin(kUntilGo + "echo 1");
  const auto lease = [this] { return pool_.job(job_)["lease_expires_at"].asString(); };
  const std::string first = lease();
  EXPECT_TRUE(eventually(kPatience, [&] { return lease() > first; }));
  writeFile(folder_ / "go", "");
  EXPECT_EQ(worker->wait(), 0);
  EXPECT_EQ(pool_.job(job_)["status"], "done");
}

TEST_F(Stopping, a_cancelled_job_is_stopped) {
  const auto worker = begin(kUntilGo);
  EXPECT_EQ(pool_.act("cancel", job_).status, 200);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(pool_.job(job_)["status"], "cancelled");
  EXPECT_TRUE(commandEnds());
}

TEST_F(Stopping, a_command_that_ignores_sigterm_is_killed) {
  const auto worker = begin("trap '' TERM; " + kUntilGo);
  EXPECT_EQ(pool_.act("cancel", job_).status, 200);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(pool_.job(job_)["status"], "cancelled");
  EXPECT_TRUE(commandEnds());
}

TEST_F(Stopping, a_lost_lease_stops_the_command_and_is_not_reported) {
  const auto worker = begin(kUntilGo, {"--loop", "--max-jobs", "1"});
  EXPECT_EQ(http_.post("/v1/workers/" + worker_ + "/release").json["released"], 1);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_TRUE(commandEnds());
  const Json::Value now = pool_.job(job_);
  EXPECT_EQ(now["status"], "pending");
  EXPECT_EQ(now["reason"], "worker_released");
}

TEST_F(Stopping, a_worker_that_was_written_off_stops_its_command) {
  const auto worker = begin(kUntilGo, {"--loop"});
  EXPECT_EQ(http_.patch("/v1/workers/" + worker_, R"({"status":"terminated"})").status, 200);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_TRUE(commandEnds());
  EXPECT_NE(worker->err().find("written this worker off"), std::string::npos) << worker->err();
  EXPECT_EQ(pool_.job(job_)["status"], "pending");
}

TEST_F(Stopping, a_draining_worker_finishes_its_job_and_takes_no_other) {
  const auto worker = begin(kUntilGo, {"--loop", "--idle-timeout-seconds", "0"});
  const Json::Value next = pool_.push();
  EXPECT_EQ(http_.post("/v1/workers/" + worker_ + "/terminate").status, 200);
  writeFile(folder_ / "go", "");
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(pool_.job(job_)["status"], "done");
  EXPECT_EQ(pool_.job(next)["status"], "pending");
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Stopping, a_draining_worker_without_a_job_ends) {
  const auto worker = startScript("cat", {"--loop", "--idle-timeout-seconds", "0"});
  ASSERT_TRUE(
      eventually(kPatience, [&] { return http_.get("/v1/workers/" + worker_).status == 200; }));
  EXPECT_EQ(http_.post("/v1/workers/" + worker_ + "/terminate").status, 200);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Stopping, after_sigterm_the_job_may_finish) {
  const auto worker = begin(kUntilGo + "echo 1", {"--loop", "--idle-timeout-seconds", "0"});
  const Json::Value next = pool_.push();
  worker->signal(SIGTERM);
  writeFile(folder_ / "go", "");
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(pool_.job(job_)["status"], "done");
  EXPECT_EQ(pool_.job(next)["status"], "pending");
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Stopping, a_second_sigterm_gives_the_job_back) {
  const auto worker = begin(kUntilGo);
  worker->signal(SIGTERM);
  worker->signal(SIGINT);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_TRUE(commandEnds());
  const Json::Value now = pool_.job(job_);
  EXPECT_EQ(now["status"], "pending");
  EXPECT_EQ(now["attempts"], 0) << "the try does not count";
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Stopping, after_the_time_to_finish_the_job_is_given_back) {
  const auto worker = begin(kUntilGo, {"--shutdown-timeout-seconds", "0.2"});
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_TRUE(commandEnds());
  EXPECT_EQ(pool_.job(job_)["attempts"], 0);
  EXPECT_EQ(pool_.job(job_)["status"], "pending");
}

TEST_F(Stopping, sigterm_ends_a_worker_that_waits) {
  const auto worker = startScript("cat", {"--loop", "--idle-timeout-seconds", "0"});
  ASSERT_TRUE(
      eventually(kPatience, [&] { return http_.get("/v1/workers/" + worker_).status == 200; }));
  worker->signal(SIGTERM);
  EXPECT_EQ(worker->wait(15s), 0) << "before the 20 seconds it waits for a job: " << worker->err();
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Stopping, a_job_that_comes_together_with_sigterm_costs_no_try) {
  for (int round = 0; round < 10; ++round) {
    const auto worker = startScript("cat", {"--loop", "--idle-timeout-seconds", "0"});
    ASSERT_TRUE(eventually(kPatience, [this] { return pool_.stats()["idle_workers"] == 1; }));
    PendingReply push(service().url(), {"POST", pool_.path("/jobs"), R"({"data":1})"});
    worker->signal(SIGTERM);
    ASSERT_TRUE(push.finished(kPatience));
    EXPECT_EQ(worker->wait(), 0) << worker->err();
    const Json::Value job = pool_.job(push.reply().json);
    EXPECT_TRUE(job["status"] == "done" || job["attempts"] == 0) << job << worker->err();
    EXPECT_EQ(http_.del("/v1/jobs/" + job["id"].asString()).status, 204);
  }
}

TEST_F(Stopping, the_built_in_echo_keeps_its_job_and_can_be_cancelled) {
  job_ = pool_.push(R"("data":{"delay_seconds":1000})");
  const auto worker = start({"--builtin", "echo"});
  ASSERT_TRUE(becomes(job_, "claimed")) << worker->err();
  const auto lease = [this] { return pool_.job(job_)["lease_expires_at"].asString(); };
  const std::string first = lease();
  EXPECT_TRUE(eventually(kPatience, [&] { return lease() > first; }));
  EXPECT_EQ(pool_.act("cancel", job_).status, 200);
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(pool_.job(job_)["status"], "cancelled");
}

}  // namespace
}  // namespace muster::test
