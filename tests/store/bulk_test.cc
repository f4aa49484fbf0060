#include <functional>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

using enum JobStatus;

class BulkTest : public StoreTest {
 protected:
  Job poisoned(NewJob job = {.data = "1"}, const FailureReport& report = failure("boom")) {
    job.max_retries = 0;
    return fail(pushAndClaim(job), report).value();
  }
  Job cancelled(const NewJob& job = {.data = "1"}) {
    const JobId id = push(job).id;
    return write([&](Store& s) { return s.jobs().cancel(id, "").value(); });
  }
  // In steps of `looks` jobs, up to `most` in all.
  using Step = std::function<BulkStep(Jobs&, const BulkPlace& from, std::int64_t most)>;
  std::int64_t inSteps(const Step& take, int looks, std::int64_t most) {
    std::int64_t total = 0;
    std::optional<BulkPlace> from = BulkPlace{};
    for (int steps = 0; from; ++steps) {
      EXPECT_LT(steps, 1000);
      if (steps == 1000) break;
      const auto step = write([&](Store& s) {
        Jobs jobs = s.jobs();
        return take(jobs, *from, most - total);
      });
      EXPECT_LE(step.count, looks);
      total += step.count;
      from = step.next;
    }
    return total;
  }
  std::int64_t retry(const BulkFilter& filter, int looks = 100, std::int64_t most = 1000) {
    return inSteps(
        [&](Jobs& jobs, const BulkPlace& from, std::int64_t left) {
          return jobs.retryMany(PoolId("p"), filter, from, looks, left);
        },
        looks, most);
  }
  std::int64_t purge(const BulkFilter& filter, int looks = 100, std::int64_t most = 1000) {
    return inSteps(
        [&](Jobs& jobs, const BulkPlace& from, std::int64_t left) {
          return jobs.purgeMany(PoolId("p"), filter, from, looks, left);
        },
        looks, most);
  }
  // The jobs that would be retried, newest first; all of it is undone.
  Names chosenBy(const BulkFilter& filter) {
    Names chosen;
    const auto undone = storage->writeAndWait([&](Store& s) {
      BulkStep step{.next = BulkPlace{}};
      while (step.next) step = s.jobs().retryMany(PoolId("p"), filter, *step.next, 2, 1000);
      const auto pending = with<JobFilter>([](auto& f) { f.statuses = {kPending}; });
      chosen = idsOf(s.jobs().list(PoolId("p"), pending, "", 100).jobs);
      throw std::runtime_error("to be undone");
    });
    EXPECT_FALSE(undone);
    return chosen;
  }
};
MUSTER_ON_EVERY_BACKEND(BulkTest);

TEST_P(BulkTest, allPoisonedJobsOfAPoolAreRetriedInSteps) {
  for (int i = 0; i < 3; ++i) poisoned();
  for (int i = 0; i < 2; ++i) poisoned({.data = "1", .tenant = "acme"});
  cancelled();
  const auto before = lastEvent();
  EXPECT_EQ(retry({.statuses = {kPoisoned}}, 2), 5);
  EXPECT_EQ(retry({.statuses = {kPoisoned}}, 2), 0);
  EXPECT_EQ(stats().pending, 5);
  EXPECT_EQ(stats().cancelled, 1);
  EXPECT_EQ(eventTypesAfter(before), Names(5, "job.retried"));
  EXPECT_EQ(retry({.statuses = {kPoisoned, kCancelled}}), 1);
}

TEST_P(BulkTest, aLimitEndsIt) {
  for (int i = 0; i < 5; ++i) poisoned();
  EXPECT_EQ(retry({.statuses = {kPoisoned}}, 2, 3), 3);
  EXPECT_EQ(stats().poisoned, 2);
  EXPECT_EQ(purge({.statuses = {kPoisoned}}, 100, 1), 1);
  EXPECT_EQ(stats().poisoned, 1);
}

