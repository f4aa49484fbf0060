#include "models/ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace muster {
namespace {

constexpr Time kStart{Millis(1'700'000'000'000)};

IdMaker makerWith(std::uint8_t byte) {
  return IdMaker([byte](std::uint8_t* out, std::size_t size) { std::fill_n(out, size, byte); });
}

TEST(IdMaker, writes26CharactersThatMayStandInAPath) {
  auto maker = makerWith(0xa5);
  const std::string id = maker.next(kStart);
  EXPECT_EQ(id.size(), 26U);
  EXPECT_TRUE(isValidId(id));
  EXPECT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"), std::string::npos) << id;
}

TEST(IdMaker, writesTheMillisecondsInFront) {
  auto maker = makerWith(0);
  EXPECT_EQ(maker.next(fromMillis(1)), "00000000010000000000000000");
  EXPECT_EQ(maker.next(fromMillis(32)), "00000000100000000000000000");
  EXPECT_EQ(makerWith(0).next(fromMillis((1LL << 48) - 1)), "7zzzzzzzzz0000000000000000");
}

TEST(IdMaker, risesStrictlyWithinAMillisecond) {
  auto maker = makerWith(0xff);
  std::string last = maker.next(kStart);
  for (int i = 0; i < 100'000; ++i) {
    std::string id = maker.next(kStart);
    ASSERT_LT(last, id) << i;
    last = std::move(id);
  }
}

TEST(IdMaker, carriesOverAllBytesWhenItCountsUp) {
  auto maker = makerWith(0xff);  // 0x7fff…ff: the next one needs the bit that was kept free
  const std::string full = maker.next(kStart);
  const std::string carried = maker.next(kStart);
  EXPECT_LT(full, carried);
  EXPECT_EQ(carried.substr(11), "000000000000000");
}

TEST(IdMaker, risesStrictlyWhenTheClockStepsBack) {
  auto maker = makerWith(0x42);
  std::vector<std::string> ids;
  for (const int offset : {0, 5, 3, -1000, 5, 6, 2, 7})
    ids.push_back(maker.next(kStart + Millis(offset)));
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end(), std::less_equal<>()));
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
}

TEST(IdMaker, sortsIdsOfDifferentMakersByTime) {
  const std::string early = makerWith(0xff).next(kStart);
  const std::string late = makerWith(0x00).next(kStart + Millis(1));
  EXPECT_LT(early, late);
}

TEST(Ids, mayHoldOnlyWhatStandsInAPath) {
  for (const std::string& good :
       {std::string("a"), std::string("A-z_0.9~:"), std::string(128, 'x')}) {
    EXPECT_TRUE(isValidId(good)) << good;
  }
  const std::vector<std::string> bad = {"",    std::string(129, 'x'),  "a b", "a/b", "a%2Fb", "ä",
                                        "a\n", std::string("a\0b", 3), "a+b", "a@b", "{a}"};
  for (const std::string& text : bad) EXPECT_FALSE(isValidId(text)) << text;
}

TEST(Ids, ofDifferentKindsAreDifferentTypes) {
  EXPECT_FALSE((std::is_convertible_v<WorkerId, JobId>));
  EXPECT_FALSE((std::is_convertible_v<std::string, JobId>));
  EXPECT_EQ(JobId("a"), JobId("a"));
  EXPECT_LT(JobId("a"), JobId("b"));
  EXPECT_EQ(std::hash<JobId>{}(JobId("a")), std::hash<JobId>{}(JobId("a")));
}

}  // namespace
}  // namespace muster
