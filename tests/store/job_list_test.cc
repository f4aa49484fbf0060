#include <set>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class JobListTest : public StoreTest {
 protected:
  JobPage page(const JobFilter& filter, const std::string& cursor, int limit) {
    return read([&](Store& s) { return s.jobs().list(PoolId("p"), filter, cursor, limit); });
  }
  static JobFilter of(JobStatus status) {
    return with<JobFilter>([&](auto& f) { f.statuses = {status}; });
  }
};
MUSTER_ON_EVERY_BACKEND(JobListTest);

TEST_P(JobListTest, isNewestFirstOverAllLanesAndStates) {
  registerWorker(newWorker("w"));
  std::vector<Job> pushed;
  for (int i = 0; i < 30; ++i) {
    NewJob given{.data = std::to_string(i), .priority = i % 4, .tenant = i % 3 == 0 ? "acme" : ""};
    if (i % 5 == 0) given.placement.capabilities = {"gpu"};
    pushed.insert(pushed.begin(), push(given));
    clock.advance(1ms);
  }
  claim(5);
  complete(claim().at(0)).value();
  EXPECT_EQ(idsOf(allJobs()), idsOf(pushed));
  EXPECT_TRUE(allJobs("never-seen").empty());
}

TEST_P(JobListTest, pagesJoinWithoutGapOrRepetition) {
  for (int i = 0; i < 23; ++i) push({.data = "1", .tenant = i % 2 == 0 ? "acme" : ""});
  for (const int limit : {1, 2, 7, 22, 23, 24}) {
    Names seen;
    std::string cursor;
    do {
      const JobPage part = page({}, cursor, limit);
      ASSERT_LE(part.jobs.size(), static_cast<std::size_t>(limit));
      ASSERT_FALSE(part.jobs.empty());
      for (const Job& each : part.jobs) seen.push_back(each.id.str());
      cursor = part.next_cursor;
    } while (!cursor.empty());
    EXPECT_EQ(seen, idsOf(allJobs())) << "pages of " << limit;
  }
}

TEST_P(JobListTest, aNewJobDoesNotShiftTheNextPage) {
  for (int i = 0; i < 4; ++i) push();
  const Names before = idsOf(allJobs());
  const JobPage first = page({}, "", 2);
  push();
  const JobPage second = page({}, first.next_cursor, 2);
  EXPECT_EQ(idsOf(second.jobs), Names(before.begin() + 2, before.end()));
}

TEST_P(JobListTest, filtersByStatusTenantAndTime) {
  const Job early = push({.data = "1", .tenant = "acme"});
  const Job done = complete(pushAndClaim()).value();
  clock.advance(1s);
  const Time then = clock.now();
  const Job at_the_time = push();
  clock.advance(1ms);
  const Job late = push({.data = "1", .tenant = "acme"});
  EXPECT_EQ(idsOf(allJobs("p", of(JobStatus::kDone))), idsOf({done}));
  EXPECT_EQ(allJobs("p", of(JobStatus::kPending)).size(), 3U);
  EXPECT_TRUE(allJobs("p", of(JobStatus::kPoisoned)).empty());
  EXPECT_EQ(idsOf(allJobs("p", with<JobFilter>([](auto& f) { f.tenant = "acme"; }))),
            idsOf({late, early}));
  EXPECT_EQ(idsOf(allJobs("p", with<JobFilter>([&](auto& f) { f.created_after = then; }))),
            idsOf({late}))
      << "strictly after";
  EXPECT_EQ(idsOf(allJobs("p", with<JobFilter>([&](auto& f) { f.created_after = then - 1ms; }))),
            idsOf({late, at_the_time}));
  EXPECT_TRUE(
      allJobs("p", with<JobFilter>([&](auto& f) { f.created_after = clock.now() + 1h; })).empty());
  EXPECT_EQ(idsOf(allJobs("p", with<JobFilter>([](auto& f) {
                            f.statuses = {JobStatus::kDone, JobStatus::kPending};
                            f.tenant = "";
                          }))),
            idsOf({at_the_time, done}))
      << "an empty tenant is the jobs without one";
}

TEST_P(JobListTest, aPageEndsEarlyWhenItsPayloadsAreLarge) {
  const std::string megabyte = "\"" + std::string(1 << 20, 'x') + "\"";
  Names pushed;
  for (int i = 0; i < 12; ++i) {
    const bool large = i % 2 == 0;
    pushed.insert(pushed.begin(),
                  push({.data = large ? megabyte : "1", .tenant = large ? "acme" : ""}).id.str());
  }
  const JobPage first = page({}, "", 200);
  EXPECT_LT(first.jobs.size(), 12U);
  EXPECT_FALSE(first.next_cursor.empty());
  EXPECT_EQ(idsOf(allJobs()), pushed);
}

}  // namespace
}  // namespace muster::test