TEST_P(BulkTest, poisonedJobsThatCannotBeRetriedDoNotHideTheOthers) {
  for (int i = 0; i < 5; ++i) poisoned({.data = "1", .unique_key = "k"});
  push({.data = "1", .unique_key = "k"});
  poisoned(), poisoned();
  EXPECT_EQ(retry({.statuses = {kPoisoned}}, 2), 2);
}

TEST_P(BulkTest, ofPoisonedTwinsOneIsRetried) {
  poisoned({.data = "1", .unique_key = "k"}), poisoned({.data = "2", .unique_key = "k"});
  EXPECT_EQ(retry({.statuses = {kPoisoned}}), 1);
}

TEST_P(BulkTest, purgeRemovesByStatusAndAge) {
  for (int i = 0; i < 3; ++i) complete(pushAndClaim({.data = "1", .tenant = "acme"})).value();
  cancelled();
  const Job bad = poisoned();
  clock.advance(10s);
  complete(pushAndClaim()).value();
  const Job pending = push();
  BulkFilter ended{.statuses = {kDone, kCancelled}, .ended_before = clock.now() - 10s};
  EXPECT_EQ(purge(ended), 0) << "strictly older";
  *ended.ended_before += 1ms;
  EXPECT_EQ(purge(ended, 3), 4);
  EXPECT_EQ(purge({.statuses = {kDone, kCancelled}}), 1);
  EXPECT_EQ(idsOf(allJobs()), idsOf({pending, bad}));
}

TEST_P(BulkTest, eachFilterChoosesItsJobs) {
  const auto named = [](const std::string& error_class) {
    FailureReport report = failure("no luck: try 17");
    report.error_class = error_class;
    return report;
  };
  const Time start = clock.now();
  const Job old = poisoned();
  clock.advance(1h);
  const Job of_acme = poisoned({.data = "1", .tenant = "acme"}, failure("HTTP 503 from 10.0.0.1"));
  const Job other_number = poisoned({.data = "1"}, failure("HTTP 429 from 10.0.0.2"));
  const Job says_class = poisoned({.data = "1"}, named("quota"));
  const Job lost = pushAndClaim({.data = "1", .max_retries = 0});
  clock.advance(61s);
  write([](Store& s) { s.jobs().expireLeases(10); });

  struct Row {
    std::string_view what;
    BulkFilter filter;
    std::vector<Job> chosen;
  };
  const std::vector<JobStatus> bad = {kPoisoned};
  const Row table[] = {
      {"all", {.statuses = bad}, {lost, says_class, other_number, of_acme, old}},
      {"no status", {}, {}},
      {"tenant", {.statuses = bad, .tenant = "acme"}, {of_acme}},
      {"nobody's tenant", {.statuses = bad, .tenant = "nobody"}, {}},
      {"class", {.statuses = bad, .error_class = "HTTP # from #"}, {other_number, of_acme}},
      {"class of a tenant",
       {.statuses = bad, .tenant = "acme", .error_class = "HTTP # from #"},
       {of_acme}},
      {"given class", {.statuses = bad, .error_class = "quota"}, {says_class}},
      {"derived from what has a class", {.statuses = bad, .error_class = "no luck: try #"}, {}},
      {"a part of the class", {.statuses = bad, .error_class = "HTTP"}, {}},
      {"text", {.statuses = bad, .error_contains = "HTTP 503"}, {of_acme}},
      {"text anywhere", {.statuses = bad, .error_contains = "oom"}, {old}},
      {"text in other case", {.statuses = bad, .error_contains = "BOOM"}, {}},
      {"created after",
       {.statuses = bad, .created_after = start},
       {lost, says_class, other_number, of_acme}},
      {"created before", {.statuses = bad, .created_before = start + 1ms}, {old}},
      {"created before is strict", {.statuses = bad, .created_before = start}, {}},
      {"failed after", {.statuses = bad, .failed_after = start + 1h}, {lost}},
      {"failed after is strict", {.statuses = bad, .failed_after = clock.now()}, {}},
  };
  for (const Row& row : table) EXPECT_EQ(chosenBy(row.filter), idsOf(row.chosen)) << row.what;
}

}  // namespace
}  // namespace muster::test
