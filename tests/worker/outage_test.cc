// What a worker does while the service is away.
#include <signal.h>

#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

class Outage : public WorkerFixture {
 protected:
  Outage() : pool_of_its_own_(own_.url(), pool_.name()) {}

  Service own_;
  PoolClient pool_of_its_own_;
};

TEST_F(Outage, a_job_is_completed_once_when_the_service_crashes_and_comes_back) {
  const Json::Value job = pool_of_its_own_.push();
  const auto worker = startScript(kUntilGo + "echo 1", {}, own_.url());
  ASSERT_TRUE(appears("pid")) << worker->err();
  own_.kill9();
  writeFile(folder_ / "go", "");
  ASSERT_TRUE(eventually(kPatience, [&] {
    return worker->err().find("trying again") != std::string::npos;
  })) << worker->err();
  own_.start();
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  const Json::Value now = pool_of_its_own_.job(job);
  EXPECT_EQ(now["status"], "done");
  EXPECT_EQ(now["result"], 1);
  EXPECT_EQ(now["attempts"], 1);
  const auto types = pool_of_its_own_.eventTypes(job);
  EXPECT_EQ(std::count(types.begin(), types.end(), "job.completed"), 1);
  EXPECT_EQ(pool_of_its_own_.worker(worker_)["status"], "terminated");
}

TEST_F(Outage, a_waiting_worker_goes_on_when_the_service_comes_back) {
  const auto worker =
      startScript("cat", {"--loop", "--idle-timeout-seconds", "0", "--max-jobs", "1"}, own_.url());
  ASSERT_TRUE(
      eventually(kPatience, [&] { return worker->err().find("registered") != std::string::npos; }));
  own_.kill9();
  ASSERT_TRUE(eventually(kPatience, [&] {
    return worker->err().find("trying again") != std::string::npos;
  })) << worker->err();
  own_.start();
  const Json::Value job = pool_of_its_own_.push();
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(pool_of_its_own_.job(job)["status"], "done");
}

TEST_F(Outage, a_lease_that_cannot_be_renewed_stops_the_command) {
  pool_of_its_own_.configure(R"("lease_seconds":6)");
  pool_of_its_own_.push();
  const auto worker = startScript(kUntilGo, {}, own_.url());
  ASSERT_TRUE(appears("pid")) << worker->err();
  own_.kill9();
  EXPECT_TRUE(commandEnds());
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_NE(worker->err().find("not ours any more"), std::string::npos) << worker->err();
}

TEST_F(Outage, a_worker_waits_for_a_service_that_starts_later) {
  own_.kill9();
  const auto worker = startScript("cat", {}, own_.url());
  ASSERT_TRUE(eventually(kPatience, [&] {
    return worker->err().find("trying again") != std::string::npos;
  })) << worker->err();
  own_.start();
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_EQ(worker->out(), "no_work_available\n");
}

TEST_F(Outage, a_worker_gives_up_when_nobody_answers) {
  own_.kill9();
  const auto worker = startScript("cat", {"--connect-timeout", "0.3"}, own_.url());
  EXPECT_EQ(worker->wait(), 3) << worker->err();
  EXPECT_NE(worker->err().find("cannot register"), std::string::npos) << worker->err();
}

TEST(WorkerTokens, the_worker_uses_its_own_once_it_has_registered) {
  // The token is "secret"; of the scopes of a worker it has no other.
  Service service({.settings =
                       "tokens:\n  - {name: w, scopes: [work, produce], sha256: "
                       "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}\n"});
  const Headers authorized = {{"Authorization", "Bearer secret"}};
  Http http(service.url());
  ASSERT_EQ(http.post("/v1/pools/p/jobs", R"({"data":1})", authorized).status, 201);
  TempFolder folder;
  const auto work = [&](const std::string& variable) {
    Command command{{musterBinary(), "worker", "--pool", "p", "--", "sh", "-c",
                     "echo \"$MUSTER_WORKER_TOKEN\" > token"},
                    folder.path()};
    command.env = {"MUSTER_URL=" + service.url(), variable};
    ChildProcess worker(command);
    const int code = worker.wait().value_or(-1);
    return std::pair(code, worker.err());
  };
  EXPECT_EQ(work("MUSTER_TOKEN=wrong").first, 1);
  const auto [code, err] = work("MUSTER_TOKEN=secret");
  EXPECT_EQ(code, 0) << err;
  EXPECT_NE(err.find("outcome=complete"), std::string::npos) << err;
  EXPECT_EQ(readFile(folder / "token").find("secret"), std::string::npos);
  EXPECT_EQ(work("MUSTER_WORKER_TOKEN=secret").first, 0);
}

TEST_F(Outage, a_launch_token_that_is_not_valid_means_stop) {
  Command command{{musterBinary(), "worker", "--pool", "p", "--builtin", "echo"}, folder_.path()};
  command.env = {"MUSTER_URL=" + own_.url(), "MUSTER_LAUNCH_TOKEN=of-yesterday"};
  ChildProcess worker(command);
  EXPECT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_NE(worker.err().find("told this worker to stop"), std::string::npos) << worker.err();
}

}  // namespace
}  // namespace muster::test
