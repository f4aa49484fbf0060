#include "controllers/buffer_budget.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(BufferBudget, gives_callers_that_are_not_known_half) {
  BufferBudget budget(100, 10);
  EXPECT_TRUE(budget.take(50, Caller::kUnknown));
  const Status refused = budget.take(1, Caller::kUnknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreBusy);
  EXPECT_TRUE(budget.take(50, Caller::kKnown));
  EXPECT_FALSE(budget.take(1, Caller::kKnown));
  budget.giveBack(60);
  EXPECT_TRUE(budget.take(10, Caller::kUnknown));
}

TEST(BufferBudget, has_room_for_one_body_of_anybody) {
  BufferBudget budget(100, 90);
  EXPECT_TRUE(budget.take(90, Caller::kUnknown));
  EXPECT_FALSE(budget.take(90, Caller::kKnown));
}

}  // namespace
}  // namespace muster
