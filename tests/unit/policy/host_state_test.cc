#include "models/policy/host_state.h"

#include <gtest/gtest.h>

#include <string>

namespace muster {
namespace {

constexpr Time kNow{Millis(1'700'000'000'000)};
constexpr HostPatience kPatience{Seconds(300), Seconds(3600)};

TEST(HostState, follows_from_what_is_known_of_the_host) {
  const std::optional<Time> none;
  struct Case {
    std::string what;
    HostSigns signs;
    HostState state;
  };
  const Case cases[] = {
      {"nothing is known", {false, false, none, none}, HostState::kAway},
      {"a worker is on it", {true, false, none, none}, HostState::kUp},
      {"a node is on it", {false, true, none, none}, HostState::kUp},
      {"a worker, after all the grace", {true, false, none, kNow - Seconds(9999)}, HostState::kUp},
      {"it told of its folder", {false, false, kNow - Seconds(300), none}, HostState::kUp},
      {"that was too long ago", {false, false, kNow - Millis(300'001), none}, HostState::kAway},
      {"within the grace", {false, false, none, kNow - Millis(3'599'999)}, HostState::kAway},
      {"the grace is over", {false, false, none, kNow - Seconds(3600)}, HostState::kLost},
      {"a sync after the grace", {false, false, kNow, kNow - Seconds(9999)}, HostState::kUp},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(judgeHost(each.signs, kPatience, kNow), each.state) << each.what;
  }
}

}  // namespace
}  // namespace muster
