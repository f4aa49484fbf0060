// What the worker does with the command and what the command says.
#include <signal.h>

#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

using Commands = WorkerFixture;

TEST_F(Commands, without_a_job_the_worker_says_so) {
  EXPECT_EQ(work({"--", "cat"}), 0);
  EXPECT_EQ(out(), "no_work_available\n");
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Commands, gets_the_data_and_its_output_is_the_result) {
  const Json::Value job = pool_.push(R"("data":{"a": [1, 2.0, "ü"]})");
  EXPECT_EQ(work({"--", "cat"}), 0) << err();
  EXPECT_EQ(out(), "");
  const Reply done = http_.get("/v1/jobs/" + job["id"].asString());
  EXPECT_EQ(done.json["status"], "done") << done;
  EXPECT_EQ(done.raw("result"), R"({"a": [1, 2.0, "ü"]})") << "as it was pushed";
  EXPECT_EQ(workerStatus(), "terminated");
  EXPECT_EQ(pool_.worker(worker_)["mode"], "once");
}

TEST_F(Commands, once_takes_one_job_only) {
  pool_.pushMany(3);
  EXPECT_EQ(work({"--", "cat"}), 0);
  EXPECT_EQ(pool_.stats()["done"], 1);
  EXPECT_EQ(pool_.stats()["queue_depth"], 2);
}

TEST_F(Commands, loop_goes_on_until_it_was_idle) {
  pool_.pushMany(3);
  EXPECT_EQ(work({"--loop", "--idle-timeout-seconds", "0.2", "--", "cat"}), 0);
  EXPECT_EQ(pool_.stats()["done"], 3);
  EXPECT_EQ(out(), "") << "it had work";
  EXPECT_EQ(pool_.worker(worker_)["mode"], "loop");
  EXPECT_EQ(pool_.worker(worker_)["jobs_done"], 3);
}

TEST_F(Commands, loop_ends_after_so_many_jobs) {
  pool_.pushMany(3);
  EXPECT_EQ(work({"--loop", "--max-jobs", "2", "--", "cat"}), 0);
  EXPECT_EQ(pool_.stats()["done"], 2);
}

TEST_F(Commands, loop_gets_a_job_that_comes_later) {
  const auto worker =
      start({"--loop", "--idle-timeout-seconds", "0", "--max-jobs", "1", "--", "cat"});
  ASSERT_TRUE(
      eventually(kPatience, [&] { return worker->err().find("registered") != std::string::npos; }));
  const Json::Value job = pool_.push();
  EXPECT_EQ(worker->wait(), 0);
  EXPECT_EQ(pool_.job(job)["status"], "done");
}

TEST_F(Commands, finds_the_job_in_its_environment) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Reply pushed = pool_.tryPush(R"("data":1)", {{"traceparent", trace}});
  ASSERT_EQ(pushed.status, 201) << pushed;
  EXPECT_EQ(workWithScript("env > env.txt"), 0);
  const std::string env = "\n" + textOf("env.txt");
  const auto has = [&env](const std::string& line) {
    return env.find("\n" + line) != std::string::npos;
  };
  EXPECT_TRUE(has("MUSTER_JOB_ID=" + pushed.json["id"].asString() + "\n")) << env;
  EXPECT_TRUE(has("MUSTER_ATTEMPT=1\n")) << env;
  EXPECT_TRUE(has("MUSTER_LEASE_TOKEN=")) << env;
  EXPECT_TRUE(has("MUSTER_EFFECT_KEY=" + pushed.json["effect_key"].asString() + "\n")) << env;
  EXPECT_TRUE(has("MUSTER_URL=" + service().url() + "\n")) << env;
  EXPECT_TRUE(has("MUSTER_POOL_ID=" + pool_.name() + "\n")) << env;
  EXPECT_TRUE(has("MUSTER_WORKER_ID=" + worker_ + "\n")) << env;
  EXPECT_TRUE(has("TRACEPARENT=")) << env;
  EXPECT_FALSE(has("MUSTER_LAUNCH_TOKEN=")) << env;
}

