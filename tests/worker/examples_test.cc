// The workers in examples/ do what the built-in one does.
#include <signal.h>

#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

class Examples : public WorkerFixture {
 protected:
  int run(std::vector<std::string> argv) {
    argv.front() = std::string(MUSTER_EXAMPLES "/") + argv.front();
    argv.insert(argv.begin(), "/usr/bin/env");
    test::Command command{argv, folder_.path()};
    command.env = {"MUSTER_URL=" + service().url(), "MUSTER_WORKER_ID=" + worker_,
                   "MUSTER_IDLE_SECONDS=0.2"};
    ChildProcess process(command);
    const auto code = process.wait();
    out_ = process.out();
    EXPECT_EQ(code, 0) << process.err();
    return code.value_or(-1);
  }
  // An example that has begun with the only job of the pool.
  std::unique_ptr<ChildProcess> begin(std::vector<std::string> argv) {
    argv.front() = std::string(MUSTER_EXAMPLES "/") + argv.front();
    argv.insert(argv.begin(), "/usr/bin/env");
    test::Command command{argv, folder_.path()};
    command.env = {"MUSTER_URL=" + service().url(), "MUSTER_WORKER_ID=" + worker_};
    auto process = std::make_unique<ChildProcess>(command);
    EXPECT_TRUE(becomes(job_, "claimed")) << process->err();
    return process;
  }
  // The lease is renewed by heartbeats, and the worker is seen to be alive.
  void expectHeartbeats(const ChildProcess& process) {
    const auto lease = [this] { return pool_.job(job_)["lease_expires_at"].asString(); };
    const auto heard = [this] { return pool_.worker(worker_)["last_heartbeat"].asString(); };
    const std::string first_lease = lease(), first_heard = heard();
    EXPECT_TRUE(eventually(kPatience, [&] {
      return lease() > first_lease && heard() > first_heard;
    })) << process.err();
  }
  void expectGivenBack(ChildProcess& process) {
    EXPECT_EQ(process.wait(), 0) << process.err();
    const Json::Value now = pool_.job(job_);
    EXPECT_EQ(now["status"], "pending");
    EXPECT_EQ(now["attempts"], 0) << "the try does not count";
    EXPECT_EQ(pool_.lastEventType(job_), "job.released");
    EXPECT_EQ(workerStatus(), "terminated");
  }
  Json::Value job_;
  std::string resultOf(const Json::Value& job) {
    return http_.get("/v1/jobs/" + job["id"].asString()).raw("result");
  }
  std::string out_;
};

// It is heard from three times in a lease, so each 3 seconds.
constexpr const char* kShellLease = R"("lease_seconds":9,"retry":{"base_ms":0})";

TEST_F(Examples, the_shell_worker_says_when_there_is_no_work) {
  run({"worker.sh", pool_.name(), "cat"});
  EXPECT_EQ(out_, "no_work_available\n");
}

TEST_F(Examples, the_shell_worker_hands_over_data_and_result) {
  const std::string data = R"({"a": [1, 2], "status":"claimed","priority":3, "t":"q\"x\\y ü"})";
  const Json::Value job = pool_.push(R"("data":)" + data);
  run({"worker.sh", pool_.name(), "cat"});
  EXPECT_EQ(resultOf(job), data);
}

TEST_F(Examples, the_shell_worker_makes_a_string_of_text) {
  const Json::Value job = pool_.push();
  run({"worker.sh", pool_.name(), "printf", R"(a\tb "q"\n\\ c\n)"});
  EXPECT_EQ(resultOf(job), R"("a\tb \"q\"\n\\ c")");
  const Json::Value silent = pool_.push();
  run({"worker.sh", pool_.name(), "true"});
  EXPECT_EQ(pool_.job(silent)["status"], "done");
  EXPECT_EQ(resultOf(silent), "(absent)");
}

TEST_F(Examples, the_shell_worker_reports_failures) {
  const Json::Value job = pool_.push();
  run({"worker.sh", pool_.name(), "sh", "-c", "echo 'no \"good\"' >&2; exit 3"});
  EXPECT_EQ(pool_.job(job)["error"], "no \"good\"");
  EXPECT_EQ(pool_.job(job)["attempts"], 1);
  run({"worker.sh", pool_.name(), "sh", "-c", "exit 75"});
  EXPECT_EQ(pool_.job(job)["status"], "pending");
  EXPECT_EQ(pool_.job(job)["attempts"], 1) << "the second try does not count";
}

