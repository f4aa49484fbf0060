#include "app/server/connections.h"

#include <gtest/gtest.h>

#include <list>

namespace muster {
namespace {

TEST(ConnectionLimits, follow_the_settings_and_leave_descriptors) {
  const struct {
    const char* why;
    int most, each;
    std::size_t descriptors;
    std::size_t all, per_address, per_local_address;
  } cases[] = {
      {"the usual limit", 0, 0, 1024, 768, 384, 768},
      {"a few descriptors", 0, 0, 64, 48, 24, 48},
      {"many descriptors", 0, 0, 65'536, 20'000, 10'000, 20'000},
      {"as set", 100, 0, 65'536, 100, 50, 100},
      {"more than the default", 50'000, 0, 65'536, 50'000, 25'000, 50'000},
      {"more than there can be", 50'000, 0, 4096, 3584, 1792, 3584},
      {"per address, as set", 100, 7, 65'536, 100, 7, 7},
      {"per address, above all", 100, 900, 65'536, 100, 900, 900},
      {"one", 1, 0, 1024, 1, 1, 1},
  };
  for (const auto& expected : cases) {
    Settings settings;
    settings.max_connections = expected.most;
    settings.max_connections_per_address = expected.each;
    const ConnectionLimits limits = connectionLimits(settings, expected.descriptors);
    EXPECT_EQ(limits.all, expected.all) << expected.why;
    EXPECT_EQ(limits.per_address, expected.per_address) << expected.why;
    EXPECT_EQ(limits.per_local_address, expected.per_local_address) << expected.why;
    EXPECT_LT(limits.all, expected.descriptors) << expected.why;
  }
}

class Counter : public testing::Test {
 protected:
  // The code of the refusal, if the connection is refused.
  std::optional<ErrorCode> open(std::string_view ip) {
    places_.push_back(counter_->open(ip));
    const auto& refusal = places_.back().refusal();
    return refusal ? std::optional(refusal->code) : std::nullopt;
  }
  std::shared_ptr<ConnectionCounter> counter_ =
      std::make_shared<ConnectionCounter>(ConnectionLimits{10, 3, 6, 0});
  std::list<ConnectionPlace> places_;
};

TEST_F(Counter, refuses_an_address_that_has_its_share) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open("192.0.2.1"), std::nullopt);
  EXPECT_EQ(open("192.0.2.1"), ErrorCode::kRateLimited);
  EXPECT_EQ(open("192.0.2.2"), std::nullopt);
  places_.clear();
  EXPECT_EQ(open("192.0.2.1"), std::nullopt) << "the others have ended";
}

TEST_F(Counter, takes_more_from_this_machine) {
  for (int i = 0; i < 6; ++i) EXPECT_EQ(open(i % 2 == 0 ? "127.0.0.1" : "::1"), std::nullopt);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(open("127.0.0.1"), std::nullopt);
  EXPECT_EQ(open("127.0.0.1"), ErrorCode::kRateLimited);
}

TEST_F(Counter, refuses_everybody_when_it_is_full) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(open("192.0.2." + std::to_string(i)), std::nullopt);
  EXPECT_EQ(open("192.0.2.99"), ErrorCode::kStoreBusy);
  EXPECT_FALSE(places_.back().drops());
  places_.erase(places_.begin());
  EXPECT_EQ(open("192.0.2.98"), std::nullopt) << "one that is refused takes no place";
  EXPECT_EQ(open("192.0.2.97"), ErrorCode::kStoreBusy);
}

TEST_F(Counter, drops_when_too_many_are_being_refused) {
  int answered = 0;
  for (; answered < 200; ++answered) {
    open("192.0.2." + std::to_string(answered));
    if (places_.back().drops()) break;
  }
  EXPECT_GT(answered, 10 + 10) << "some are told why";
  EXPECT_LT(answered, 200);
}

TEST_F(Counter, takes_a_network_of_IPv6_for_one_address) {
  for (const char* ip : {"2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3"}) {
    EXPECT_EQ(open(ip), std::nullopt);
  }
  EXPECT_EQ(open("2001:db8::4"), ErrorCode::kRateLimited);
  EXPECT_EQ(open("2001:db8:0:1::1"), std::nullopt);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(open("::ffff:192.0.2.1"), std::nullopt);
  EXPECT_EQ(open("192.0.2.1"), std::nullopt);
  EXPECT_EQ(open("::ffff:192.0.2.1"), ErrorCode::kRateLimited);
}

}  // namespace
}  // namespace muster
