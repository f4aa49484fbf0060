#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// An answer has at most ten bytes of payload here, and there are at most three pools.
class LimitsTest : public StoreTest {
 protected:
  LimitsTest() {
    rules.max_answer_bytes = 10;
    rules.max_pools = 3;
    reopen();
    setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 100; }));
  }
  // Jobs of so many bytes each.
  void pushSizes(const std::vector<int>& sizes, const std::string& tenant = "") {
    for (const int size : sizes) push({.data = number(size), .tenant = tenant});
  }
  static std::string number(int digits) {
    return std::string(static_cast<std::size_t>(digits), '1');
  }
  std::vector<int> claimSizes(int max) {
    std::vector<int> sizes;
    for (const Job& job : claim(max)) sizes.push_back(static_cast<int>(job.data.size()));
    return sizes;
  }
  using Sizes = std::vector<int>;
};
MUSTER_ON_EVERY_BACKEND(LimitsTest);

TEST_P(LimitsTest, a_claim_takes_what_fits_and_at_least_one) {
  pushSizes({4, 4, 4, 11, 12, 1, 9, 1, 1});
  EXPECT_EQ(claimSizes(100), (Sizes{4, 4}));
  EXPECT_EQ(claimSizes(100), (Sizes{4})) << "the next one does not fit beside it";
  EXPECT_EQ(claimSizes(100), (Sizes{11})) << "alone it is too large, and is given out";
  EXPECT_EQ(claimSizes(100), (Sizes{12}));
  EXPECT_EQ(claimSizes(2), (Sizes{1, 9}));
  EXPECT_EQ(claimSizes(1), (Sizes{1}));
  EXPECT_EQ(claimSizes(100), (Sizes{1}));
  EXPECT_EQ(claimSizes(100), (Sizes{}));
}

TEST_P(LimitsTest, a_claim_in_turns_takes_what_fits_and_at_least_one) {
  pushSizes({11, 3, 3}, "a");
  pushSizes({3, 20, 2}, "b");
  pushSizes({3, 3, 3}, "");
  EXPECT_EQ(claimSizes(100), (Sizes{11})) << "a";
  EXPECT_EQ(claimSizes(100), (Sizes{3, 3, 3})) << "b, none, a";
  EXPECT_EQ(claimSizes(100), (Sizes{20})) << "b";
  EXPECT_EQ(claimSizes(100), (Sizes{3, 3, 2})) << "none, a, b";
  EXPECT_EQ(claimSizes(100), (Sizes{3})) << "none";
  EXPECT_EQ(claimSizes(100), (Sizes{}));
}

TEST_P(LimitsTest, every_job_is_claimed_once_whatever_fits) {
  std::vector<int> sizes;
  for (int i = 0; i < 60; ++i) sizes.push_back(1 + i * 7 % 13);
  pushSizes(sizes, "a");
  pushSizes(sizes, "b");
  pushSizes(sizes, "");
  std::size_t claimed = 0;
  for (std::vector<int> some; !(some = claimSizes(7)).empty(); claimed += some.size()) {
    int bytes = 0;
    for (const int size : some) bytes += size;
    EXPECT_TRUE(bytes <= 10 || some.size() == 1U) << bytes;
  }
  EXPECT_EQ(claimed, 180U);
}

TEST_P(LimitsTest, there_are_no_more_pools_than_there_may_be) {
  const auto create = [this](const std::string& name) {
    return write([&](Store& s) { return s.pools().findOrCreate(PoolId(name)); });
  };
  const auto put = [this](const std::string& name) {
    return write([&](Store& s) { return s.pools().put(PoolId(name), {}); });
  };
  EXPECT_TRUE(create("q"));
  EXPECT_TRUE(put("r"));
  EXPECT_EQ(codeOf(create("s")), ErrorCode::kTooMany);
  EXPECT_EQ(codeOf(put("s")), ErrorCode::kTooMany);
  EXPECT_TRUE(create("q")) << "it is there";
  EXPECT_TRUE(put("r")) << "it is there";
  EXPECT_TRUE(write([](Store& s) { return s.pools().remove(PoolId("q")); }));
  EXPECT_TRUE(create("s")) << "there is room again";
}

