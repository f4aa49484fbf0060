#include "app/cli/progress_bar.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ProgressBar, fillsAsTheWorkIsDone) {
  EXPECT_EQ(progressBar(0, 10, 12), "[░░░░░░░░░░]");
  EXPECT_EQ(progressBar(5, 10, 12), "[█████░░░░░]");
  EXPECT_EQ(progressBar(9, 10, 7), "[████░]");
  EXPECT_EQ(progressBar(10, 10, 12), "[██████████]");
}

TEST(ProgressBar, neverLeavesItsPlace) {
  EXPECT_EQ(progressBar(12, 10, 4), "[██]");
  EXPECT_EQ(progressBar(0, 0, 4), "[██]");
  EXPECT_EQ(progressBar(1, 2, 1), "[]");
}

}  // namespace
}  // namespace muster
