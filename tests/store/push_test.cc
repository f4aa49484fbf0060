#include <algorithm>
#include <set>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class PushTest : public StoreTest {};
MUSTER_ON_EVERY_BACKEND(PushTest);

TEST_P(PushTest, aNewJobIsPendingWithTheDefaultsOfItsPool) {
  const Job job = push({.data = R"({"a": 1})"});
  EXPECT_EQ(job.status, JobStatus::kPending);
  EXPECT_EQ(job.attempts, 0);
  EXPECT_EQ(job.max_retries, 3);
  EXPECT_EQ(job.priority, 0);
  EXPECT_EQ(job.version, 1);
  EXPECT_EQ(job.created_at, clock.now());
  EXPECT_EQ(job.available_at, clock.now());
  EXPECT_EQ(job.data, R"({"a": 1})");
  EXPECT_TRUE(job.lease_token.empty());
  EXPECT_EQ(job.effect_key.size(), 64U);

  setPool(with<PoolSettings>([](auto& s) { s.max_retries = 7; }));
  EXPECT_EQ(push().max_retries, 7);
  EXPECT_EQ(push({.data = "1", .max_retries = 0}).max_retries, 0);
}

TEST_P(PushTest, everythingThatWasPushedComesBack) {
  NewJob given{.data = "[1]", .max_retries = 9, .priority = -3};
  given.delay = 5s;
  given.expires_at = clock.now() + 1h;
  given.tenant = "acme";
  given.unique_key = "k";
  given.placement.region = "eu";
  given.affinity = "session";
  given.resource_refs = R"([{"resource_id":"r"}])";
  given.traceparent = "00-abc";
  const Job pushed = push(given), found = job(pushed.id);
  for (const Job& seen : {pushed, found}) {
    EXPECT_EQ(seen.data, given.data);
    EXPECT_EQ(seen.max_retries, 9);
    EXPECT_EQ(seen.priority, -3);
    EXPECT_EQ(seen.available_at, clock.now() + 5s);
    EXPECT_EQ(seen.expires_at, given.expires_at);
    EXPECT_EQ(seen.tenant, "acme");
    EXPECT_EQ(seen.unique_key, "k");
    EXPECT_EQ(seen.placement, R"({"region":"eu"})");
    EXPECT_EQ(seen.affinity, "session");
    EXPECT_EQ(seen.resource_refs, given.resource_refs);
    EXPECT_EQ(seen.traceparent, "00-abc");
    EXPECT_EQ(seen.effect_key, pushed.effect_key);
  }
}

TEST_P(PushTest, dataAndResultComeBackByteForByte) {
  std::string deep = "0";
  for (int i = 0; i < 60; ++i) deep = "[" + deep + "]";
  const std::string texts[] = {"1234567890123456789",
                               "0.1",
                               "1e300",
                               "-0.0",
                               "null",
                               "\"\"",
                               "\"a\\u0000b\"",
                               "\"\\ud834\\udd1e 𝄞 ä\"",
                               "{ \"b\":1,\t\"a\" : [ ] }",
                               "\"'; DROP TABLE jobs; --\"",
                               deep,
                               "\"" + std::string(1 << 20, 'x') + "\""};
  for (const std::string& text : texts) {
    const Job claimed = pushAndClaim({.data = text});
    EXPECT_EQ(claimed.data, text);
    ASSERT_TRUE(complete(claimed, text));
    EXPECT_EQ(job(claimed.id).data, text);
    EXPECT_EQ(job(claimed.id).result, text);
  }
}

TEST_P(PushTest, theEffectKeyIsTheSameForEveryTryAndOfNoOtherJob) {
  const Job first = pushAndClaim();
  const Job other = push();
  EXPECT_NE(first.effect_key, other.effect_key);
  fail(first).value();
  clock.advance(1min);
  EXPECT_EQ(claimOne(first.id).value().effect_key, first.effect_key);
}

TEST_P(PushTest, aTimeInThePastIsNow) {
  NewJob given{.data = "1"};
  given.available_at = clock.now() - 1h;
  EXPECT_EQ(push(given).available_at, clock.now());
  EXPECT_EQ(claim().size(), 1U);
}

TEST_P(PushTest, aUniqueKeyHasOneLivingJobInItsPool) {
  const auto unique = [](std::string data) { return NewJob{.data = data, .unique_key = "k"}; };
  const auto first = tryPush(unique("1"));
  EXPECT_TRUE(first.created);
  const auto events = lastEvent();
  const auto second = tryPush(unique("2"));
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.job.id, first.job.id);
  EXPECT_EQ(second.job.data, "1");
  EXPECT_EQ(lastEvent(), events) << "nothing happened";
  EXPECT_TRUE(tryPush(unique("1"), "other").created) << "the key is the pool's own";

  const Job claimed = claim().at(0);
  EXPECT_FALSE(tryPush(unique("3")).created) << "a claimed job lives";
  ASSERT_TRUE(complete(claimed));
  EXPECT_TRUE(tryPush(unique("4")).created) << "a finished one does not";
}

TEST_P(PushTest, poisonedAndCancelledJobsFreeTheirUniqueKey) {
  const NewJob unique{.data = "1", .max_retries = 0, .unique_key = "k"};
  fail(pushAndClaim(unique)).value();
  const auto second = tryPush(unique);
  EXPECT_TRUE(second.created);
  write([&](Store& store) { return store.jobs().cancel(second.job.id, ""); }).value();
  EXPECT_TRUE(tryPush(unique).created);
}

TEST_P(PushTest, anExpiredJobNoLongerHoldsItsUniqueKey) {
  NewJob unique{.data = "1", .unique_key = "k"};
  unique.expires_at = clock.now() + 1s;
  const Job first = push(unique);
  clock.advance(1s);
  unique.expires_at.reset();
  const auto second = tryPush(unique);
  EXPECT_TRUE(second.created);
  EXPECT_NE(second.job.id, first.id);
  EXPECT_EQ(job(first.id).status, JobStatus::kCancelled);
  EXPECT_EQ(job(first.id).reason, "expired");
}

TEST_P(PushTest, anUnknownPoolIsMadeUnlessTheRulesForbidIt) {
  const auto before = lastEvent();
  push({.data = "1"}, "fresh");
  EXPECT_EQ(eventTypesAfter(before), (Names{"pool.created", "job.created"}));
  rules.auto_create_pools = false;
  reopen();
  const auto refused =
      write([](Store& store) { return store.pools().findOrCreate(PoolId("never-seen")); });
  EXPECT_EQ(codeOf(refused), ErrorCode::kNotFound);
}

// With several writers only those of different milliseconds do.
class IdOrderTest : public StoreTest {};
MUSTER_ON_BACKENDS(IdOrderTest, backendsThat(&Backend::one_writer));

TEST_P(IdOrderTest, idsRiseInTheOrderOfCreation) {
  Names ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back(push().id.str());
    if (i % 10 == 0) clock.advance(i % 20 == 0 ? 1ms : -5ms);
  }
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
}

}  // namespace
}  // namespace muster::test
