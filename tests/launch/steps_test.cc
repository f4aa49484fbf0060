// A launched worker vanishes at each step of its life, killed or stopped; its job is done once.
#include <signal.h>

#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

struct Step {
  std::string name;  // and of the pool
  int attempts;      // that its job needs
  std::vector<std::string> job_events;
};

const std::vector<std::string> kOneTry = {"job.created", "job.claimed", "job.completed"};
const std::vector<std::string> kTwoTries = {"job.created", "job.claimed", "job.reassigned",
                                            "job.claimed", "job.completed"};
const std::vector<Step> kSteps = {{"before_register", 1, kOneTry},
                                  {"before_claim", 1, kOneTry},
                                  {"in_job", 2, kTwoTries},
                                  {"before_report", 2, kTwoTries},
                                  {"after_report", 1, kOneTry}};

std::string heldAtSteps(const std::string& start_timeout) {
  std::string text = "worker_start_timeout_seconds: " + start_timeout +
                     "\n"
                     "templates:\n"
                     "  held: {worker: [sh, -c, 'test ! -e $MUSTER_POOL_ID.url || "
                     "MUSTER_URL=$(cat $MUSTER_POOL_ID.url); exec $MUSTER worker -- sh job.sh'], "
                     "env: {MUSTER: " +
                     musterBinary() + "}}\npools:\n";
  for (const Step& step : kSteps) {
    text += "  " + step.name +
            ": {template: held, lease_seconds: 30, retry: {base_ms: 0}, "
            "launch_backoff_base_seconds: 0, scaling: {max_workers: 1}}\n";
  }
  return text;
}

// One pool for each step. Its first worker comes to the step and waits there.
class Steps : public LaunchFixture {
 protected:
  explicit Steps(const std::string& start_timeout = "60")
      : LaunchFixture(heldAtSteps(start_timeout)) {
    writeFile(service().folder() / "job.sh",
              "if [ $MUSTER_POOL_ID = in_job ] && [ ! -e in_job.held ]; then\n"
              "  > in_job.held; exec sleep 1000\n"
              "fi\n"
              "echo $MUSTER_ATTEMPT\n");
    Command command{{"/usr/bin/env", "python3", MUSTER_LAUNCH_TESTS "/step_proxy.py"},
                    service().folder().path()};
    command.argv.push_back(service().url());
    proxy_ = std::make_unique<ChildProcess>(command);
    EXPECT_TRUE(appears("after_report.url"));
  }
  ~Steps() override {
    for (const Step& step : kSteps) allow(step.name + ".go");
  }

  // The pid of each step's worker, once all have come to their step.
  std::map<std::string, pid_t> holdAll() {
    std::map<std::string, pid_t> held;
    for (const Step& step : kSteps) jobs_[step.name] = of(step).push();
    for (const Step& step : kSteps) {
      EXPECT_TRUE(appears(step.name + ".held")) << step.name << service().log();
      held[step.name] = workersOf(step).at(0)["pid"].asInt();
    }
    return held;
  }
  PoolClient of(const Step& step) { return {service().url(), step.name}; }
  std::vector<Json::Value> workersOf(const Step& step) {
    const auto list = http().get("/v1/workers?pool_id=" + step.name).json["items"];
    return {list.begin(), list.end()};
  }
  std::size_t count(const Step& step, const std::string& type) {
    return of(step).events("pool_id=" + step.name + "&types=" + type).size();
  }
  // Silence for so long means that a worker is lost.
  void giveUpAfter(const std::string& seconds, const Step& step) {
    const Reply set =
        http().patch("/v1/pools/" + step.name, R"({"stale_threshold_seconds":)" + seconds + "}");
    EXPECT_EQ(set.status, 200) << set;
  }
  // The worker that is silent now, and nobody who comes after it.
  void awaitLoss(const Step& step) {
    EXPECT_TRUE(becomes([&] { return count(step, "worker.lost") == 1; })) << service().log();
    giveUpAfter("60", step);
  }
  bool isDone(const Step& step, const Json::Value& job) {
    return becomes([&] { return of(step).job(job)["status"] == "done"; });
  }

  // Whatever the step: the job was done once, and the pool has its place back.
  void expectNothingLost(const Step& step, const std::string& first_status) {
    SCOPED_TRACE(step.name);
    const Json::Value& job = jobs_[step.name];
    ASSERT_TRUE(isDone(step, job)) << of(step).job(job) << service().log();
    EXPECT_EQ(of(step).job(job)["attempts"], step.attempts);
    EXPECT_EQ(of(step).job(job)["result"], step.attempts) << "the result of the last try";
    EXPECT_EQ(of(step).eventTypes(job), step.job_events);

    const Json::Value next = of(step).push();
    ASSERT_TRUE(isDone(step, next)) << "its place is still taken" << service().log();
    ASSERT_TRUE(becomes([&] { return count(step, "worker.exited") == workersOf(step).size(); }));
    const auto workers = workersOf(step);
    const bool was_finished = step.name == "after_report";
    EXPECT_EQ(workers.size(), was_finished ? 2U : 3U) << "one for each try, and no more";
    EXPECT_EQ(workers.at(0)["status"], first_status);
    EXPECT_EQ(workers.at(0)["exit_signal"], SIGKILL);
    for (std::size_t i = 1; i < workers.size(); ++i) EXPECT_EQ(workers[i]["exit_code"], 0);
    EXPECT_EQ(count(step, "worker.starting"), workers.size());
    EXPECT_EQ(count(step, "worker.lost"), first_status == "lost" ? 1U : 0U);
    const Json::Value stats = of(step).stats();
    for (const char* number : {"starting_workers", "active_workers", "terminating_workers",
                               "claimed", "queue_depth", "poisoned"}) {
      EXPECT_EQ(stats[number], 0) << number;
    }
  }

 private:
  std::unique_ptr<ChildProcess> proxy_;
  std::map<std::string, Json::Value> jobs_;
};

TEST_F(Steps, a_worker_killed_at_any_step_loses_nothing) {
  for (const auto& [step, pid] : holdAll()) ::kill(pid, SIGKILL);
  for (const Step& step : kSteps) expectNothingLost(step, "terminated");
}

class StoppedSteps : public Steps {
 protected:
  StoppedSteps() : Steps("10") {}  // waited for by the one that does not register
};

TEST_F(StoppedSteps, a_worker_stopped_at_any_step_is_given_up_and_loses_nothing) {
  for (const auto& [step, pid] : holdAll()) ::kill(pid, SIGSTOP);
  for (const Step& step : kSteps) giveUpAfter("2", step);
  for (auto step = kSteps.rbegin(); step != kSteps.rend(); ++step) awaitLoss(*step);
  for (const Step& step : kSteps) expectNothingLost(step, "lost");
}

TEST_F(Steps, what_a_worker_that_was_given_up_reports_late_changes_nothing) {
  const Step& step = kSteps[3];
  const Json::Value job = of(step).push();
  ASSERT_TRUE(appears("before_report.held")) << service().log();
  ::kill(workersOf(step).at(0)["pid"].asInt(), SIGSTOP);
  giveUpAfter("2", step);
  awaitLoss(step);
  ASSERT_TRUE(isDone(step, job)) << service().log();
  allow("before_report.go");
  ASSERT_TRUE(becomes([&] { return count(step, "job.late_result_dropped") == 1; }));
  EXPECT_EQ(of(step).job(job)["result"], 2);
  EXPECT_EQ(count(step, "job.completed"), 1U);
}

}  // namespace
}  // namespace muster::test
