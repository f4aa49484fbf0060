#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// What the tick does to keep the store small.
class UpkeepTest : public StoreTest {
 protected:
  std::int64_t removeEmptyLanes() {
    return write([](Store& s) { return s.pools().removeEmptyLanes(100); });
  }
  std::size_t lanes() {
    return write([](Store& s) { return s.pools().knownLanes(PoolId("p")).size(); });
  }
};
MUSTER_ON_EVERY_BACKEND(UpkeepTest);

TEST_P(UpkeepTest, finishedJobsGoWhenTheyAreOldEnough) {
  complete(pushAndClaim(), "1").value();
  fail(pushAndClaim({.data = "1", .max_retries = 0})).value();
  const Job stopped = push();
  write([&](Store& s) { return s.jobs().cancel(stopped.id, ""); }).value();
  const Job pending = push(), claimed = pushAndClaim();
  clock.advance(24h);
  const Job young = complete(pushAndClaim()).value();
  const auto remove = [this](Time before, int limit) {
    return write([&](Store& s) { return s.jobs().removeFinished(before, limit); });
  };
  EXPECT_EQ(remove(clock.now() - 24h, 10), 0) << "strictly older";
  EXPECT_EQ(remove(clock.now() - 24h + 1ms, 2), 2);
  EXPECT_EQ(remove(clock.now() - 24h + 1ms, 2), 1);
  EXPECT_EQ(idsOf(allJobs()), idsOf({young, claimed, pending}));
}

TEST_P(UpkeepTest, aRetriedJobIsNotFinishedAnyMore) {
  const Job bad = fail(pushAndClaim({.data = "1", .max_retries = 0})).value();
  write([&](Store& s) { return s.jobs().retry(bad.id); }).value();
  clock.advance(100h);
  EXPECT_EQ(write([&](Store& s) { return s.jobs().removeFinished(clock.now(), 10); }), 0);
}

TEST_P(UpkeepTest, endedWorkersGoWhenTheyAreOldEnough) {
  registerWorker(newWorker("gone")), registerWorker(newWorker("here"));
  write([](Store& s) {
    return s.workers().change(WorkerId("gone"),
                              with<WorkerChange>([](auto& c) { c.status = "terminated"; }));
  }).value();
  clock.advance(24h);
  const auto remove = [this](Time before) {
    return write([&](Store& s) { return s.workers().removeEnded(before, 10); });
  };
  EXPECT_EQ(remove(clock.now() - 24h), 0);
  EXPECT_EQ(remove(clock.now()), 1);
  EXPECT_TRUE(read([](Store& s) { return s.workers().find(WorkerId("here")); }));
  EXPECT_FALSE(read([](Store& s) { return s.workers().find(WorkerId("gone")); }));
}

TEST_P(UpkeepTest, emptyLanesAreForgottenAndComeBackWhenNeeded) {
  const Job job = pushAndClaim({.data = "1", .tenant = "acme"});
  push();
  EXPECT_EQ(lanes(), 2U);
  EXPECT_EQ(removeEmptyLanes(), 0) << "claimed counts";
  complete(job).value();
  EXPECT_EQ(removeEmptyLanes(), 0) << "done counts";
  EXPECT_TRUE(write([&](Store& s) { return s.jobs().remove(job.id); }));
  EXPECT_EQ(removeEmptyLanes(), 1);
  EXPECT_EQ(lanes(), 1U);
  push({.data = "1", .tenant = "acme"});
  EXPECT_EQ(claim(5).size(), 2U);
}

TEST_P(UpkeepTest, aLaneThatWasFilledInTheSameUnitIsNotEmpty) {
  write([](Store& s) {
    s.jobs().push(*s.pools().findOrCreate(PoolId("p")).value(), {.data = "1", .tenant = "acme"});
    EXPECT_EQ(s.pools().removeEmptyLanes(100), 0);
  });
  EXPECT_EQ(claim().size(), 1U);
  EXPECT_EQ(allJobs().size(), 1U);
}

TEST_P(UpkeepTest, aLaneThatWasEmptiedInTheSameUnitIsForgotten) {
  const Job job = push({.data = "1", .tenant = "acme"});
  write([&](Store& s) {
    EXPECT_TRUE(s.jobs().remove(job.id));
    EXPECT_EQ(s.pools().removeEmptyLanes(100), 1);
  });
  push({.data = "1", .tenant = "acme"});
  EXPECT_EQ(stats().pending, 1);
}

TEST_P(UpkeepTest, aSecretIsMadeOnce) {
  const auto secret = [this](const std::string& name) {
    return write([&](Store& s) { return s.secret(name); });
  };
  const std::string first = secret("a");
  EXPECT_GE(first.size(), 32U);
  EXPECT_EQ(secret("a"), first);
  EXPECT_NE(secret("b"), first);
}

class ReopenTest : public StoreTest {};
MUSTER_ON_BACKENDS(ReopenTest, backendsThat(&Backend::keeps_data));

TEST_P(ReopenTest, everythingIsThereAgain) {
  registerWorker(newWorker("w"));
  const Job claimed = pushAndClaim({.data = "1", .tenant = "acme"});
  const Job done = complete(pushAndClaim(), "0.10").value();
  const Job pending = push({.data = "1", .tenant = "acme"});
  setPool(with<PoolSettings>([](auto& s) { s.per_tenant_concurrency = 1; }));
  const std::string secret = write([](Store& s) { return s.secret("a"); });
  const auto events = lastEvent();
  reopen();
  EXPECT_EQ(lastEvent(), events);
  EXPECT_EQ(idsOf(allJobs()), idsOf({pending, done, claimed}));
  EXPECT_EQ(job(done.id).result, "0.10");
  EXPECT_TRUE(claim(5).empty()) << "the tenant's place is still taken";
  EXPECT_TRUE(complete(claimed)) << "leases outlive the service";
  EXPECT_EQ(idsOf(claim(5)), idsOf({pending}));
  clock.advance(1ms);
  EXPECT_GT(push().id, pending.id);
  EXPECT_EQ(write([](Store& s) { return s.secret("a"); }), secret);
}

}  // namespace
}  // namespace muster::test
