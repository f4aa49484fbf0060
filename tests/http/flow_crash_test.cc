// A service that ends without warning while a flow is being settled.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

constexpr int kCrashJobs = 5000;
const std::string kFanOut = "fan-out";

class FlowCrash : public testing::Test {
 protected:
  // `first`, and thousands that wait for it.
  void createFlow() {
    PoolClient client(service_.url(), kFanOut);
    const Reply made = client.http().post(
        "/v1/flows", R"({"open":true,"jobs":[{"name":"first","pool_id":"fan-out","data":0}]})");
    ASSERT_EQ(made.status, 201) << made;
    flow_ = "/v1/flows/" + made.json["flow"]["flow_id"].asString();
    for (int begin = 0; begin < kCrashJobs; begin += 1000) {
      std::string jobs;
      for (int i = begin; i < begin + 1000; ++i) {
        jobs += fmt::format(R"({}{{"name":"n{}","pool_id":"fan-out","data":{},"after":["first"]}})",
                            i > begin ? "," : "", i, i);
      }
      const Reply added = client.http().post(flow_ + "/jobs", R"({"jobs":[)" + jobs + "]}");
      ASSERT_EQ(added.status, 201) << added.body.substr(0, 500);
    }
    ASSERT_EQ(client.http().post(flow_ + "/close").status, 200);
    ASSERT_EQ(client.stats()["blocked"], kCrashJobs);
  }
  void endFirst() {
    PoolClient client(service_.url(), kFanOut);
    EXPECT_EQ(client.report("complete", client.claimOne("w")).status, 200);
  }
  int blocked() { return PoolClient(service_.url(), kFanOut).stats()["blocked"].asInt(); }
  // Takes all there are, and ends them.
  std::set<std::string> workOnAll() {
    PoolClient client(service_.url(), kFanOut);
    std::set<std::string> seen;
    for (bool more = true; more;) {
      const auto jobs = client.claim("w", R"("max":100)");
      std::string reports;
      for (const Json::Value& job : jobs) {
        EXPECT_TRUE(seen.insert(job["id"].asString()).second) << "it was claimed twice";
        EXPECT_EQ(client.report("complete", job).status, 200);
      }
      more = !jobs.empty();
    }
    return seen;
  }

  Service service_{{.ticker = true}};
  std::string flow_;
};

TEST_F(FlowCrash, a_fan_out_goes_on_where_a_crash_cut_it_off) {
  createFlow();
  endFirst();
  service_.kill9();  // the answer came, and settling has only begun
  for (int crash = 0; crash < 3; ++crash) {
    service_.start();
    const int before = blocked();
    // As soon as one unit more is there, if anything is left to settle.
    EXPECT_TRUE(eventually(kPatience, [&] {
      const int now = blocked();
      return now == 0 || now < before;
    }));
    service_.kill9();
  }
  service_.start();
  EXPECT_TRUE(eventually(kPatience, [&] { return blocked() == 0; })) << service_.log();
  PoolClient client(service_.url(), kFanOut);
  EXPECT_EQ(client.stats()["queue_depth"], kCrashJobs);
  EXPECT_EQ(workOnAll().size(), static_cast<std::size_t>(kCrashJobs));
  EXPECT_TRUE(eventually(kPatience, [&] {
    return client.http().get(flow_).json["flow"]["status"] == "succeeded" ||
           client.http().get(flow_).json["status"] == "succeeded";
  })) << client.http().get(flow_);
  EXPECT_EQ(service_.stop(), 0) << service_.log();
}

TEST_F(FlowCrash, a_cancel_goes_on_where_a_crash_cut_it_off) {
  createFlow();
  ASSERT_EQ(PoolClient(service_.url(), kFanOut).http().post(flow_ + "/cancel").status, 200);
  service_.kill9();
  service_.start();
  PoolClient client(service_.url(), kFanOut);
  EXPECT_TRUE(eventually(kPatience, [&] { return client.stats()["cancelled"] == kCrashJobs + 1; }))
      << service_.log();
  EXPECT_TRUE(client.claim("w").empty());
  EXPECT_EQ(service_.stop(), 0) << service_.log();
}

}  // namespace
}  // namespace muster::test
