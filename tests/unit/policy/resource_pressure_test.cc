#include "models/policy/resource_pressure.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace muster {
namespace {

constexpr Watermarks kMarks{90, 80};

TEST(ResourcePressure, a_worker_is_over_its_limit_when_either_kind_is) {
  constexpr ResourceLimits kLimits{100, 10};
  EXPECT_FALSE(isOverLimit({}, kLimits));
  EXPECT_FALSE(isOverLimit({100, 10}, kLimits));
  EXPECT_TRUE(isOverLimit({101, 0}, kLimits));
  EXPECT_TRUE(isOverLimit({{}, 11}, kLimits));
}

TEST(ResourcePressure, above_the_high_watermark_it_goes_down_to_the_low_one) {
  struct Case {
    std::string what;
    std::int64_t in_use, leaving, limit, bytes;
  };
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const Case cases[] = {
      {"at the mark", 900, 0, 1000, 0},
      {"above it", 901, 0, 1000, 101},
      {"over the limit", 1500, 0, 1000, 700},
      {"what is leaving counts as gone", 1000, 100, 1000, 0},
      {"not enough is leaving", 1000, 50, 1000, 150},
      {"more is leaving than there is", 10, 50, 1000, 0},
      {"a limit of nothing", 1, 0, 0, 1},
      {"a limit without end", kHuge, 0, kHuge, kHuge - kHuge / 100 * 80 - kHuge % 100 * 80 / 100},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(bytesToFree(each.in_use, each.leaving, each.limit, kMarks), each.bytes) << each.what;
  }
}

TEST(ResourcePressure, the_first_go_until_it_is_enough) {
  using Sizes = std::vector<std::optional<std::int64_t>>;
  struct Case {
    std::string what;
    Sizes sizes;
    std::int64_t bytes;
    std::size_t count;
  };
  const Case cases[] = {
      {"nothing to free", {10, 10}, 0, 0},
      {"nothing idle", {}, 10, 0},
      {"just enough", {10, 10, 10}, 20, 2},
      {"one byte more", {10, 10, 10}, 21, 3},
      {"not enough", {10, 10}, 100, 2},
      {"an unknown one goes alone", {std::nullopt, 10, 10}, 20, 1},
      {"up to the unknown one", {10, std::nullopt, 10}, 100, 2},
      {"empty ones do not help", {0, 0, 5}, 5, 3},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(countToEvict(each.sizes, each.bytes), each.count) << each.what;
  }
}

}  // namespace
}  // namespace muster
