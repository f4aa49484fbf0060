#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Tenants of one priority take turns. The data of a job says whose it is and which of its jobs.
class TurnsTest : public StoreTest {
 protected:
  TurnsTest() {
    setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 100; }));
  }
  static NewJob of(const std::string& tenant, int number = 0, int priority = 0) {
    return {.data = '"' + tenant + std::to_string(number) + '"',
            .priority = priority,
            .tenant = tenant};
  }
  void fill(const Names& tenants, int each) {
    for (const std::string& tenant : tenants) {
      for (int i = 0; i < each; ++i) push(of(tenant, i));
    }
  }
  static Names dataOf(const std::vector<Job>& jobs) {
    Names data;
    for (const Job& job : jobs) data.push_back(job.data.substr(1, job.data.size() - 2));
    return data;
  }
  // One by one.
  Names claims(int count, const std::string& worker = "w") {
    Names data;
    for (int i = 0; i < count; ++i) {
      for (std::string& each : dataOf(claim(1, worker))) data.push_back(std::move(each));
    }
    return data;
  }
};
MUSTER_ON_EVERY_BACKEND(TurnsTest);

TEST_P(TurnsTest, goRoundAmongThoseWhoWait) {
  fill({"a", "b", "c"}, 3);
  EXPECT_EQ(claims(10), (Names{"a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"}));
}

TEST_P(TurnsTest, areTakenInOneClaimToo) {
  fill({"a", "b", "c"}, 3);
  EXPECT_EQ(dataOf(claim(4)), (Names{"a0", "b0", "c0", "a1"}));
  EXPECT_EQ(dataOf(claim(100)), (Names{"b1", "c1", "a2", "b2", "c2"}));
}

TEST_P(TurnsTest, goToWhoWasServedLongestAgo) {
  fill({"a", "b"}, 1);
  EXPECT_EQ(claims(2), (Names{"a0", "b0"}));
  fill({"b", "c", "a"}, 2);
  EXPECT_EQ(claims(6), (Names{"c0", "a0", "b0", "c1", "a1", "b1"}));
}

TEST_P(TurnsTest, countLessThanPriority) {
  fill({"a", "b"}, 2);
  for (int i = 0; i < 2; ++i) push(of("a", 8 + i, 1));
  EXPECT_EQ(claims(6), (Names{"a8", "a9", "b0", "a0", "b1", "a1"}));
}

TEST_P(TurnsTest, areTakenByThoseWithoutATenantAsOne) {
  fill({"", "a"}, 2);
  NewJob placed = of("", 2);
  placed.placement.capabilities = {"gpu"};
  push(placed);
  registerWorker(newWorker("w", "", {"gpu"}));
  EXPECT_EQ(claims(5), (Names{"0", "a0", "1", "a1", "2"}));
}

TEST_P(TurnsTest, areNotTakenWhereNobodyIsATenant) {
  Names pushed;
  for (int i = 0; i < 50; ++i) {
    NewJob job = of("", i);
    if (i % 3 == 1) job.placement.capabilities = {"gpu"};
    if (i % 3 == 2) job.placement.capabilities = {"ssd"};
    push(job);
    pushed.push_back(std::to_string(i));
  }
  registerWorker(newWorker("w", "", {"gpu", "ssd"}));
  Names claimed = claims(10);
  for (const int max : {7, 100}) {
    for (std::string& each : dataOf(claim(max))) claimed.push_back(std::move(each));
  }
  EXPECT_EQ(claimed, pushed);
}

TEST_P(TurnsTest, areOnePerTenantHoweverManyLanesItHas) {
  registerWorker(newWorker("w", "", {"gpu", "ssd"}));
  for (int i = 0; i < 4; ++i) {
    NewJob job = of("a", i);
    if (i % 2 == 1) job.placement.capabilities = {i == 1 ? "gpu" : "ssd"};
    push(job);
  }
  fill({"b"}, 3);
  EXPECT_EQ(claims(7), (Names{"a0", "b0", "a1", "b1", "a2", "b2", "a3"}));
}

TEST_P(TurnsTest, passOverATenantAtItsLimitAndComeBackToIt) {
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  fill({"a", "b"}, 3);
  const auto held = claim(5);
  EXPECT_EQ(dataOf(held), (Names{"a0", "b0"}));
  fill({"c"}, 1);
  EXPECT_EQ(claims(2), Names{"c0"});
  complete(held[1]).value();
  EXPECT_EQ(claims(2), Names{"b1"});
  complete(held[0]).value();
  EXPECT_EQ(claims(2), Names{"a1"});
}

