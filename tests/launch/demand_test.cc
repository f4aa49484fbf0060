// Workers come when there is work, as many as allowed, and go.
#include <algorithm>
#include <thread>

#include "tests/launch/launch_fixture.h"

namespace muster::test {
namespace {

class Demand : public LaunchFixture {
 protected:
  Demand()
      : LaunchFixture(
            "templates:\n"
            "  wait: {run: [sh, -c, 'while [ ! -e go ]; do sleep 0.02; done; cat']}\n"
            "pools:\n"
            "  p: {template: echo, scaling: {max_workers: 3}}\n"
            "  waiting: {template: wait, scaling: {max_workers: 3}}\n"
            "  nothing: {}\n") {}
};

// The plan of the client: ten jobs, three workers at a time, all gone in the end.
TEST_F(Demand, ten_jobs_are_done_by_three_workers_at_a_time) {
  pool().pushMany(10);
  std::size_t most = 0;
  ASSERT_TRUE(becomes([&] {
    const auto alive =
        http().get("/v1/workers?pool_id=p&status=active,starting,terminating").json["items"];
    most = std::max<std::size_t>(most, alive.size());
    return pool().stats()["done"] == 10;
  }));
  ASSERT_TRUE(nobodyLeft());
  EXPECT_LE(most, 3U);
  EXPECT_EQ(eventsOf("worker.starting").size(), 10U) << "one worker for each job";
  for (const auto& worker : workers()) {
    EXPECT_EQ(worker["status"], "terminated");
    EXPECT_EQ(worker["exit_code"], 0);
    EXPECT_EQ(worker["jobs_done"], 1);
    EXPECT_GT(worker["max_rss_bytes"].asInt64(), 0);
  }
}

TEST_F(Demand, is_told_of_in_the_metrics) {
  pool().pushMany(3);
  ASSERT_TRUE(allDone(3));
  ASSERT_TRUE(nobodyLeft());
  const auto shows = [this](const std::string& line) {
    return http().get("/metrics").body.find("\n" + line) != std::string::npos;
  };
  EXPECT_TRUE(becomes([&] {
    return shows("muster_worker_exits_total{pool=\"p\",reason=\"ok\"} 3\n");
  })) << http().get("/metrics").body;
  EXPECT_TRUE(shows("muster_worker_launches_total{pool=\"p\",result=\"started\"} 3\n"));
  EXPECT_TRUE(shows("muster_worker_startup_seconds_count{pool=\"p\"} 3\n"));
  EXPECT_TRUE(shows("muster_workers{pool=\"p\",status=\"active\"} 0\n"));
  EXPECT_TRUE(shows("muster_pool_workers_desired{pool=\"p\"} "));
  EXPECT_FALSE(shows("muster_checker_duration_seconds_count 0\n"));
}

TEST_F(Demand, a_burst_launches_one_worker_for_each_job) {
  pool().configure(R"("template":"echo","scaling":{"max_workers":50})");
  for (int i = 0; i < 50; ++i) pool().push();
  ASSERT_TRUE(allDone(50));
  ASSERT_TRUE(nobodyLeft());
  EXPECT_EQ(eventsOf("worker.starting").size(), 50U);
}

TEST_F(Demand, a_job_that_comes_while_the_last_worker_leaves_is_not_stranded) {
  for (int i = 1; i <= 20; ++i) {
    const Json::Value job = pool().push();
    const auto done = http().get("/v1/jobs/" + job["id"].asString() + "?wait_seconds=30");
    ASSERT_EQ(done.json["status"], "done") << i;
  }
  EXPECT_EQ(eventsOf("worker.starting").size(), 20U);
}

TEST_F(Demand, a_hook_that_waits_is_told_the_decision) {
  const auto idle = http().post("/v1/hooks/work_added?pool_id=p&wait_seconds=30");
  EXPECT_EQ(idle.status, 202) << idle;
  EXPECT_EQ(idle.json["decision"]["binding_limit"], "no_demand");
  EXPECT_EQ(idle.json["decision"]["trigger"], "work_added");
  EXPECT_FALSE(http().post("/v1/hooks/work_added?pool_id=p").json.isMember("decision"));
  EXPECT_FALSE(http()
                   .post("/v1/hooks/work_added?pool_id=nowhere&wait_seconds=30")
                   .json.isMember("decision"));
}

// A tick may come first, and so may the check of the push where that stood still until then.
TEST_F(Demand, a_delayed_job_gets_its_worker_when_it_comes_due) {
  const auto launchedByItsTime = [this] {
    const Json::Value job = pool().push(R"("data":1,"delay_seconds":0.2)");
    const auto done = http().get("/v1/jobs/" + job["id"].asString() + "?wait_seconds=30");
    EXPECT_EQ(done.json["status"], "done");
    const auto decisions = http().get(pool().path("/decisions?limit=200")).json["items"];
    return std::any_of(decisions.begin(), decisions.end(), [](const auto& decision) {
      return decision["trigger"] == "job_due" && decision["launched"] == 1;
    });
  };
  EXPECT_TRUE(becomes(launchedByItsTime)) << http().get(pool().path("/decisions"));
}

TEST_F(Demand, the_fewest_once_workers_do_not_come_for_a_job_that_is_not_due) {
  pool().configure(R"("template":"echo","scaling":{"min_workers":1})");
  pool().push(R"("data":1,"delay_seconds":3600)");
  const Json::Value decision = check();
  EXPECT_EQ(decision["inputs"]["pending"], 1);
  EXPECT_EQ(decision["limits"]["min_workers"], 1);
  EXPECT_EQ(decision["binding_limit"], "no_demand");
  const Json::Value decisions = http().get(pool().path("/decisions")).json["items"];
  EXPECT_GE(decisions.size(), 1U);
  for (const Json::Value& each : decisions) EXPECT_EQ(each["launched"], 0) << each;
  EXPECT_TRUE(eventsOf("worker.starting").empty());
}

TEST_F(Demand, two_checks_at_the_same_instant_spend_a_place_once) {
  PoolClient waiting(service().url(), "waiting");
  waiting.http().post("/v1/pools/waiting/pause");
  waiting.pushMany(10);
  waiting.http().post("/v1/pools/waiting/resume");
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([this] {
      Http own(service().url());
      for (int j = 0; j < 5; ++j) EXPECT_EQ(own.post("/v1/pools/waiting/check").status, 200);
    });
  }
  for (auto& caller : callers) caller.join();
  ASSERT_TRUE(becomes([&] { return waiting.stats()["busy_workers"] == 3; }));
  EXPECT_EQ(http().get("/v1/workers?pool_id=waiting").json["items"].size(), 3U);
  allow("go");
  EXPECT_TRUE(becomes([&] { return waiting.stats()["done"] == 10; }));
}

TEST_F(Demand, a_check_explains_itself_and_a_look_changes_nothing) {
  PoolClient waiting(service().url(), "waiting");
  waiting.pushMany(5);
  ASSERT_TRUE(becomes([&] { return waiting.stats()["busy_workers"] == 3; }));
  const auto look = http().get("/v1/pools/waiting/check").json;
  EXPECT_EQ(look["to_launch"], 0);
  EXPECT_EQ(look["launched"], 0);
  EXPECT_EQ(look["binding_limit"], "max_workers");
  EXPECT_EQ(look["inputs"]["runnable"], 2);
  EXPECT_EQ(look["inputs"]["busy"], 3);
  EXPECT_EQ(look["limits"]["max_workers"], 3);
  EXPECT_EQ(look["reason"],
            "2 runnable jobs, 0 slots free, 0 starting: 2 workers needed, max_workers allows 0");
  const auto decisions = http().get("/v1/pools/waiting/decisions").json["items"];
  ASSERT_GT(decisions.size(), 0U);
  std::int64_t launched = 0;
  for (const auto& decision : decisions) launched += decision["launched"].asInt64();
  EXPECT_EQ(launched, 3);
  allow("go");
}

TEST_F(Demand, a_check_can_be_held_lower_than_the_pool) {
  PoolClient waiting(service().url(), "waiting");
  waiting.http().post("/v1/pools/waiting/pause");
  waiting.pushMany(5);
  EXPECT_EQ(http().get("/v1/pools/waiting/check").json["binding_limit"], "paused");
  EXPECT_EQ(http().post("/v1/pools/waiting/check", R"({"max_workers":-1})").status, 422);
  EXPECT_EQ(http().post("/v1/pools/waiting/check", R"({"max_workers":2})").json["launched"], 0);
}

TEST_F(Demand, a_pool_without_a_template_launches_nobody_and_says_so) {
  PoolClient nothing(service().url(), "nothing");
  nothing.push();
  const auto decision = nothing.http().post("/v1/pools/nothing/check").json;
  EXPECT_EQ(decision["binding_limit"], "no_template");
  EXPECT_EQ(decision["launched"], 0);
}

TEST_F(Demand, an_unknown_pool_is_404_and_an_unknown_template_422) {
  EXPECT_TRUE(isProblem(http().post("/v1/pools/nowhere/check"), 404));
  EXPECT_TRUE(isProblem(http().get("/v1/pools/nowhere/check"), 404));
  EXPECT_TRUE(isProblem(http().put("/v1/pools/q", R"({"template":"nobody"})"), 422));
}

TEST_F(Demand, a_target_is_reached_and_a_surplus_stops) {
  pool().configure(R"("template":"echo","worker_mode":"loop")");
  EXPECT_EQ(http().put(pool().path("/scale"), R"({"target_workers":3})").json["mode"], "target");
  ASSERT_TRUE(becomes([&] { return pool().stats()["idle_workers"] == 3; }));
  EXPECT_EQ(http().put(pool().path("/scale"), R"({"target_workers":1})").status, 200);
  EXPECT_TRUE(becomes([&] {
    return pool().stats()["idle_workers"] == 1 && eventsOf("worker.exited").size() == 2;
  }));
  EXPECT_EQ(http().get(pool().path("/scale")).json["current_workers"], 1);
  EXPECT_TRUE(isProblem(http().put(pool().path("/scale"), "{}"), 422));
  http().put(pool().path("/scale"), R"({"target_workers":0})");
  EXPECT_TRUE(nobodyLeft());
}

// Other processes may not look into the service, so it is asked.
int openFilesIn(const std::string& metrics) {
  constexpr std::string_view kName = "\nprocess_open_fds ";
  return std::stoi(metrics.substr(metrics.find(kName) + kName.size()));
}

TEST_F(Demand, five_hundred_launches_leave_no_zombie_and_no_open_file) {
  pool().configure(R"("template":"echo","scaling":{"max_workers":8})");
  pool().push();
  ASSERT_TRUE(allDone(1));
  ASSERT_TRUE(nobodyLeft());
  const auto openFiles = [&] { return openFilesIn(http().get("/metrics").body); };
  const int before = openFiles();
  pool().pushMany(500);
  ASSERT_TRUE(eventually(5 * kPatience, [&] { return pool().stats()["done"] == 501; }));
  ASSERT_TRUE(nobodyLeft());
  EXPECT_EQ(eventsOf("worker.starting").size(), 501U);
  EXPECT_EQ(zombiesOf(service().pid()), 0);
  EXPECT_TRUE(becomes([&] { return openFiles() <= before + 2; }));
}

}  // namespace
}  // namespace muster::test
