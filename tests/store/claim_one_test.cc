#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class ClaimOneTest : public StoreTest {};
MUSTER_ON_EVERY_BACKEND(ClaimOneTest);

TEST_P(ClaimOneTest, takesTheJobThatWasAskedForWhateverStandsBeforeIt) {
  push({.data = "1", .priority = 9});
  const Job wanted = push();
  const Job claimed = claimOne(wanted.id, "w1").value();
  EXPECT_EQ(claimed.id, wanted.id);
  EXPECT_EQ(claimed.claimed_by, "w1");
  EXPECT_EQ(claimed.attempts, 1);
  EXPECT_TRUE(complete(claimed));
}

TEST_P(ClaimOneTest, takesADelayedJobThatIsDueBeforeAnybodyPromotedIt) {
  NewJob given{.data = "1"};
  given.delay = 1s;
  const Job delayed = push(given);
  clock.advance(1s);
  ASSERT_TRUE(claimOne(delayed.id));
  EXPECT_TRUE(claim(5).empty());
}

TEST_P(ClaimOneTest, doesNotFindTheJobOfAnotherPool) {
  push();
  const Job other = push({.data = "1"}, "q");
  EXPECT_EQ(codeOf(claimOne(other.id)), ErrorCode::kNotFound);
  EXPECT_EQ(codeOf(claimOne(JobId("never-seen"))), ErrorCode::kNotFound);
}

TEST_P(ClaimOneTest, refusesWhatCannotBeClaimedAndSaysWhy) {
  struct Refusal {
    std::string why;
    std::function<JobId()> make;
  };
  const Refusal refusals[] = {
      {"is claimed", [this] { return pushAndClaim().id; }},
      {"is done", [this] { return complete(pushAndClaim()).value().id; }},
      {"is poisoned",
       [this] { return fail(pushAndClaim({.data = "1", .max_retries = 0})).value().id; }},
      {"is cancelled",
       [this] {
         const JobId id = push().id;
         return write([&](Store& s) { return s.jobs().cancel(id, ""); }).value().id;
       }},
      {"is delayed until",
       [this] {
         NewJob later{.data = "1"};
         later.delay = 1h;
         return push(later).id;
       }},
      {"has expired",
       [this] {
         NewJob expiring{.data = "1"};
         expiring.expires_at = clock.now() + 1s;
         const JobId id = push(expiring).id;
         clock.advance(1s);
         return id;
       }},
      {"needs capability gpu",
       [this] {
         NewJob placed{.data = "1"};
         placed.placement.capabilities = {"gpu"};
         return push(placed).id;
       }},
      {"tenant's limit",
       [this] {
         for (int i = 0; i < 3; ++i) pushAndClaim({.data = "1", .tenant = "acme"});
         return push({.data = "1", .tenant = "acme"}).id;
       }},
      {"paused",
       [this] {
         const JobId id = push().id;
         setPool(with<PoolSettings>([](auto& s) { s.paused = true; }));
         return id;
       }},
  };
  for (const Refusal& refusal : refusals) {
    const JobId id = refusal.make();
    const Job before = job(id);
    const auto events = lastEvent();
    const auto answer = claimOne(id, "w9");
    ASSERT_EQ(codeOf(answer), ErrorCode::kNotClaimable) << refusal.why;
    EXPECT_NE(answer.error().detail.find(refusal.why), std::string::npos) << answer.error().detail;
    EXPECT_EQ(job(id).version, before.version) << refusal.why;
    EXPECT_EQ(lastEvent(), events) << refusal.why;
  }
}

TEST_P(ClaimOneTest, keepsTheShareOfANode) {
  registerWorker(newWorker("a1", "a"));
  NewJob limited{.data = "1"};
  limited.placement.max_parallel_per_node = 1;
  const Job first = push(limited), second = push(limited);
  ASSERT_TRUE(claimOne(first.id, "a1"));
  EXPECT_EQ(codeOf(claimOne(second.id, "a1")), ErrorCode::kNotClaimable);
}

}  // namespace
}  // namespace muster::test
