#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class IdempotencyTest : public StoreTest {
 protected:
  Result<std::optional<StoredAnswer>> find(const RequestKey& request) {
    return read([&](Store& s) { return s.idempotency().find(request); });
  }
  void remember(const RequestKey& request, const StoredAnswer& answer) {
    write([&](Store& s) { s.idempotency().remember(request, answer); });
  }
  const RequestKey key{"alice", "POST", "/v1/pools/p/jobs", "k1", "hash"};
};
MUSTER_ON_EVERY_BACKEND(IdempotencyTest);

TEST_P(IdempotencyTest, theSameRequestGetsTheSameAnswer) {
  EXPECT_FALSE(find(key).value());
  remember(key, {201, R"({"id":"j"})"});
  const auto answer = find(key).value();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 201);
  EXPECT_EQ(answer->body, R"({"id":"j"})");
}

TEST_P(IdempotencyTest, theKeyWithAnotherBodyIsAMistake) {
  remember(key, {201, "{}"});
  RequestKey other = key;
  other.body_hash = "another";
  EXPECT_EQ(codeOf(find(other)), ErrorCode::kIdempotencyMismatch);
}

TEST_P(IdempotencyTest, theKeyBelongsToPrincipalMethodAndPath) {
  remember(key, {201, "{}"});
  for (auto field :
       {&RequestKey::principal, &RequestKey::method, &RequestKey::path, &RequestKey::key}) {
    RequestKey other = key;
    other.*field = "other";
    EXPECT_FALSE(find(other).value());
  }
}

TEST_P(IdempotencyTest, answersAreKeptForADay) {
  remember(key, {201, "{}"});
  const auto removeExpired = [this] {
    return write([](Store& s) { return s.idempotency().removeExpired(10); });
  };
  clock.advance(24h - 1ms);
  EXPECT_TRUE(find(key).value());
  EXPECT_EQ(removeExpired(), 0);
  clock.advance(1ms);
  EXPECT_FALSE(find(key).value());
  remember(key, {200, "new"});
  EXPECT_EQ(find(key).value()->body, "new") << "an expired key may be used again";
  clock.advance(24h);
  EXPECT_EQ(removeExpired(), 1);
  EXPECT_EQ(removeExpired(), 0);
}

TEST_P(IdempotencyTest, anUndoneUnitRemembersNothing) {
  EXPECT_FALSE(storage->writeAndWait([this](Store& s) {
    s.idempotency().remember(key, {201, "{}"});
    throw std::runtime_error("no");
  }));
  EXPECT_FALSE(find(key).value());
}

}  // namespace
}  // namespace muster::test
