// Templates that cannot work: launches are held back, and the evidence is kept.
#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

class Failing : public LaunchFixture {
 protected:
  Failing()
      : LaunchFixture(
            "templates:\n"
            "  absent: {worker: [no_such_program]}\n"
            "  nowhere: {worker: [sh, -c, 'exit 0'], cwd: no_such_folder}\n"
            "  broken: {worker: [sh, -c, 'printf \"caf\\303\\251 \\000 \\377 broken\"; exit 3']}\n"
            "  loud: {worker: [sh, -c, 'head -c 100000000 /dev/zero | tr \"\\000\" x; echo END; "
            "exit 1']}\n"
            "  nosy: {worker: [sh, -c, 'env; ls -l /proc/self/fd; exit 1']}\n"
            "  crashing: {run: [sh, -c, 'kill -9 $PPID']}\n"
            "pools:\n"
            "  p: {template: broken, launch_backoff_base_seconds: 0, launch_suspend_after: 3}\n") {}

  void use(const std::string& made) {
    pool().configure(R"("template":")" + made +
                     R"(","launch_backoff_base_seconds":300,"scaling":{"max_workers":1})");
    pool().push();
  }
  Json::Value firstExited() {
    becomes([&] { return !eventsOf("worker.exited").empty(); });
    return workers().front();
  }
};

TEST_F(Failing, a_program_that_does_not_exist_is_named) {
  use("absent");
  const Json::Value worker = firstExited();
  EXPECT_EQ(outputOf(worker["worker_id"].asString()),
            "the program 'no_such_program' was not found in PATH");
  EXPECT_EQ(worker["status"], "terminated");
  EXPECT_EQ(settings()["launch_state"], "backing_off");
  EXPECT_EQ(explain()["binding_limit"], "breaker");
  EXPECT_EQ(pool().stats()["queue_depth"], 1) << "the job waits";
  const std::string counted = "\nmuster_worker_launches_total{pool=\"p\",result=\"failed\"} 1\n";
  EXPECT_TRUE(
      becomes([&] { return http().get("/metrics").body.find(counted) != std::string::npos; }));
}

TEST_F(Failing, a_folder_that_does_not_exist_is_named) {
  use("nowhere");
  EXPECT_EQ(outputOf(firstExited()["worker_id"].asString()),
            "the folder 'no_such_folder' cannot be entered");
}

TEST_F(Failing, a_template_that_keeps_failing_is_suspended_with_the_evidence) {
  pool().push();
  ASSERT_TRUE(becomes([&] { return settings()["launch_state"] == "suspended"; }));
  const auto suspended = eventsOf("pool.launch_suspended");
  ASSERT_EQ(suspended.size(), 1U);
  EXPECT_EQ(suspended[0]["details"]["exit_code"], 3);
  EXPECT_NE(suspended[0]["details"]["output"].asString().find("broken"), std::string::npos);
  EXPECT_EQ(workers().size(), 3U);
  EXPECT_EQ(http().post(pool().path("/resume")).json["launch_state"], "ok");
  EXPECT_TRUE(becomes([&] { return workers().size() > 3; }));
}

TEST_F(Failing, output_is_kept_as_text_whatever_it_was) {
  pool().push();
  const Json::Value worker = firstExited();
  EXPECT_EQ(worker["exit_code"], 3);
  EXPECT_EQ(worker["status_reason"], "exit code 3 before registering");
  EXPECT_EQ(outputOf(worker["worker_id"].asString()), "caf\u00e9 \ufffd \ufffd broken");
}

TEST_F(Failing, only_the_end_of_a_hundred_megabytes_is_kept) {
  use("loud");
  const std::string id = firstExited()["worker_id"].asString();
  const auto output = http().get("/v1/workers/" + id + "/output").json;
  EXPECT_EQ(output["truncated"], true);
  EXPECT_EQ(output["output"].asString().size(), 65'536U);
  EXPECT_TRUE(output["output"].asString().ends_with("xEND\n"));
}

TEST_F(Failing, a_worker_sees_nothing_of_the_service_but_what_it_is_told) {
  use("nosy");
  const std::string output = outputOf(firstExited()["worker_id"].asString());
  for (const char* name : {"MUSTER_URL=", "MUSTER_POOL_ID=p", "MUSTER_WORKER_ID=w-",
                           "MUSTER_LAUNCH_TOKEN=", "MUSTER_WORKER_TOKEN="}) {
    EXPECT_NE(output.find(name), std::string::npos) << name << "\n" << output;
  }
  EXPECT_EQ(output.find("muster.db"), std::string::npos) << output;
  EXPECT_EQ(output.find("socket:"), std::string::npos) << output;
  EXPECT_EQ(output.find("eventpoll"), std::string::npos) << output;
}

TEST_F(Failing, a_job_that_kills_its_worker_is_poisoned_in_the_end) {
  pool().configure(
      R"("template":"crashing","launch_backoff_base_seconds":0,"retry":{"base_ms":0,"max_retries":2})");
  const Json::Value job = pool().push();
  ASSERT_TRUE(becomes([&] { return pool().job(job)["status"] == "poisoned"; })) << service().log();
  EXPECT_EQ(pool().job(job)["attempts"], 2);
  EXPECT_EQ(pool().job(job)["crashes"], 2);
}

}  // namespace
}  // namespace muster::test