TEST_P(LimitsTest, merged_metadata_has_64_kib_in_all) {
  registerWorker(newWorker("w"));
  const Job held = pushAndClaim({.data = "1"}, "w");
  const auto object = [](const std::string& name, std::size_t bytes) {
    return "{\"" + name + "\":\"" + std::string(bytes, 'x') + "\"}";
  };
  const auto beat = [this](const std::string& metadata) {
    WorkerChange change;
    change.metadata = metadata;
    return write([&](Store& s) { return s.workers().heartbeat(WorkerId("w"), change); });
  };
  const auto patch = [this](const std::string& metadata) {
    WorkerChange change;
    change.metadata = metadata;
    return write([&](Store& s) { return s.workers().change(WorkerId("w"), change); });
  };
  const auto worker = [this] {
    return *read([](Store& s) { return s.workers().find(WorkerId("w")); });
  };
  ASSERT_TRUE(beat(object("a", 40'000)));
  const Worker before = worker();
  const auto lease = job(held.id).lease_expires_at;
  clock.advance(1s);
  EXPECT_EQ(codeOf(beat(object("b", 40'000))), ErrorCode::kInvalid);
  EXPECT_EQ(codeOf(patch(object("b", 40'000))), ErrorCode::kInvalid);
  EXPECT_EQ(worker().metadata, before.metadata);
  EXPECT_EQ(worker().version, before.version);
  EXPECT_EQ(worker().last_heartbeat, before.last_heartbeat);
  EXPECT_EQ(job(held.id).lease_expires_at, lease) << "a refused heartbeat renews nothing";
  EXPECT_TRUE(beat(object("b", 20'000)));
  EXPECT_TRUE(patch(object("a", 10'000))) << "in the place of what was there";
  EXPECT_TRUE(beat(R"({"a":null,"b":null})"));
  EXPECT_EQ(worker().metadata, "{}");
}

TEST_P(LimitsTest, data_of_jobs_that_were_pushed_before_is_counted) {
  push({.data = number(30), .unique_key = "old"});
  const auto twins = [this](const std::vector<NewJob>& jobs) {
    return write([&](Store& s) { return s.jobs().twinBytes(PoolId("p"), jobs); });
  };
  EXPECT_EQ(twins({{.data = number(5)}, {.data = number(5)}}), 0U);
  EXPECT_EQ(twins({{.data = "1", .unique_key = "new"}}), 0U);
  EXPECT_EQ(twins({{.data = "1", .unique_key = "old"}}), 30U);
  EXPECT_EQ(twins({{.data = "1", .unique_key = "old"}, {.data = "1", .unique_key = "old"}}), 60U);
  EXPECT_EQ(twins({{.data = number(7), .unique_key = "new"}, {.data = "1", .unique_key = "new"}}),
            7U)
      << "the second is the first";
  complete(claim(1).at(0)).value();
  EXPECT_EQ(twins({{.data = "1", .unique_key = "old"}}), 0U) << "it does not live any more";
}

TEST_P(LimitsTest, of_many_attempts_the_last_are_shown) {
  const Job pushed = push({.data = "1", .max_retries = 1000});
  for (int i = 0; i < 205; ++i) release(claim().at(0)).value();
  EXPECT_EQ(attempts(pushed.id).size(), 200U);
  FailureReport long_report = failure("last");
  long_report.retry_after = 0s;
  long_report.output_tail = "tail";
  fail(claim().at(0), long_report).value();
  const auto shown = attempts(pushed.id);
  EXPECT_EQ(shown.size(), 200U);
  EXPECT_EQ(shown.back().error, "last");
  EXPECT_EQ(shown.front().outcome, "released");
}

TEST_P(LimitsTest, a_job_whose_placement_cannot_be_read_is_run_by_nobody) {
  // As an older release may have stored it.
  Placement placement;
  placement.capabilities = {std::string(300, 'c')};
  push({.data = "1", .placement = placement});
  registerWorker(newWorker("w", "n", {"gpu", std::string(300, 'c')}));
  registerWorker(newWorker("plain"));
  for (const std::string worker : {"w", "plain", "stranger"}) {
    EXPECT_TRUE(claim(10, worker).empty()) << worker;
  }
  EXPECT_EQ(codeOf(claimOne(allJobs().at(0).id, "w")), ErrorCode::kNotClaimable);
  EXPECT_EQ(stats().unplaceable, 1);
  EXPECT_EQ(stats().runnable, 0);
}

}  // namespace
}  // namespace muster::test
