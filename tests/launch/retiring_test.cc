// `on_stop: drain`: a stop of the service waits for the workers it has launched.
#include <signal.h>

#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

class Retiring : public LaunchFixture {
 protected:
  explicit Retiring(const std::string& seconds = "60")
      : LaunchFixture("on_stop: drain\nworker_shutdown_timeout_seconds: " + seconds +
                      "\n"
                      "templates:\n"
                      "  wait: {run: [sh, -c, '> began-$MUSTER_JOB_ID; "
                      "while [ ! -e go ]; do sleep 0.02; done; echo 7']}\n"
                      "  stubborn: {run: [sh, -c, 'trap \"\" TERM; > began-$MUSTER_JOB_ID; "
                      "while true; do sleep 0.1; done']}\n"
                      "pools:\n"
                      "  p: {template: wait, scaling: {max_workers: 1}}\n") {}

  Json::Value begun() {
    Json::Value job = pool().push();
    EXPECT_TRUE(appears("began-" + job["id"].asString())) << service().log();
    return job;
  }
  pid_t workerPid() { return workers().at(0)["pid"].asInt(); }
  // The service has heard the signal and is not ready any more.
  bool isStopping() {
    service().interrupt();
    return becomes([&] { return http().get("/readyz").status == 503; });
  }
  Json::Value afterRestart(const Json::Value& job) {
    service().start();
    return pool().job(job);
  }
};

class RetiringSoon : public Retiring {
 protected:
  RetiringSoon() : Retiring("1") {}
};

TEST_F(Retiring, workers_finish_their_jobs_before_the_service_ends) {
  const Json::Value job = begun();
  const Json::Value next = pool().push();
  const pid_t worker = workerPid();
  ASSERT_TRUE(isStopping());
  EXPECT_TRUE(isProblem(pool().tryPush(R"("data":1)"), 503, "draining"));
  EXPECT_EQ(http().post("/v1/hooks/work_added").status, 503);
  EXPECT_TRUE(becomes([&] { return workers().at(0)["status"] == "terminating"; }))
      << "it can still be watched";
  EXPECT_TRUE(service().running());
  allow("go");
  EXPECT_EQ(service().awaitExit(), 0) << service().log();
  EXPECT_FALSE(isRunning(worker));
  const Json::Value done = afterRestart(job);
  EXPECT_EQ(done["status"], "done");
  EXPECT_EQ(done["attempts"], 1);
  EXPECT_EQ(workers().at(0)["exit_code"], 0) << "it ended by itself";
  ASSERT_TRUE(allDone(2)) << "the other job waited for the next start";
  EXPECT_EQ(pool().job(next)["attempts"], 1);
  EXPECT_EQ(workers().size(), 2U) << "nobody was launched during the stop";
}

TEST_F(Retiring, a_worker_that_waits_for_work_hears_of_it_at_once) {
  pool().configure(R"("template":"echo","worker_mode":"loop","heartbeat_interval_seconds":600,)"
                   R"("stale_threshold_seconds":1200,"lease_seconds":1800)");
  http().put(pool().path("/scale"), R"({"target_workers":1})");
  ASSERT_TRUE(becomes([&] { return pool().stats()["idle_workers"] == 1; }));
  EXPECT_EQ(service().stop(), 0) << service().log();
  EXPECT_EQ(service().log().find("stopping a process"), std::string::npos) << service().log();
  service().start();
  EXPECT_EQ(workers().at(0)["exit_code"], 0);
}

TEST_F(RetiringSoon, a_worker_that_does_not_finish_is_ended_and_its_try_given_back) {
  pool().configure(R"("template":"stubborn","scaling":{"max_workers":1})");
  const Json::Value job = begun();
  http().post(pool().path("/pause"));
  const pid_t worker = workerPid();
  EXPECT_EQ(service().stop(), 0) << service().log();
  EXPECT_FALSE(isRunning(worker));
  const Json::Value now = afterRestart(job);
  EXPECT_EQ(now["status"], "pending") << "the pause outlived the restart";
  EXPECT_EQ(now["attempts"], 0);
}

TEST_F(Retiring, a_second_signal_ends_the_service_at_once_and_leaves_the_worker) {
  const Json::Value job = begun();
  const pid_t worker = workerPid();
  ASSERT_TRUE(isStopping());
  service().interrupt();
  EXPECT_EQ(service().awaitExit(), 0);
  EXPECT_TRUE(isRunning(worker));
  allow("go");
  afterRestart(job);
  EXPECT_TRUE(allDone(1));
}

TEST_F(RetiringSoon, a_worker_told_to_end_before_the_service_was_killed_is_made_to_after_it) {
  pool().configure(R"("template":"stubborn","scaling":{"max_workers":1})");
  const Json::Value job = begun();
  const pid_t worker = workerPid();
  http().post(pool().path("/pause"));
  const std::string id = workers().at(0)["worker_id"].asString();
  EXPECT_EQ(http().post("/v1/workers/" + id + "/terminate").status, 200);
  service().kill9();
  EXPECT_TRUE(isRunning(worker));
  service().start();
  ASSERT_TRUE(nobodyLeft()) << service().log();
  EXPECT_EQ(pool().job(job)["attempts"], 0);
}

}  // namespace
}  // namespace muster::test
