#include "controllers/buffer_budget.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(BufferBudget, gives_callers_that_are_not_known_half) {
  BufferBudget budget(100, 10);
  EXPECT_TRUE(budget.take(50, CallerKind::kUnknown));
  const Status refused = budget.take(1, CallerKind::kUnknown);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStoreBusy);
  EXPECT_TRUE(budget.take(50, CallerKind::kKnown));
  EXPECT_FALSE(budget.take(1, CallerKind::kKnown));
  budget.giveBack(60);
  EXPECT_TRUE(budget.take(10, CallerKind::kUnknown));
}

TEST(BufferBudget, has_room_for_one_body_of_anybody) {
  BufferBudget budget(100, 90);
  EXPECT_TRUE(budget.take(90, CallerKind::kUnknown));
  EXPECT_FALSE(budget.take(90, CallerKind::kKnown));
}

}  // namespace
}  // namespace muster