TEST_P(TurnsTest, passOverALaneThatTheWorkerMayNotServeAndLeaveItInItsPlace) {
  registerWorker(newWorker("with", "", {"gpu"}));
  NewJob placed = of("a", 0);
  placed.placement.capabilities = {"gpu"};
  push(placed);
  fill({"b"}, 2);
  EXPECT_EQ(claims(1, "without"), Names{"b0"});
  EXPECT_EQ(claims(1, "with"), Names{"a0"});
  EXPECT_EQ(claims(2, "without"), Names{"b1"});
}

TEST_P(TurnsTest, areTakenByAClaimOfOneJobToo) {
  fill({"a", "b"}, 2);
  const Job last = push(of("a", 9));
  EXPECT_EQ(dataOf({claimOne(last.id).value()}), Names{"a9"});
  EXPECT_EQ(claims(4), (Names{"b0", "a0", "b1", "a1"}));
}

TEST_P(TurnsTest, areTakenByAClaimOfOneJobWhenNobodyElseHasClaimed) {
  fill({"a", "b", ""}, 1);
  const Job last = push(of("", 9));
  if (GetParam().keeps_data) reopen();
  claimOne(last.id).value();
  EXPECT_EQ(claims(3), (Names{"a0", "b0", "0"}));
}

TEST_P(TurnsTest, outliveTheService) {
  if (!GetParam().keeps_data) return;
  fill({"a", "b", ""}, 3);
  EXPECT_EQ(claims(4), (Names{"a0", "b0", "0", "a1"}));
  reopen();
  EXPECT_EQ(claims(5), (Names{"b1", "1", "a2", "b2", "2"}));
}

TEST_P(TurnsTest, outliveTheTidyingUpOfLanes) {
  fill({"a", "b"}, 1);
  for (const Job& job : claim(2)) complete(job).value();
  fill({"b", "a"}, 1);
  write([](Store& s) { s.pools().removeEmptyLanes(100); });
  EXPECT_EQ(claims(2), (Names{"a0", "b0"}));
}

TEST_P(TurnsTest, areForgottenWithTheLastJobOfATenant) {
  fill({"a", "b"}, 1);
  for (const Job& job : claim(2)) complete(job).value();
  write([](Store& s) {
    s.jobs().purgeMany(PoolId("p"), {.statuses = {JobStatus::kDone}}, {}, 100, 100);
    s.pools().removeEmptyLanes(100);
  });
  fill({"b", "a"}, 1);
  EXPECT_EQ(claims(2), (Names{"b0", "a0"}));
}

TEST_P(TurnsTest, areGivenBackWithAUnitThatFails) {
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 2; }));
  fill({"a", "b"}, 3);
  EXPECT_EQ(claims(1), Names{"a0"});
  EXPECT_FALSE(storage->writeAndWait([](Store& s) {
    const auto pool = s.pools().find(PoolId("p"));
    EXPECT_EQ(dataOf(s.jobs().claim(*pool, "w", {}, 3)), (Names{"b0", "a1", "b1"}));
    s.jobs().push(*pool, of("c"));
    throw std::runtime_error("undo it all");
  }));
  EXPECT_EQ(claims(5), (Names{"b0", "a1", "b1"}));
}

TEST_P(TurnsTest, hearOfEverythingThatHappensInOneUnit) {
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  fill({"a", "b", "c"}, 2);
  write([](Store& s) {
    auto jobs = s.jobs();
    const auto pool = s.pools().find(PoolId("p"));
    const auto one = [&] {
      const auto claimed = jobs.claim(*pool, "w", {}, 1);
      return claimed.empty() ? Job() : claimed[0];
    };
    const Job a = one();
    ASSERT_EQ(a.data, R"("a0")");
    jobs.cancel(jobs.list(PoolId("p"), with<JobFilter>([](auto& f) {
                            f.tenant = "b";
                            f.statuses = {JobStatus::kPending};
                          }),
                          "", 10)
                    .jobs.back()
                    .id,
                "");
    const Job b = one();
    ASSERT_EQ(b.data, R"("b1")") << "the first one was cancelled";
    jobs.push(*pool, of("d", 0));
    jobs.push(*pool, of("d", 1, 5));
    const Job urgent = one();
    ASSERT_EQ(urgent.data, R"("d1")");
    ASSERT_EQ(one().data, R"("c0")");
    ASSERT_EQ(one().data, "") << "each has its one place";
    jobs.release(a.id, {a.lease_token, ""}).value();
    ASSERT_EQ(one().data, R"("a0")") << "it is the first of its tenant again";
    jobs.complete(urgent.id, {urgent.lease_token, ""}, {}, "").value();
    ASSERT_EQ(one().data, R"("d0")");
    jobs.retry(jobs.list(PoolId("p"),
                         with<JobFilter>([](auto& f) { f.statuses = {JobStatus::kCancelled}; }), "",
                         10)
                   .jobs.at(0)
                   .id)
        .value();
    jobs.fail(b.id, {b.lease_token, ""}, {}).value();
    ASSERT_EQ(one().data, R"("b0")");
  });
}

