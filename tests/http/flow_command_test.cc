#include <filesystem>
#include <memory>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

// The `muster flows` command against the real service.
class FlowCommand : public ServiceFixture {
 protected:
  std::unique_ptr<ChildProcess> start(std::vector<std::string> args) {
    args.insert(args.begin(), {musterBinary(), "flows"});
    args.insert(args.end(), {"--url", service().url()});
    return std::make_unique<ChildProcess>(Command{args, folder_.path()});
  }
  int run(const std::vector<std::string>& args) {
    std::filesystem::remove(folder_ / "stderr.txt");
    const auto muster = start(args);
    const int code = muster->wait().value_or(-1);
    out_ = muster->out();
    err_ = muster->err();
    return code;
  }
  // The id of a flow with these members besides its name and its jobs.
  std::string create(const std::string& jobs, const std::string& more = {}) {
    writeFlow(jobs, more);
    EXPECT_EQ(run({"create", "-f", "flow.json"}), 0) << err_;
    return line(out_);
  }
  // POOL in `jobs` is the pool of the test.
  void writeFlow(std::string jobs, const std::string& more = {}) {
    for (auto at = jobs.find("POOL"); at != std::string::npos; at = jobs.find("POOL")) {
      jobs.replace(at, 4, pool_.name());
    }
    writeFile(folder_ / "flow.json",
              R"({"name":")" + testName() + R"(","jobs":[)" + jobs + "]" + more + "}");
  }
  bool shows(const std::string& text) const { return out_.find(text) != std::string::npos; }
  static std::string line(const std::string& text) { return text.substr(0, text.find('\n')); }
  // Claims the next job once there is one, and completes it.
  void complete() {
    const Json::Value job = claimNext();
    EXPECT_EQ(pool_.report("complete", job).status, 200);
  }
  Json::Value claimNext() {
    const auto claimed = pool_.claim("w1", R"("wait_seconds":20)");
    EXPECT_EQ(claimed.size(), 1U);
    return claimed.empty() ? Json::Value() : claimed.front();
  }

  TempFolder folder_;
  std::string out_, err_;
};

constexpr const char* kTwoJobs = R"({"name":"one","pool_id":"POOL","data":1},
                                    {"name":"two","pool_id":"POOL","data":2,"after":["one"]})";

TEST_F(FlowCommand, goes_through_the_life_of_a_flow) {
  const std::string id = create(kTwoJobs, R"(,"open":true)");
  EXPECT_EQ(run({"add", "three", "--pool", pool_.name(), "--data", "3", "--after", "two",
                 "--after-failure", "one", "--flow", id}),
            0)
      << err_;
  EXPECT_EQ(http_.get("/v1/jobs/" + line(out_)).json["status"], "blocked");
  EXPECT_EQ(run({"show", id}), 0) << err_;
  EXPECT_TRUE(shows("open for more jobs")) << out_;
  EXPECT_TRUE(shows("3 jobs: 0 done, 0 failed, 3 left")) << out_;
  EXPECT_TRUE(shows("○ one ")) << out_;
  EXPECT_TRUE(shows("· three ")) << out_;
  EXPECT_TRUE(shows("two; failure of one")) << out_;
  EXPECT_EQ(out_.find('\x1b'), std::string::npos) << "colours are for a terminal";
  EXPECT_EQ(run({"close", id}), 0) << err_;
  EXPECT_EQ(line(out_), id + "  running, closed");
  EXPECT_EQ(run({"jobs", id, "--status", "blocked"}), 0) << err_;
  EXPECT_TRUE(shows("two ") && shows("three ") && !shows("one ")) << out_;
  EXPECT_EQ(run({"list", "--name", testName()}), 0) << err_;
  EXPECT_TRUE(shows(id) && shows("running")) << out_;

  EXPECT_EQ(run({"cancel", id, "--reason", "not today"}), 0) << err_;
  const auto status = [&] { return http_.get("/v1/flows/" + id).json["status"].asString(); };
  ASSERT_TRUE(eventually(kPatience, [&] { return status() == "cancelled"; })) << status();
  EXPECT_EQ(run({"show", id}), 0) << err_;
  EXPECT_TRUE(shows("cancelled: not today")) << out_;
  EXPECT_EQ(run({"retry", id}), 0) << err_;
  EXPECT_EQ(line(out_), id + "  running, round 2: 3 jobs put back");
  EXPECT_EQ(run({"delete", id}), 1);
  EXPECT_NE(err_.find("flow"), std::string::npos) << err_;
  EXPECT_EQ(run({"cancel", id}), 0) << err_;
  ASSERT_TRUE(eventually(kPatience, [&] { return status() == "cancelled"; })) << status();
  EXPECT_EQ(run({"delete", id}), 0) << err_;
  EXPECT_EQ(err_, "deleted " + id + "\n");
  EXPECT_EQ(run({"show", id}), 1);
}

