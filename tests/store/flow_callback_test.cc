// What flows push when they end, and what claims say of flows.
#include <fmt/format.h>

#include "tests/store/flow_fixture.h"

namespace muster::test {
namespace {

class FlowCallbackTest : public FlowTest {
 protected:
  static CreateFlow withCallbacks() {
    CreateFlow flow;
    flow.name = "nightly";
    flow.callbacks = R"([{"when":"succeeded","job":{"pool_id":"cb","data":"s"}},)"
                     R"({"when":"failed","job":{"pool_id":"cb","data":"f"}},)"
                     R"({"when":"ended","job":{"pool_id":"cb","data":"e"}}])";
    flow.callback_pools = {PoolId("cb"), PoolId("cb"), PoolId("cb")};
    return flow;
  }
  // What was pushed to `cb` since the last look, oldest first: "ended of succeeded in 1".
  Names fired() {
    Names all;
    for (const Job& job : claim(100, "caller", "cb")) {
      if (!job.flow) {
        all.push_back("without flow");
        continue;
      }
      const JobFlow& told = *job.flow;
      EXPECT_EQ(told.id, flow_);
      EXPECT_EQ(told.flow_name, "nightly");
      EXPECT_EQ(job.data, '"' + told.callback.substr(0, 1) + '"');
      all.push_back(fmt::format("{} of {} in {}", told.callback, told.flow_status, told.round));
    }
    return all;
  }
};
MUSTER_ON_EVERY_BACKEND(FlowCallbackTest);

TEST_P(FlowCallbackTest, a_flow_that_succeeds_fires_what_asks_for_it) {
  start("a; b?", withCallbacks());
  poison("b");
  settle();
  EXPECT_TRUE(fired().empty()) << "not before the end";
  done("a");
  settle();
  EXPECT_EQ(fired(), (Names{"succeeded of succeeded in 1", "ended of succeeded in 1"}));
  settle();
  EXPECT_TRUE(fired().empty());
}

TEST_P(FlowCallbackTest, a_flow_that_fails_fires_what_asks_for_it) {
  start("a", withCallbacks());
  poison("a");
  settle();
  EXPECT_EQ(fired(), (Names{"failed of failed in 1", "ended of failed in 1"}));
}

TEST_P(FlowCallbackTest, a_cancelled_flow_fires_only_what_follows_every_end) {
  start("a", withCallbacks());
  cancelFlow().value();
  settle();
  EXPECT_EQ(fired(), Names{"ended of cancelled in 1"});
  start("b", withCallbacks());
  cancel("b");
  settle();
  EXPECT_EQ(fired(), Names{"ended of cancelled in 1"}) << "also when its jobs were cancelled";
}

TEST_P(FlowCallbackTest, a_deadline_and_a_failure_without_retries_fire) {
  CreateFlow flow = withCallbacks();
  flow.deadline = 1min;
  start("a", flow);
  clock.advance(1min);
  endOverdue();
  settle();
  EXPECT_EQ(fired(), (Names{"failed of failed in 1", "ended of failed in 1"}));
  flow = withCallbacks();
  flow.fail_fast = true;
  start("a; b", flow);
  poison("a");
  settle();
  EXPECT_EQ(fired(), (Names{"failed of failed in 1", "ended of failed in 1"}));
}

TEST_P(FlowCallbackTest, callbacks_fire_once_in_each_round) {
  start("a", withCallbacks());
  poison("a");
  settle();
  EXPECT_EQ(fired().size(), 2U);
  retryFlow().value();
  settle();
  EXPECT_TRUE(fired().empty());
  done("a");
  settle();
  EXPECT_EQ(fired(), (Names{"succeeded of succeeded in 2", "ended of succeeded in 2"}));
}

TEST_P(FlowCallbackTest, a_callback_is_no_job_of_the_flow) {
  start("a", withCallbacks());
  done("a");
  settle();
  EXPECT_EQ(flow().counts.total, 1);
  const auto jobs = allJobs("cb");
  ASSERT_EQ(jobs.size(), 2U);
  for (const Job& job : jobs) write([&](Store& s) { return s.jobs().remove(job.id); });
  EXPECT_TRUE(allJobs("cb").empty()) << "it can be removed like any other";
  EXPECT_TRUE(removeFlow());
  settle();
  start("b", withCallbacks());
  done("b");
  settle();
  EXPECT_EQ(fired(), (Names{"succeeded of succeeded in 1", "ended of succeeded in 1"}))
      << "also under a number that was used before";
}

TEST_P(FlowCallbackTest, a_callback_comes_with_the_end_and_not_before_or_after_it) {
  start("a", withCallbacks());
  done("a");
  settle();
  std::int64_t ended = 0;
  for (const Event& event : eventsAfter(0)) {
    if (event.type == "flow.succeeded") ended = event.seq;
  }
  Names beside;
  for (const Event& event : eventsAfter(ended - 5)) {
    if (event.pool == "cb" && event.type == "job.created") beside.push_back(event.job);
  }
  EXPECT_EQ(beside.size(), 2U);
}

TEST_P(FlowCallbackTest, a_callback_into_a_pool_that_is_gone_makes_it_again_or_is_left_out) {
  start("a", withCallbacks());
  removePool("cb");
  done("a");
  settle();
  EXPECT_EQ(flowState(), "succeeded") << "whatever comes of the callback";
}

TEST_P(FlowCallbackTest, a_claim_carries_its_flow_and_what_its_upstream_jobs_left) {
  CreateFlow flow;
  flow.name = "nightly";
  start("a; b; c after a any b; d", flow);
  EXPECT_EQ(take("d").flow->upstream, "") << "it has no edges";
  EXPECT_EQ(held("d").flow->id, flow_);
  EXPECT_EQ(held("d").flow->flow_name, "nightly");
  EXPECT_EQ(held("d").flow->round, 1);
  addChildren("a", "x").value();
  done("a/x", R"({"part":1})");
  done("a", "[1, 2]");
  poison("b", "no luck");
  settle();
  const std::string upstream = take("c").flow->upstream;
  EXPECT_EQ(upstream,
            fmt::format(R"({{"items":[)"
                        R"({{"name":"a","job_id":"{}","verdict":"succeeded","status":"done",)"
                        R"("result":[1, 2]}},)"
                        R"({{"name":"x","job_id":"{}","parent":"a","verdict":"succeeded",)"
                        R"("status":"done","result":{{"part":1}}}},)"
                        R"({{"name":"b","job_id":"{}","verdict":"failed","status":"poisoned",)"
                        R"("error":"no luck"}}],"count":3,"truncated":false}})",
                        id("a").str(), id("a/x").str(), id("b").str()));
}

TEST_P(FlowCallbackTest, claims_of_many_carry_each_what_is_theirs) {
  start("a; b; c after a; d after b; e after a b");
  done("a", "1"), done("b", "2");
  const auto jobs = claim(10);
  ASSERT_EQ(jobs.size(), 3U);
  for (const Job& job : jobs) {
    ASSERT_TRUE(job.flow) << nameOf(job.id);
    const std::string& told = job.flow->upstream;
    EXPECT_EQ(told.find(R"("result":1)") != std::string::npos, nameOf(job.id) != "d") << told;
    EXPECT_EQ(told.find(R"("result":2)") != std::string::npos, nameOf(job.id) != "c") << told;
  }
}

TEST_P(FlowCallbackTest, only_so_much_of_what_came_before_is_in_a_claim) {
  rules.upstream_inline_limit_bytes = 1000;
  reopen();
  start("a; b; c; d after a b c");
  const std::string large = '"' + std::string(600, 'x') + '"';
  done("a", large), done("b", large), done("c", "1");
  const std::string upstream = take("d").flow->upstream;
  EXPECT_LE(upstream.size(), 1100U);
  EXPECT_NE(upstream.find(R"("truncated":true)"), std::string::npos) << upstream;
  EXPECT_NE(upstream.find(R"("name":"a")"), std::string::npos);
  EXPECT_EQ(upstream.find(R"("name":"b")"), std::string::npos);
  EXPECT_EQ(upstream.find(R"("name":"c")"), std::string::npos) << "the first that fit";
  EXPECT_NE(upstream.find(R"("count":)"), std::string::npos);
}

TEST_P(FlowCallbackTest, at_most_a_hundred_upstream_jobs_are_in_a_claim) {
  std::string jobs, all;
  for (int i = 0; i < 101; ++i) {
    jobs += "u" + std::to_string(i) + "; ";
    all += " u" + std::to_string(i);
  }
  start(jobs + "x after" + all);
  for (const Job& job : claim(200)) complete(job, "1").value();
  settle();
  const std::string upstream = take("x").flow->upstream;
  std::size_t items = 0;
  for (auto at = upstream.find("\"job_id\""); at != std::string::npos;
       at = upstream.find("\"job_id\"", at + 1)) {
    ++items;
  }
  EXPECT_EQ(items, 100U);
  EXPECT_NE(upstream.find(R"("truncated":true)"), std::string::npos);
}

}  // namespace
}  // namespace muster::test