// Claims that are foretold have their jobs read together; what happens in between counts.
TEST_P(TurnsTest, hearOfWhatHappensToJobsThatWereReadAhead) {
  fill({"a", "b", "c"}, 2);
  const auto pending = [this](const std::string& data) {
    for (const Job& job : allJobs()) {
      if (job.data == data) return job.id;
    }
    return JobId();
  };
  const JobId b0 = pending(R"("b0")"), c0 = pending(R"("c0")");
  write([&](Store& s) {
    std::vector<Wish> wishes(8, {.kind = Wish::Kind::kClaim, .pool = PoolId("p"), .worker = "w"});
    s.session.ahead = Foresight(wishes);
    auto jobs = s.jobs();
    const auto pool = s.pools().find(PoolId("p"));
    const auto next = [&](int max = 1) {
      std::string all;
      for (const std::string& each : dataOf(jobs.claim(*pool, "w", {}, max))) all += each + " ";
      return all;
    };
    ASSERT_EQ(next(), "a0 ");
    jobs.cancel(b0, "").value();
    ASSERT_TRUE(jobs.remove(c0));
    ASSERT_EQ(next(), "b1 ");
    jobs.push(*pool, of("c", 9, 3));
    ASSERT_EQ(next(), "c9 ");
    ASSERT_EQ(next(), "a1 ");
    ASSERT_EQ(next(), "c1 ");
    ASSERT_EQ(next(), "") << "that was all";
    jobs.push(*pool, of("a", 5));
    ASSERT_EQ(next(), "a5 ");
    for (int i = 0; i < 6; ++i) jobs.push(*pool, of(i % 2 == 0 ? "b" : "c", i));
    ASSERT_EQ(next(2), "b0 c1 ");
    jobs.retry(b0).value();
    ASSERT_EQ(next(9), "b0 c3 b2 c5 b4 ");
  });
}

TEST_P(TurnsTest, comeToDelayedJobsWhenTheyAreDue) {
  NewJob later = of("a", 1);
  later.delay = 10s;
  push(later);
  fill({"b"}, 2);
  EXPECT_EQ(claims(1), Names{"b0"});
  clock.advance(11s);
  EXPECT_EQ(claims(2), (Names{"a1", "b1"}));
  push(with<NewJob>([](auto& job) {
    job = of("a", 2);
    job.delay = 10s;
  }));
  EXPECT_EQ(claims(1), Names{});
  clock.advance(11s);
  write([](Store& s) { EXPECT_EQ(s.jobs().promoteDue(10), 1); });
  EXPECT_EQ(claims(1), Names{"a2"});
}

TEST_P(TurnsTest, passOverJobsThatHaveExpired) {
  NewJob brief = of("a", 0, 5);
  brief.expires_at = clock.now() + 10s;
  push(brief);
  fill({"b", "a"}, 1);
  EXPECT_EQ(claims(1), Names{"a0"}) << "in time";
  push(with<NewJob>([&](auto& job) {
    job = of("a", 7, 5);
    job.expires_at = clock.now() + 5s;
  }));
  clock.advance(6s);
  EXPECT_EQ(claims(2), (Names{"b0", "a0"}));
}

TEST_P(TurnsTest, areTakenByAThousand) {
  constexpr int kTenants = 1000, kWithTwo = 200;
  Names expected, second;
  write([&](Store& s) {
    const auto pool = s.pools().find(PoolId("p"));
    for (int i = 0; i < kTenants; ++i) {
      const std::string tenant = "t" + std::to_string(i) + ".";
      s.jobs().push(*pool, of(tenant, 0));
      expected.push_back(tenant + "0");
      if (i >= kWithTwo) continue;
      s.jobs().push(*pool, of(tenant, 1));
      second.push_back(tenant + "1");
    }
  });
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(stats().runnable, kTenants + kWithTwo);
  Names claimed = claims(20);
  while (true) {
    const auto some = dataOf(claim(177));
    if (some.empty()) break;
    claimed.insert(claimed.end(), some.begin(), some.end());
  }
  EXPECT_EQ(claimed, expected);
}

}  // namespace
}  // namespace muster::test
