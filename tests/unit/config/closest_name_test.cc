#include "app/config/closest_name.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Case {
  std::string name;
  std::optional<std::string> closest;
};

TEST(ClosestName, findsWhatWasProbablyMeant) {
  const std::vector<std::string> candidates = {"listen", "store", "max_retries", "push", "pools"};
  const std::vector<Case> cases = {
      {"listn", "listen"},
      {"lisetn", "listen"},
      {"LISTEN", "listen"},
      {"max-retries", "max_retries"},
      {"max_retrys", "max_retries"},
      {"psuh", "push"},
      {"pool", "pools"},
      {"banana", std::nullopt},
      {"", std::nullopt},
      {"x", std::nullopt},
      {std::string(1000, 'a'), std::nullopt},
  };
  for (const auto& [name, closest] : cases)
    EXPECT_EQ(closestName(name, candidates), closest) << name;
}

TEST(ClosestName, suggestionIsEmptyWhenNothingIsNear) {
  EXPECT_EQ(suggestion("stroe", {"store"}), ", did you mean \"store\"?");
  EXPECT_EQ(suggestion("banana", {"store"}), "");
}

}  // namespace
}  // namespace muster