TEST_F(Commands, has_no_descriptor_but_its_own_and_a_group_of_its_own) {
  pool_.push();
  EXPECT_EQ(workWithScript(
                "ls -l /proc/$$/fd > fds.txt; ps -o pgid= -p $$ > group.txt; echo $$ > pid.txt"),
            0);
  EXPECT_EQ(textOf("fds.txt").find("socket"), std::string::npos) << textOf("fds.txt");
  EXPECT_EQ(std::stoi(textOf("group.txt")), std::stoi(textOf("pid.txt")));
}

TEST_F(Commands, exit_codes_decide_what_becomes_of_the_job) {
  struct Row {
    std::string script, status, error;
    int attempts;
  };
  const std::vector<Row> rows = {
      {"exit 0", "done", "", 1},
      {"echo one >&2; echo two >&2; exit 3", "pending", "exit 3: one\ntwo", 1},
      {"echo full >&2; exit 75", "pending", "exit 75: full", 0},
      {"kill -9 $$", "pending", "signal 9", 1},
  };
  for (const Row& row : rows) {
    const Json::Value job = pool_.push(R"("data":1,"priority":9)");
    EXPECT_EQ(workWithScript(row.script), 0) << err();
    const Json::Value now = pool_.job(job);
    EXPECT_EQ(now["status"], row.status) << row.script;
    EXPECT_EQ(now["error"].asString(), row.error) << row.script;
    EXPECT_EQ(now["attempts"], row.attempts) << row.script;
    EXPECT_EQ(http_.del("/v1/jobs/" + job["id"].asString()).status, 204);
  }
}

TEST_F(Commands, the_try_keeps_exit_code_and_output) {
  const Json::Value job = pool_.push();
  EXPECT_EQ(workWithScript("echo some output; exit 4"), 0);
  const Reply tries = http_.get("/v1/jobs/" + job["id"].asString() + "/attempts");
  const Json::Value& attempt = tries.json["items"][0];
  EXPECT_EQ(attempt["exit_code"], 4) << tries;
  EXPECT_EQ(attempt["output_tail"], "some output") << tries;
  EXPECT_GT(attempt["max_rss_bytes"].asInt64(), 0) << tries;
  EXPECT_EQ(attempt["worker_id"], worker_) << tries;
}

TEST_F(Commands, a_missing_program_fails_the_job_and_the_worker) {
  const Json::Value job = pool_.push();
  pool_.push();
  EXPECT_EQ(work({"--loop", "--", "no-such-program-anywhere"}), 1) << err();
  const Json::Value now = pool_.job(job);
  EXPECT_EQ(now["error"], "cannot start 'no-such-program-anywhere': No such file or directory");
  EXPECT_EQ(pool_.stats()["claimed"], 0);
  EXPECT_EQ(workerStatus(), "terminated");
}

TEST_F(Commands, much_input_arrives_whole) {
  const std::string text(1 << 20, 'x');
  const Json::Value job = pool_.push(R"("data":")" + text + "\"");
  EXPECT_EQ(workWithScript("wc -c"), 0) << err();
  EXPECT_EQ(pool_.job(job)["result"], static_cast<int>(text.size()) + 2);
}

TEST_F(Commands, much_input_comes_back_while_it_is_read) {
  const std::string text(1 << 20, 'x');
  const Json::Value job = pool_.push(R"("data":")" + text + "\"");
  EXPECT_EQ(work({"--", "cat"}), 0) << err();
  EXPECT_EQ(pool_.job(job)["result"], text);
}

TEST_F(Commands, need_not_read_its_input) {
  const std::string data = R"("data":")" + std::string(1 << 20, 'x') + "\"";
  for (const char* script : {"echo 1", "exec <&-; echo 1", "head -c 10 >/dev/null; echo 1"}) {
    const Json::Value job = pool_.push(data);
    EXPECT_EQ(workWithScript(script), 0) << err();
    EXPECT_EQ(pool_.job(job)["result"], 1) << script;
  }
}

TEST_F(Commands, too_much_output_fails_the_job_and_blocks_nobody) {
  const Json::Value job = pool_.push();
  EXPECT_EQ(workWithScript("head -c 100000000 /dev/zero; touch finished"), 0) << err();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "finished"));
  const Json::Value now = pool_.job(job);
  EXPECT_EQ(now["status"], "poisoned") << "another try would not help";
  EXPECT_EQ(now["error"], "result too large: 100000000 bytes, the limit is 2097152");
}

