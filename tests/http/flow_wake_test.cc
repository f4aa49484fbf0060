// How the rest of the service sees jobs that wait for other jobs.
#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

class FlowWake : public ServiceFixture {
 protected:
  // first (in the pool of the test) → second (in `later_`).
  Json::Value create() {
    const Reply created = http_.post(
        "/v1/flows", R"({"jobs":[{"name":"first","pool_id":")" + pool_.name() +
                         R"(","data":1},{"name":"second","after":["first"],"pool_id":")" +
                         later_.name() + R"(","data":2}]})");
    EXPECT_EQ(created.status, 201) << created;
    return created.json;
  }
  void endFirst(const std::string& verb = "complete") {
    const Json::Value claimed = pool_.claimOne();
    EXPECT_EQ(claimed["name"], "first");
    EXPECT_EQ(pool_.report(verb, claimed, verb == "fail" ? R"("retryable":false)" : "").status,
              200);
  }
  std::string metric(const std::string& line) {
    const std::string text = "\n" + http_.get("/metrics").body;
    const auto at = text.find("\n" + line + " ");
    if (at == std::string::npos) return "";
    const auto value = at + line.size() + 2;
    return text.substr(value, text.find('\n', value) - value);
  }

  PoolClient later_{service().url(), testName() + "_later"};
};

TEST_F(FlowWake, a_waiting_claim_gets_the_job_that_is_unblocked) {
  later_.configure("");
  PendingReply claim(service().url(),
                     {"POST", later_.path("/claim"), R"({"worker_id":"w1","wait_seconds":30})"});
  EXPECT_FALSE(claim.finished(100ms));
  create();
  EXPECT_FALSE(claim.finished(100ms)) << "it is blocked";
  endFirst();
  ASSERT_TRUE(claim.finished(kPatience));
  const Reply& answer = claim.reply();
  ASSERT_EQ(answer.status, 200) << answer;
  EXPECT_EQ(answer.json["items"][0]["name"], "second");
}

TEST_F(FlowWake, a_blocked_job_is_no_work) {
  create();
  const Json::Value stats = later_.stats();
  EXPECT_EQ(stats["blocked"], 1);
  for (const char* name : {"queue_depth", "runnable", "unplaceable"}) {
    EXPECT_EQ(stats[name], 0) << name;
  }
  EXPECT_EQ(stats["oldest_pending_seconds"].asDouble(), 0);
  EXPECT_TRUE(later_.claim("w1").empty());
  EXPECT_EQ(metric("muster_pool_jobs{pool=\"" + later_.name() + "\",status=\"blocked\"}"), "1");
  EXPECT_EQ(metric("muster_pool_jobs{pool=\"" + later_.name() + "\",status=\"pending\"}"), "0");
}

TEST_F(FlowWake, a_simulation_has_only_jobs_that_could_run) {
  create();
  const auto simulated = [this](const char* field) {
    return http_.post(later_.path("/simulate")).json[field].asInt();
  };
  EXPECT_EQ(simulated("jobs"), 0);
  EXPECT_EQ(simulated("left_out"), 0);
  endFirst();
  EXPECT_EQ(simulated("jobs"), 1);
}

TEST_F(FlowWake, a_job_arrives_when_it_is_unblocked) {
  const auto arrived = [this] {
    std::int64_t sum = 0;
    const Reply timeline = http_.get(later_.path("/timeline"));
    for (const Json::Value& item : timeline.json["items"]) {
      sum += item["added"].asInt64();
    }
    return sum;
  };
  create();
  EXPECT_EQ(arrived(), 0);
  endFirst();
  EXPECT_TRUE(eventually(kPatience, [&] { return arrived() == 1; }));
  const std::string unblocked = "muster_jobs_unblocked_total{pool=\"" + later_.name() + "\"}";
  EXPECT_TRUE(eventually(kPatience, [&] { return metric(unblocked) == "1"; }));
}

TEST_F(FlowWake, a_request_that_waits_for_a_blocked_job_hears_of_its_end) {
  const Json::Value created = create();
  const std::string second = created["jobs"][1]["job_id"].asString();
  PendingReply job(service().url(), {"GET", "/v1/jobs/" + second + "?wait_seconds=30"});
  EXPECT_FALSE(job.finished(100ms));
  endFirst("fail");
  ASSERT_TRUE(job.finished(kPatience));
  const Reply& answer = job.reply();
  ASSERT_EQ(answer.status, 200) << answer;
  EXPECT_EQ(answer.json["status"], "cancelled");
  EXPECT_EQ(answer.json["reason"], "upstream_failed");
}

TEST_F(FlowWake, ends_of_flows_are_counted) {
  const auto number = [this](const std::string& line) { return std::stoll("0" + metric(line)); };
  const std::string failed = R"(muster_flows_ended_total{outcome="failed"})";
  const auto before = number(failed), seen = number("muster_flow_seconds_count");
  create();
  EXPECT_GE(number(R"(muster_flows{status="running"})"), 1);
  endFirst("fail");
  EXPECT_TRUE(eventually(kPatience, [&] { return number(failed) > before; }));
  EXPECT_TRUE(eventually(kPatience, [&] { return number("muster_flow_seconds_count") > seen; }));
  EXPECT_TRUE(eventually(kPatience, [&] { return metric("muster_flow_unsettled") == "0"; }));
}

}  // namespace
}  // namespace muster::test
