// A simulation with the policy that was in force tells what happened; with another, what would
// have.
#include <algorithm>
#include <sstream>

#include "tests/launch/command_fixture.h"

namespace muster::test {
namespace {

class Simulate : public CommandFixture {
 protected:
  Simulate()
      : CommandFixture(
            "worker_idle_timeout_seconds: 1\n"
            "pools:\n"
            "  p: {template: echo, scaling: {max_workers: 3}}\n") {}

  Json::Value simulate(const std::string& body = "") {
    const Reply reply = http().post(pool().path("/simulate"), body);
    EXPECT_EQ(reply.status, 200) << reply;
    return reply.json;
  }
  // All at once, so that the first check sees them all.
  void pushSlow(int jobs, const std::string& seconds) {
    std::string items;
    for (int i = 0; i < jobs; ++i) {
      items += (i == 0 ? "" : ",") + (R"({"data":{"delay_seconds":)" + seconds + "}}");
    }
    const Reply reply = http().post(pool().path("/jobs/batch"), R"({"items":[)" + items + "]}");
    ASSERT_EQ(reply.status, 201) << reply;
  }
};

TEST_F(Simulate, with_its_own_policy_it_is_what_happened) {
  pushSlow(10, "0.3");
  ASSERT_TRUE(allDone(10));
  ASSERT_TRUE(nobodyLeft());
  const Json::Value answer = simulate();
  const Json::Value &real = answer["recorded"], &replay = answer["simulated"];
  EXPECT_EQ(answer["jobs"], 10);
  EXPECT_EQ(answer["tries"], 10);
  EXPECT_EQ(real["launches"], 10);
  EXPECT_EQ(real["peak_workers"], 3);
  EXPECT_EQ(real["wasted_starts"], 0);
  EXPECT_GE(real["worker_seconds"].asDouble(), 10 * 0.3);
  EXPECT_EQ(replay["launches"], real["launches"]);
  EXPECT_EQ(replay["peak_workers"], real["peak_workers"]);
  EXPECT_EQ(replay["wasted_starts"], 0);
  EXPECT_EQ(replay["unfinished_jobs"], 0);
  EXPECT_GE(replay["worker_seconds"].asDouble(), 10 * 0.3);
  EXPECT_LE(replay["worker_seconds"].asDouble(), real["worker_seconds"].asDouble());
  EXPECT_GE(replay["max_wait_ms"].asInt(), 600) << "the tenth comes in the fourth round";
  EXPECT_EQ(answer["note"].asString().find("no boot time"), std::string::npos) << answer;
}

TEST_F(Simulate, loop_workers_are_replayed_as_they_were) {
  pool().configure(R"("template":"echo","worker_mode":"loop","scaling":{"max_workers":2})");
  pushSlow(8, "0.1");
  ASSERT_TRUE(allDone(8));
  ASSERT_TRUE(nobodyLeft());
  const Json::Value answer = simulate();
  EXPECT_EQ(answer["recorded"]["launches"], 2);
  EXPECT_EQ(answer["simulated"]["launches"], 2);
  EXPECT_EQ(answer["recorded"]["peak_workers"], 2);
  EXPECT_EQ(answer["simulated"]["peak_workers"], 2);
}

TEST_F(Simulate, a_failed_try_is_a_run_of_its_own) {
  pool().configure(
      R"("template":"echo","scaling":{"max_workers":3},"retry":{"max_retries":2,"base_ms":1})");
  pool().push(R"("data":{"fail":"no"})");
  ASSERT_TRUE(becomes([&] { return pool().stats()["poisoned"] == 1; }));
  ASSERT_TRUE(nobodyLeft());
  const Json::Value answer = simulate();
  EXPECT_EQ(answer["jobs"], 1);
  EXPECT_EQ(answer["tries"], 2);
  EXPECT_EQ(answer["simulated"]["launches"], answer["recorded"]["launches"]);
}

TEST_F(Simulate, the_command_shows_policies_side_by_side) {
  pushSlow(6, "0.1");
  ASSERT_TRUE(allDone(6));
  ASSERT_TRUE(nobodyLeft());
  const CommandEnd end = muster({"simulate", "p", "max_workers=1", "--compare", "max_workers=2",
                                 "--compare", "worker_mode=loop max_workers=6"});
  EXPECT_EQ(end.exit_code, 0) << end;
  EXPECT_TRUE(end.says("6 jobs, 6 tries from ")) << end;
  for (const char* title : {"RECORDED", "max_workers=1", "worker_mode=loop max_workers=6"}) {
    EXPECT_TRUE(end.says(title)) << end;
  }
  const auto shown = lines(end.out);
  const auto peaks = std::find_if(shown.begin(), shown.end(), [](const std::string& line) {
    return line.starts_with("peak workers");
  });
  ASSERT_NE(peaks, shown.end()) << end;
  std::istringstream words(peaks->substr(std::string("peak workers").size()));
  int recorded = 0, one = 0, two = 0, six = 0;
  words >> recorded >> one >> two >> six;
  EXPECT_EQ(recorded, 3);
  EXPECT_EQ(one, 1);
  EXPECT_EQ(two, 2);
  EXPECT_EQ(six, 6);
}

TEST_F(Simulate, the_command_says_what_is_wrong) {
  EXPECT_EQ(muster({"simulate", "p", "max_wrokers=1"}).exit_code, 2);
  EXPECT_EQ(muster({"simulate", "p", "max_workers="}).exit_code, 2);
  EXPECT_EQ(muster({"simulate", "p", "lease_seconds=5"}).exit_code, 1) << "not to be simulated";
  EXPECT_EQ(muster({"simulate", "nowhere"}).exit_code, 1);
  const CommandEnd json = muster({"simulate", "p", "-o", "json"});
  EXPECT_EQ(json.exit_code, 0) << json;
  EXPECT_TRUE(json.says(R"({"items":[{"pool_id":"p")")) << json;
}

}  // namespace
}  // namespace muster::test
