#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>

#include "app/scaling/checker.h"
#include "app/upkeep/duties.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr auto kDutyPatience = 60s;

// A checker on a store that other nodes could share, with a pool that has work for two.
class LeaderDutyTest : public testing::Test {
 protected:
  LeaderDutyTest() {
    StorageOptions options;
    options.url = "memory:";
    options.rules.templates = {{"t", {"v1"}}};
    storage = openStorage(options, clock).value();
    Checker::Options rules;
    rules.lease = [this] {
      const std::lock_guard lock(mutex);
      return lease;
    };
    rules.on_check = [this](const Decision& decision, std::chrono::nanoseconds) {
      const std::lock_guard lock(mutex);
      checks.push_back(decision.pool.str() + " " + decision.trigger);
      checked.notify_all();
    };
    checker = std::make_unique<Checker>(
        *storage, [this](const LaunchOrder&) { ++launched; }, rules, clock, log);
    write([](Store& store) {
      PoolSettings settings;
      settings.template_name = "t";
      store.pools().put(PoolId("p"), settings).value();
      for (int i = 0; i < 2; ++i)
        store.jobs().push(*store.pools().find(PoolId("p")), {.data = "1"});
    });
  }
  ~LeaderDutyTest() override {
    checker->stop();
    storage->stop();
  }

  template <class Work>
  void write(Work work) {
    ASSERT_TRUE(storage->writeAndWait(work));
  }
  LeaderLease acquire(const std::string& node) {
    std::optional<LeaderLease> won;
    write([&](Store& store) { won = store.cluster().acquire(node, 30s); });
    return won.value();
  }
  void setLease(std::optional<LeaderLease> held) {
    const std::lock_guard lock(mutex);
    lease = std::move(held);
  }
  // Until a check of the pool, "p", or by a trigger, "p tick", was committed; time passes.
  bool sawCheck(const std::string& check) {
    const auto deadline = std::chrono::steady_clock::now() + kDutyPatience;
    const auto done = [&] {
      return std::any_of(checks.begin(), checks.end(),
                         [&](const std::string& seen) { return seen.starts_with(check); });
    };
    std::unique_lock lock(mutex);
    while (!checked.wait_for(lock, 10ms, done)) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      clock.advance(50ms);
    }
    return true;
  }
  std::vector<Decision> decisions() {
    std::vector<Decision> found;
    write([&](Store& store) { found = store.decisions().list(PoolId("p"), 0, 10).decisions; });
    return found;
  }

  FakeClock clock;
  Log log{clock, LogLevel::kError};
  std::mutex mutex;
  std::condition_variable checked;
  std::optional<LeaderLease> lease;  // guarded by mutex
  std::vector<std::string> checks;   // guarded by mutex
  std::atomic<int> launched = 0;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<Checker> checker;
};

TEST_F(LeaderDutyTest, aCheckForTheLeaderCarriesItsEpoch) {
  setLease(acquire("a"));
  checker->requestAllAsLeader("tick");
  ASSERT_TRUE(sawCheck("p tick"));
  const auto made = decisions();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].leader_epoch, 1);
  EXPECT_EQ(made[0].launched, 2);
}

TEST_F(LeaderDutyTest, aCheckThatWasAskedForIsNobodysDuty) {
  checker->request(PoolId("p"), "work_added");
  ASSERT_TRUE(sawCheck("p work_added"));
  EXPECT_EQ(decisions().at(0).leader_epoch, std::nullopt);
}

TEST_F(LeaderDutyTest, theOnlyNodeHasNoEpoch) {
  setLease(LeaderLease{});
  checker->requestAllAsLeader("tick");
  ASSERT_TRUE(sawCheck("p tick"));
  EXPECT_EQ(decisions().at(0).leader_epoch, std::nullopt);
}

// A leader that stood still believes that it leads; the store knows better.
TEST_F(LeaderDutyTest, whoeverWasReplacedActsOnNothing) {
  setLease(acquire("a"));
  clock.advance(30s);
  acquire("b");
  const auto run = checker->begin(PoolId("p"), "tick", {}, lease);
  write([&](Store& store) {
    const auto decision = run->perform(store);
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().code, ErrorCode::kNotLeader);
  });
  run->finish(false);
  EXPECT_TRUE(decisions().empty());
  EXPECT_EQ(launched, 0);
}

TEST_F(LeaderDutyTest, theDutiesOfTheTickAreTheLeadersToo) {
  const LeaderLease first = acquire("a");
  write([](Store& store) { store.jobs().claim(*store.pools().find(PoolId("p")), "w", {}, 1); });
  clock.advance(10min);
  const LeaderLease second = acquire("b");
  const auto expired = [this](const LeaderLease& leader) {
    DutyReport report;
    write([&](Store& store) { report = runDutiesAs(leader, store, Retention{24h}); });
    return report.leases_expired;
  };
  EXPECT_EQ(expired(first), 0) << "another leads";
  EXPECT_EQ(expired(second), 1);
}

TEST_F(LeaderDutyTest, withoutALeaseNothingIsEvenTried) {
  setLease(std::nullopt);
  checker->requestAllAsLeader("tick");
  write([](Store& store) {
    PoolSettings settings;
    settings.template_name = "t";
    settings.max_workers_per_host = 1;
    store.pools().put(PoolId("limited"), settings).value();
  });
  clock.advance(1s);
  checker->requestAllOfHosts("hosts");
  ASSERT_TRUE(sawCheck("limited"));
  EXPECT_TRUE(decisions().empty()) << "of a pool without a limit per host";
}

}  // namespace
}  // namespace muster
