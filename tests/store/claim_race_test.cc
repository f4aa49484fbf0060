#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/store/store_fixture.h"
#include "tests/support/eventually.h"

namespace muster::test {
namespace {

class ClaimRaceTest : public StoreTest {
 protected:
  static constexpr int kThreads = 8;
  void together(const std::function<void(int)>& work) {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&work, t] { work(t); });
    }
  }
};
MUSTER_ON_EVERY_BACKEND(ClaimRaceTest);

TEST_P(ClaimRaceTest, everyJobIsClaimedExactlyOnce) {
  constexpr int kJobsEach = 500;
  together([this](int) {
    for (int i = 0; i < kJobsEach; i += 50) {
      write([](Store& s) {
        const auto pool = s.pools().findOrCreate(PoolId("p")).value();
        for (int j = 0; j < 50; ++j) s.jobs().push(*pool, {.data = "1"});
      });
    }
  });
  std::mutex mutex;
  std::multiset<std::string> claimed;
  together([&](int t) {
    const std::string worker = "w" + std::to_string(t);
    for (int max = 1;; max = max % 5 + 1) {
      const auto jobs = claim(max, worker);
      if (jobs.empty()) return;
      for (const Job& each : jobs) {
        EXPECT_EQ(each.claimed_by, worker);
        if (each.lease_token.back() < '8') {
          EXPECT_TRUE(complete(each));
        }
      }
      const std::lock_guard lock(mutex);
      for (const Job& each : jobs) claimed.insert(each.id.str());
    }
  });
  EXPECT_EQ(claimed.size(), static_cast<std::size_t>(kThreads * kJobsEach));
  EXPECT_EQ(std::set(claimed.begin(), claimed.end()).size(), claimed.size());
  EXPECT_EQ(
      eventTypesAfter(0, with<EventFilter>([](auto& f) { f.types = {"job.claimed"}; })).size(),
      claimed.size());
}

TEST_P(ClaimRaceTest, aTenantNeverHoldsMoreThanItsLimit) {
  for (int i = 0; i < 200; ++i) push({.data = "1", .tenant = "acme"});
  std::atomic<int> held = 0, most = 0, finished = 0;
  const auto deadline = std::chrono::steady_clock::now() + 2 * kPatience;
  together([&](int t) {
    while (finished < 200 && std::chrono::steady_clock::now() < deadline) {
      const auto jobs = claim(2, "w" + std::to_string(t));
      const int now = held += static_cast<int>(jobs.size());
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      for (const Job& each : jobs) {
        --held;  // before the place is free, so that the sum is never too high
        EXPECT_TRUE(complete(each));
        ++finished;
      }
    }
  });
  EXPECT_EQ(stats().done, 200);
  EXPECT_LE(most.load(), 3);
  EXPECT_GT(most.load(), 0);
}

// Claims end in every way while others are made; the events, in their order, are the witness.
TEST_P(ClaimRaceTest, aTenantKeepsItsLimitHoweverItsJobsEnd) {
  constexpr int kTenants = 5, kJobsEach = 40, kLimit = 2;
  setPool(with<PoolSettings>([&](auto& s) {
    s.per_tenant_concurrency = kLimit;
    s.retry_base_ms = 0;
    s.lease_seconds = 1;
  }));
  std::map<std::string, std::string> tenant_of;
  for (int i = 0; i < kTenants * kJobsEach; ++i) {
    const std::string tenant = "t" + std::to_string(i % kTenants);
    NewJob job{.data = "1", .max_retries = 1000, .tenant = tenant};
    if (i % 3 == 0) job.placement.forbidden_nodes = {"nowhere"};  // several lanes each
    tenant_of[push(job).id.str()] = tenant;
  }
  const auto deadline = std::chrono::steady_clock::now() + 2 * kPatience;
  std::atomic<int> finished = 0;
  together([&](int t) {
    std::mt19937 dice(static_cast<unsigned>(t));
    while (finished < kTenants * kJobsEach && std::chrono::steady_clock::now() < deadline) {
      for (const Job& each : claim(1 + static_cast<int>(dice() % 3), "w" + std::to_string(t))) {
        switch (dice() % 6) {
          case 0:
            static_cast<void>(fail(each));
            break;
          case 1:
            static_cast<void>(release(each));
            break;
          case 2:  // it is left to run out
            clock.advance(Millis(1100));
            write([](Store& s) { return s.jobs().expireLeases(1); });
            break;
          default:
            if (complete(each)) ++finished;
        }
      }
      if (t == 0) {
        clock.advance(Millis(1100));
        write([](Store& s) { return s.jobs().expireLeases(100); });
      }
    }
  });
  EXPECT_EQ(stats().done, kTenants * kJobsEach);
  std::map<std::string, int> held;
  int most = 0;
  for (const Event& event : eventsAfter(0)) {
    const auto tenant = tenant_of.find(event.job);
    if (tenant == tenant_of.end() || event.type == event_type::kJobCreated ||
        event.type == event_type::kJobLateResultDropped) {
      continue;
    }
    const bool claimed = event.type == event_type::kJobClaimed;
    most = std::max(most, held[tenant->second] += claimed ? 1 : -1);
  }
  EXPECT_EQ(most, kLimit);
  for (const auto& [tenant, count] : held) EXPECT_EQ(count, 0) << tenant;
}

TEST_P(ClaimRaceTest, ofManyReportsOnOneLeaseOneWins) {
  for (int round = 0; round < 20; ++round) {
    const Job claimed = pushAndClaim();
    std::atomic<int> won = 0;
    together([&](int t) {
      if (complete(claimed, std::to_string(t))) ++won;
    });
    EXPECT_EQ(won.load(), 1);
  }
}

TEST_P(ClaimRaceTest, theSameReportFromManyAtOnceGetsTheSameAnswer) {
  for (int round = 0; round < 20; ++round) {
    const Job claimed = pushAndClaim();
    together([&](int) {
      const auto done = complete(claimed, "7");
      ASSERT_TRUE(done) << done.error().detail;
      EXPECT_EQ(done->result, "7");
    });
  }
  EXPECT_EQ(
      eventTypesAfter(0, with<EventFilter>([](auto& f) { f.types = {"job.completed"}; })).size(),
      20U);
}

TEST_P(ClaimRaceTest, betweenExpiryAndCompletionExactlyOneWins) {
  for (int round = 0; round < 20; ++round) {
    const Job claimed = pushAndClaim({.data = "1", .max_retries = 9});
    clock.advance(61s);
    std::atomic<int> completed = 0, expired = 0;
    together([&](int t) {
      if (t % 2 == 0) {
        if (complete(claimed, std::to_string(t))) ++completed;
      } else {
        expired += static_cast<int>(write([](Store& s) { return s.jobs().expireLeases(10); }));
      }
    });
    EXPECT_EQ(completed + expired, 1);
    EXPECT_EQ(job(claimed.id).status, completed == 1 ? JobStatus::kDone : JobStatus::kPending);
    if (expired == 1) write([&](Store& s) { return s.jobs().cancel(claimed.id, ""); }).value();
  }
}

}  // namespace
}  // namespace muster::test