TEST_F(Commands, the_service_may_allow_less_output_than_the_worker) {
  Service strict({.store = anyStore(), .settings = "inline_payload_limit_bytes: 100\n"});
  PoolClient pool(strict.url(), pool_.name());
  const Json::Value job = pool.push();
  const auto worker = startScript("head -c 200 /dev/zero | tr '\\0' 1", {}, strict.url());
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  const Json::Value now = pool.job(job);
  EXPECT_EQ(now["status"], "poisoned") << now;
  EXPECT_EQ(now["error"], "result too large: 200 bytes, the limit is 100");
}

TEST_F(Commands, much_on_stderr_blocks_nobody) {
  const Json::Value job = pool_.push();
  EXPECT_EQ(workWithScript("head -c 10000000 /dev/zero | tr '\\0' x >&2; echo 1"), 0) << err();
  EXPECT_EQ(pool_.job(job)["result"], 1);
}

TEST_F(Commands, output_that_is_no_json_becomes_a_string) {
  const Json::Value job = pool_.push();
  EXPECT_EQ(workWithScript(R"(printf 'Gr\303\274\303\237e\000 \360\237\231\202 \377\n')"), 0)
      << err();
  const Reply done = http_.get("/v1/jobs/" + job["id"].asString());
  EXPECT_EQ(done.raw("result"), "\"Grüße\\u0000 🙂 \xEF\xBF\xBD\"") << done;
}

TEST_F(Commands, output_as_deep_as_the_service_allows_is_taken) {
  for (const int depth : {63, 64}) {
    const Json::Value job = pool_.push();
    std::string deep;
    for (int i = 0; i < depth; ++i) deep = '[' + deep + ']';
    EXPECT_EQ(work({"--", "printf", "%s", deep}), 0) << err();
    EXPECT_EQ(pool_.job(job)["status"], "done") << depth;
  }
}

TEST_F(Commands, what_it_leaves_behind_is_ended) {
  const Json::Value job = pool_.push();
  EXPECT_EQ(workWithScript("sleep 1000 & echo $! > pid; echo 1"), 0) << err();
  EXPECT_EQ(pool_.job(job)["result"], 1);
  EXPECT_TRUE(commandEnds());
}

TEST_F(Commands, ends_with_a_worker_that_is_killed) {
  pool_.push();
  const auto worker = startScript(kUntilGo);
  ASSERT_TRUE(appears("pid")) << worker->err();
  worker->signal(SIGKILL);
  EXPECT_EQ(worker->wait(), 128 + SIGKILL);
  EXPECT_TRUE(commandEnds());
}

TEST_F(Commands, the_built_in_echo_answers_with_the_data) {
  const Json::Value job = pool_.push(R"("data":{"delay_seconds":0.05,"x":[1]})");
  const Json::Value other = pool_.push(R"("data":"text")");
  EXPECT_EQ(work({"--builtin", "echo", "--loop", "--max-jobs", "2"}), 0) << err();
  EXPECT_EQ(pool_.job(job)["result"]["x"][0], 1);
  EXPECT_EQ(pool_.job(other)["result"], "text");
}

TEST_F(Commands, the_built_in_echo_fails_when_the_data_says_so) {
  const Json::Value job = pool_.push(R"("data":{"fail":"no paper"},"max_retries":1)");
  EXPECT_EQ(work({"--builtin", "echo"}), 0) << err();
  EXPECT_EQ(pool_.job(job)["status"], "poisoned");
  EXPECT_EQ(pool_.job(job)["error"], "exit 1: no paper");
}

TEST_F(Commands, capabilities_bring_the_jobs_that_need_them) {
  const Json::Value job = pool_.push(R"("data":1,"placement":{"requires_capabilities":["gpu"]})");
  EXPECT_EQ(work({"--", "cat"}), 0);
  EXPECT_EQ(pool_.job(job)["status"], "pending");
  EXPECT_EQ(work({"--capability", "gpu", "--capability", "a,b", "--", "cat"}), 0);
  EXPECT_EQ(pool_.job(job)["status"], "done");
  EXPECT_EQ(pool_.worker(worker_)["capabilities"].size(), 2U);
}

}  // namespace
}  // namespace muster::test
