// The workers in examples/ do what the built-in one does.
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
  std::string resultOf(const Json::Value& job) {
    return http_.get("/v1/jobs/" + job["id"].asString()).raw("result");
  }
  std::string out_;
};

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
