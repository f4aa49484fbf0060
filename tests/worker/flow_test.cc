// What a worker hands to the command of a job in a flow.
#include <sstream>

#include "tests/worker/worker_fixture.h"

namespace muster::test {
namespace {

class WorkerFlow : public WorkerFixture {
 protected:
  // `jobs` are the members of the array, with POOL for the name of the test's pool.
  Json::Value create(std::string jobs) {
    for (auto at = jobs.find("POOL"); at != std::string::npos; at = jobs.find("POOL")) {
      jobs.replace(at, 4, pool_.name());
    }
    const Reply made = http_.post("/v1/flows", R"({"name":"f","jobs":[)" + jobs + "]}");
    EXPECT_EQ(made.status, 201) << made;
    return made.json;
  }
  // `split` has so many done children, and `join` waits for it.
  void createFanIn(int children) {
    create(R"({"name":"split","pool_id":"POOL","data":1},
              {"name":"join","pool_id":"POOL","data":2,"after":["split"]})");
    const Json::Value split = pool_.claimOne();
    std::string body = R"({"lease_token":")" + split["lease_token"].asString() + R"(","jobs":[)";
    for (int i = 0; i < children; ++i) {
      body += std::string(i == 0 ? "" : ",") + R"({"name":"part-)" + std::to_string(i) +
              R"(","pool_id":")" + pool_.name() + R"(","data":)" + std::to_string(i) + "}";
    }
    const Reply added = http_.post("/v1/jobs/" + split["id"].asString() + "/children", body + "]}");
    ASSERT_EQ(added.status, 201) << added;
    EXPECT_EQ(pool_.report("complete", split).status, 200);
    for (int i = 0; i < children; ++i) {
      EXPECT_EQ(pool_.report("complete", pool_.claimOne(), R"("result":"r")").status, 200);
    }
  }
  Json::Value only(const std::string& status) {
    const auto jobs = pool_.list("status=" + status);
    EXPECT_EQ(jobs.size(), 1U);
    return jobs.empty() ? Json::Value() : jobs.front();
  }
};

TEST_F(WorkerFlow, a_command_finds_its_flow_and_what_the_jobs_before_it_left) {
  const Json::Value made = create(R"({"name":"a","pool_id":"POOL","data":1},
                                     {"name":"b","pool_id":"POOL","data":2,"after":["a"]})");
  ASSERT_EQ(workWithScript("env > env.txt; printf '{\"n\":\n 1}'"), 0) << err();
  const std::string first = "\n" + textOf("env.txt");
  const std::string flow_id = made["flow"]["flow_id"].asString();
  EXPECT_NE(first.find("\nMUSTER_FLOW_ID=" + flow_id + "\n"), std::string::npos) << first;
  EXPECT_NE(first.find("\nMUSTER_JOB_NAME=a\n"), std::string::npos) << first;
  EXPECT_EQ(first.find("\nMUSTER_UPSTREAM="), std::string::npos) << first;

  ASSERT_TRUE(eventually(kPatience, [&] { return pool_.stats()["queue_depth"] == 1; }));
  ASSERT_EQ(workWithScript("cp \"$MUSTER_UPSTREAM\" upstream.txt; stat -c %a \"$MUSTER_UPSTREAM\" "
                           "> mode.txt; echo \"$MUSTER_UPSTREAM\" > path.txt; echo "
                           "\"$MUSTER_JOB_NAME\" > name.txt"),
            0)
      << err();
  EXPECT_EQ(textOf("name.txt"), "b\n");
  EXPECT_EQ(textOf("mode.txt"), "600\n");
  EXPECT_EQ(textOf("upstream.txt"),
            R"({"name":"a","job_id":")" + made["jobs"][0]["job_id"].asString() +
                R"(","verdict":"succeeded","status":"done","result":{"n":  1}})" + "\n");
  std::string path = textOf("path.txt");
  path.pop_back();
  EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(WorkerFlow, a_job_outside_of_flows_inherits_nothing_of_one) {
  pool_.push();
  test::Command command{
      {musterBinary(), "worker", "--pool", pool_.name(), "--", "sh", "-c", "env > env.txt"},
      folder_.path()};
  command.env = {"MUSTER_URL=" + service().url(), "MUSTER_FLOW_ID=outer", "MUSTER_JOB_NAME=outer",
                 "MUSTER_UPSTREAM=/outer"};
  ChildProcess worker(command);
  ASSERT_EQ(worker.wait(), 0) << worker.err();
  EXPECT_EQ(textOf("env.txt").find("outer"), std::string::npos) << textOf("env.txt");
}

TEST_F(WorkerFlow, a_join_of_many_gets_all_pages) {
  createFanIn(150);
  ASSERT_TRUE(eventually(kPatience, [&] { return pool_.stats()["queue_depth"] == 1; }));
  ASSERT_EQ(workWithScript("cp \"$MUSTER_UPSTREAM\" upstream.txt"), 0) << err();
  std::istringstream lines(textOf("upstream.txt"));
  int children = 0, count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    if (line.find(R"("parent":"split")") != std::string::npos) ++children;
  }
  EXPECT_EQ(count, 151);
  EXPECT_EQ(children, 150);
}

TEST_F(WorkerFlow, a_page_that_cannot_be_read_fails_the_try_and_not_the_job) {
  createFanIn(150);
  ASSERT_TRUE(eventually(kPatience, [&] { return pool_.stats()["queue_depth"] == 1; }));
  ChildProcess proxy(
      {{"/usr/bin/env", "python3", MUSTER_WORKER_TESTS "/upstream_proxy.py", service().url()},
       folder_.path()});
  ASSERT_TRUE(appears("proxy.url")) << proxy.err();
  const auto worker = startScript("> ran.txt", {"--connect-timeout", "0.3"}, textOf("proxy.url"));
  EXPECT_EQ(worker->wait(), 0) << worker->err();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ran.txt")) << "not with half of it";
  const Json::Value join = only("pending");
  EXPECT_EQ(join["attempts"], 1);
  EXPECT_NE(join["error"].asString().find("cannot read the results of upstream jobs"),
            std::string::npos)
      << join;
  ASSERT_EQ(workWithScript("wc -l < \"$MUSTER_UPSTREAM\""), 0) << err();
  EXPECT_EQ(pool_.job(join)["result"], 151);
}

TEST_F(WorkerFlow, a_command_adds_children_and_a_second_try_adds_no_more) {
  const Json::Value job = pool_.push();
  const std::string add = musterBinary() + " flows add --pool " + pool_.name();
  const std::string script = add + " first --data 0 && " + add + " --data 1 && " + add +
                             " --data 2 && " + add + " last --data 3 --after-any first && " +
                             "test -e again || { > again; exit 3; }";
  ASSERT_EQ(workWithScript(script), 0) << err();
  EXPECT_EQ(pool_.job(job)["error"].asString().substr(0, 6), "exit 3") << pool_.job(job);
  ASSERT_EQ(workWithScript(script), 0) << err();
  const Json::Value done = pool_.job(job);
  EXPECT_EQ(done["status"], "done") << done;
  const auto children =
      http_.get("/v1/flows/" + done["flow_id"].asString() + "/jobs?parent=" + job["id"].asString());
  EXPECT_EQ(children.json["items"].size(), 4U) << children;
  EXPECT_EQ(children.json["items"][3]["status"], "blocked") << children;
}

}  // namespace
}  // namespace muster::test
