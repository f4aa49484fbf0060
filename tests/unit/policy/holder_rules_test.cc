#include "models/policy/holder_rules.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr Time kNow{Millis(1'700'000'000'000)};

Resource resourceIn(ResourceState state, std::int64_t refs = 0, std::int64_t leases = 0) {
  Resource made;
  made.id = "r";
  made.holder = {Holder::Kind::kHost, "h"};
  made.state = state;
  made.ref_count = refs;
  made.lease_count = leases;
  made.created_at = kNow;
  return made;
}

TEST(HolderRules, what_becomes_of_a_resource_whose_holder_does_not_have_it) {
  using State = ResourceState;
  using After = AfterHolder;
  struct Case {
    std::string what;
    Resource resource;
    After gone, removed;  // the holder is gone; it has removed it by itself
  };
  Case cases[] = {
      {"idle", resourceIn(State::kActive), After::kLost, After::kEvicted},
      {"stale", resourceIn(State::kStale), After::kLost, After::kEvicted},
      {"named by a job", resourceIn(State::kActive, 1), After::kLost, After::kLost},
      {"leased", resourceIn(State::kActive, 0, 1), After::kLost, After::kLost},
      {"was to go", resourceIn(State::kEvicting), After::kEvicted, After::kEvicted},
      {"was to go, and is in use", resourceIn(State::kEvicting, 1), After::kLost, After::kLost},
      {"there is a copy", resourceIn(State::kActive, 1), After::kCopied, After::kCopied},
      {"there is a copy elsewhere", resourceIn(State::kActive, 1), After::kCopied, After::kCopied},
      {"was to go, with a copy", resourceIn(State::kEvicting), After::kEvicted, After::kEvicted},
  };
  cases[6].resource.stored = true;
  cases[7].resource.uri = "s3://b/k";
  cases[8].resource.stored = true;
  for (const Case& each : cases) {
    EXPECT_EQ(judgeWithoutHolder(each.resource), each.gone) << each.what;
    EXPECT_EQ(judgeRemoved(each.resource), each.removed) << each.what;
  }
}

TEST(HolderRules, what_a_host_is_to_do_with_a_file) {
  using State = ResourceState;
  struct Case {
    std::string what;
    Resource resource;
    SyncVerdict verdict;
  };
  Case cases[] = {
      {"it holds it", resourceIn(State::kActive), SyncVerdict::kKeep},
      {"it was away", resourceIn(State::kStale), SyncVerdict::kKeep},
      {"it is to go", resourceIn(State::kEvicting), SyncVerdict::kEvict},
      {"it is to go, but a job reads it", resourceIn(State::kEvicting, 1), SyncVerdict::kKeep},
      {"it is to go, but is leased", resourceIn(State::kEvicting, 0, 1), SyncVerdict::kKeep},
      {"it is evicted", resourceIn(State::kEvicted), SyncVerdict::kEvict},
      {"it was given up", resourceIn(State::kLost), SyncVerdict::kUnknown},
      {"another host holds it", resourceIn(State::kActive), SyncVerdict::kUnknown},
  };
  cases[7].resource.holder.name = "g";
  for (const Case& each : cases) {
    EXPECT_EQ(judgeNamed(&each.resource, "h"), each.verdict) << each.what;
  }
  EXPECT_EQ(judgeNamed(nullptr, "h"), SyncVerdict::kUnknown) << "there is no such resource";
}

TEST(HolderRules, what_the_pages_of_a_sync_did_not_name) {
  const Time began = kNow - Seconds(5);
  const Resource active = resourceIn(ResourceState::kActive);
  EXPECT_TRUE(isMissing(active, began - Millis(1), began, kNow)) << "it was named before";
  EXPECT_FALSE(isMissing(active, began, began, kNow)) << "by these pages";
  EXPECT_FALSE(isMissing(active, std::nullopt, began, kNow)) << "it may still come";
  EXPECT_FALSE(isMissing(active, std::nullopt, began, kNow + Seconds(3600)));
  EXPECT_TRUE(isMissing(active, std::nullopt, began, kNow + Millis(3'600'001)));
  const Resource evicting = resourceIn(ResourceState::kEvicting);
  EXPECT_TRUE(isMissing(evicting, std::nullopt, began, kNow)) << "it need not come any more";
}

TEST(HolderRules, a_worker_is_told_scope_by_scope) {
  const auto going = [](const std::string& id, std::string_view reason, const std::string& scope) {
    Resource made = resourceIn(ResourceState::kEvicting);
    made.id = id;
    made.reason = reason;
    made.scope = scope;
    return made;
  };
  const std::vector<Resource> evicting = {
      going("a", resource_reason::kScopeReleased, "s"), going("b", resource_reason::kDeleted, "s"),
      going("c", resource_reason::kScopeReleased, "t"), going("d", resource_reason::kExpired, ""),
      going("e", resource_reason::kScopeReleased, "s")};
  const auto commands = commandsFor(evicting);
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_EQ(commands[0].scope, "s");
  EXPECT_EQ(commands[0].ids, (std::vector<std::string>{"a", "e"}));
  EXPECT_EQ(commands[1].scope, "");
  EXPECT_EQ(commands[1].ids, (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(commands[2].scope, "t");
  EXPECT_TRUE(commandsFor({}).empty());
}

}  // namespace
}  // namespace muster