TEST_F(FlowCommand, waits_for_the_end_and_tells_how_far_it_is) {
  writeFlow(kTwoJobs);
  const auto waiting = start({"create", "-f", "flow.json", "--wait"});
  complete();
  complete();
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  EXPECT_EQ(http_.get("/v1/flows/" + line(waiting->out())).json["status"], "succeeded");
  EXPECT_NE(waiting->err().find("2 done, 0 failed, 0 left\nflow " + line(waiting->out()) +
                                " succeeded after "),
            std::string::npos)
      << waiting->err();
}

TEST_F(FlowCommand, waiting_ends_with_an_error_when_the_flow_did_not_succeed) {
  writeFlow(R"({"name":"only","pool_id":"POOL","data":1,"max_retries":1})");
  const auto waiting = start({"create", "-f", "flow.json", "--wait", "-o", "json"});
  const Json::Value job = claimNext();
  EXPECT_EQ(pool_.report("fail", job, R"("error":"no paper")").status, 200);
  EXPECT_EQ(waiting->wait(), 1) << waiting->err();
  EXPECT_NE(waiting->out().find(R"("status":"failed")"), std::string::npos) << waiting->out();
  EXPECT_NE(waiting->err().find(" failed: job_failed after "), std::string::npos) << waiting->err();
  EXPECT_NE(waiting->err().find("  only  " + job["id"].asString() + "  no paper\n"),
            std::string::npos)
      << waiting->err();
}

TEST_F(FlowCommand, a_large_flow_is_shown_in_part) {
  std::string jobs;
  for (int i = 0; i < 60; ++i) {
    jobs += std::string(i == 0 ? "" : ",") + R"({"name":"j)" + std::to_string(i) +
            R"(","pool_id":")" + pool_.name() + R"(","data":0})";
  }
  const std::string id = create(jobs);
  EXPECT_EQ(run({"show", id, "--limit", "10"}), 0) << err_;
  EXPECT_TRUE(shows("○ j9 ") && !shows("○ j10 ")) << out_;
  EXPECT_TRUE(err_.starts_with("and 50 more jobs; --limit shows more")) << err_;
  EXPECT_EQ(run({"show", id, "--limit", "60"}), 0);
  EXPECT_EQ(err_, "");
}

TEST_F(FlowCommand, faults_are_told_with_their_place) {
  writeFile(folder_ / "broken.json", "{\n\"jobs\": [,]}");
  EXPECT_EQ(run({"create", "-f", "broken.json"}), 2);
  EXPECT_TRUE(err_.starts_with("broken.json: not JSON: ")) << err_;
  EXPECT_EQ(run({"create", "-f", "absent.json"}), 2);
  EXPECT_EQ(err_, "absent.json: cannot be read\n");
  writeFlow(R"({"name":"a","pool_id":"POOL","data":1,"after":["b"]})");
  EXPECT_EQ(run({"create", "-f", "flow.json"}), 1);
  EXPECT_NE(err_.find("/jobs/0/after/0"), std::string::npos) << err_;
  EXPECT_EQ(run({"add", "x", "--pool", "p", "--flow", "f", "--data", "text"}), 2);
  EXPECT_TRUE(err_.starts_with("--data: not JSON: ")) << err_;
}

}  // namespace
}  // namespace muster::test