TEST_F(Examples, the_shell_worker_keeps_its_job_and_gives_it_back_on_sigterm) {
  pool_.configure(kShellLease);
  job_ = pool_.push();
  const auto process = begin({"worker.sh", pool_.name(), "sh", "-c", kUntilGo});
  ASSERT_TRUE(appears("pid")) << process->err();
  expectHeartbeats(*process);
  process->signal(SIGTERM);
  expectGivenBack(*process);
  EXPECT_TRUE(commandEnds());
}

TEST_F(Examples, the_shell_worker_stops_when_it_was_written_off) {
  pool_.configure(kShellLease);
  job_ = pool_.push();
  const auto process = begin({"worker.sh", pool_.name(), "sh", "-c", kUntilGo});
  ASSERT_TRUE(appears("pid")) << process->err();
  ASSERT_EQ(http_.patch("/v1/workers/" + worker_, R"({"status":"terminated"})").status, 200);
  EXPECT_TRUE(process->wait()) << process->err();
  EXPECT_TRUE(commandEnds());
  EXPECT_EQ(pool_.job(job_)["status"], "pending");
}

TEST_F(Examples, the_python_worker_keeps_its_job_and_gives_it_back_on_sigterm) {
  job_ = pool_.push(R"("data":{"delay_seconds":1000})");
  const auto process = begin({"worker.py", pool_.name()});
  expectHeartbeats(*process);
  process->signal(SIGTERM);
  expectGivenBack(*process);
}

TEST_F(Examples, the_python_worker_keeps_the_lease_of_its_last_job_when_it_is_to_end) {
  job_ = pool_.push(R"("data":{"delay_seconds":1000})");
  const auto process = begin({"worker.py", pool_.name()});
  ASSERT_EQ(http_.post("/v1/workers/" + worker_ + "/terminate").status, 200);
  expectHeartbeats(*process);  // the first of them tells it to end
  expectHeartbeats(*process);
  EXPECT_EQ(pool_.job(job_)["status"], "claimed");
  ASSERT_EQ(pool_.act("cancel", job_).status, 200);
  EXPECT_EQ(process->wait(), 0) << process->err();
  EXPECT_EQ(pool_.job(job_)["status"], "cancelled");
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Examples, the_python_worker_finishes_its_last_job_when_it_is_to_end) {
  job_ = pool_.push(R"("data":{"delay_seconds":1})");
  const auto process = begin({"worker.py", pool_.name()});
  ASSERT_EQ(http_.post("/v1/workers/" + worker_ + "/terminate").status, 200);
  EXPECT_EQ(process->wait(), 0) << process->err();
  EXPECT_EQ(pool_.job(job_)["status"], "done");
  EXPECT_EQ(pool_.job(job_)["attempts"], 1);
}

TEST_F(Examples, the_python_worker_takes_jobs_until_there_are_no_more) {
  const Json::Value job = pool_.push(R"("data":{"a":"ü","delay_seconds":0.01})");
  const Json::Value second = pool_.push();
  run({"worker.py", pool_.name()});
  EXPECT_EQ(pool_.job(job)["result"]["a"], "ü");
  EXPECT_EQ(pool_.job(second)["result"], 1);
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Examples, the_python_worker_says_when_there_is_no_work) {
  run({"worker.py", pool_.name()});
  EXPECT_EQ(out_, "no_work_available\n");
}

TEST_F(Examples, the_python_worker_reports_failures) {
  const Json::Value job = pool_.push(R"("data":{"delay_seconds":"soon"},"max_retries":1)");
  run({"worker.py", pool_.name()});
  EXPECT_EQ(pool_.job(job)["status"], "poisoned");
  EXPECT_TRUE(pool_.job(job)["error"].asString().starts_with("TypeError")) << pool_.job(job);
}

TEST_F(Examples, the_python_worker_stops_a_cancelled_job) {
  const Json::Value job = pool_.push(R"("data":{"delay_seconds":1000})");
  test::Command command{{"/usr/bin/env", MUSTER_EXAMPLES "/worker.py", pool_.name()},
                        folder_.path()};
  command.env = {"MUSTER_URL=" + service().url(), "MUSTER_IDLE_SECONDS=0.2"};
  ChildProcess process(command);
  ASSERT_TRUE(becomes(job, "claimed")) << process.err();
  EXPECT_EQ(pool_.act("cancel", job).status, 200);
  EXPECT_TRUE(becomes(job, "cancelled")) << process.err();
  EXPECT_EQ(process.wait(), 0) << process.err();
}

}  // namespace
}  // namespace muster::test
