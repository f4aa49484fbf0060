#include "models/pool.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(PoolSettings, builtInAreTheDocumentedDefaults) {
  const PoolSettings s = PoolSettings::builtIn();
  EXPECT_EQ(s.worker_mode, "once");
  EXPECT_EQ(s.paused, false);
  EXPECT_EQ(s.lease(), Seconds(60));
  EXPECT_EQ(s.heartbeatInterval(), Seconds(30));
  EXPECT_FALSE(s.stale_threshold_seconds);
  EXPECT_EQ(s.staleAfter(), Seconds(60));
  EXPECT_EQ(s.max_retries, 3);
  EXPECT_EQ(s.retryPolicy().base, Millis(400));
  EXPECT_EQ(s.retryPolicy().jitter, 0.2);
  EXPECT_EQ(s.retryPolicy().cap, Seconds(60));
  EXPECT_EQ(s.per_tenant_concurrency, 3);
  EXPECT_EQ(s.slots, 1);
  EXPECT_EQ(s.jobs_per_worker, 1);
  EXPECT_EQ(s.max_workers, 10);
  EXPECT_EQ(s.max_workers_per_host, 0);
  EXPECT_EQ(s.launch_backoff_base_seconds, 1);
  EXPECT_EQ(s.launch_backoff_cap_seconds, 300);
  EXPECT_EQ(s.launch_suspend_after, 10);
  EXPECT_FALSE(contradiction(s));
}

TEST(PoolSettings, overlayTakesWhatTheTopSetsAndTheBaseForTheRest) {
  PoolSettings top;
  top.lease_seconds = 5;
  top.paused = true;
  top.retry_jitter = 0.0;
  top.template_name = "analyze";
  const PoolSettings base = PoolSettings::builtIn();
  const PoolSettings merged = overlay(base, top);
  EXPECT_EQ(merged.lease_seconds, 5);
  EXPECT_EQ(merged.paused, true);
  EXPECT_EQ(merged.retry_jitter, 0.0);
  EXPECT_EQ(merged.template_name, "analyze");
  EXPECT_EQ(merged.heartbeat_interval_seconds, base.heartbeat_interval_seconds);
  EXPECT_EQ(overlay(base, {}), base);
  EXPECT_EQ(overlay({}, base), base);
  EXPECT_EQ(overlay(overlay(base, top), top), merged);
}

template <class T>
T sample() {
  if constexpr (std::is_same_v<T, std::string>) {
    return "x";
  } else if constexpr (std::is_same_v<T, std::vector<ScheduledFloor>>) {
    return {{"0 8 * * *", "", 2}};
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return {"cpu"};
  } else {
    return T(1);
  }
}

TEST(PoolSettings, everyFieldIsInTheListOnce) {
  std::set<std::string> names;
  PoolSettings all;
  eachPoolField(
      [&](std::string_view group, std::string_view field, auto member, const FieldRule& rule) {
        EXPECT_TRUE(names.insert(std::string(group) + "/" + std::string(field)).second) << field;
        EXPECT_FALSE((all.*member).has_value()) << field << " is listed under two names";
        all.*member = sample<typename std::remove_reference_t<decltype(all.*member)>::value_type>();
        EXPECT_LE(rule.min, rule.max) << field;
      });
  EXPECT_EQ(overlay({}, all), all);
}

TEST(PoolSettings, staleAfterIsTwiceTheHeartbeatUnlessItIsSet) {
  PoolSettings s = PoolSettings::builtIn();
  s.heartbeat_interval_seconds = 7;
  EXPECT_EQ(s.staleAfter(), Seconds(14));
  s.stale_threshold_seconds = 100;
  EXPECT_EQ(s.staleAfter(), Seconds(100));
}

TEST(PoolSettings, inForceAreTheGivenOnesOverTheDefaults) {
  PoolSettings given;
  given.heartbeat_interval_seconds = 7;
  const PoolSettings settings = inForce(PoolSettings::builtIn(), given);
  EXPECT_EQ(settings.heartbeat_interval_seconds, 7);
  EXPECT_EQ(settings.lease_seconds, 60);
  EXPECT_EQ(settings.stale_threshold_seconds, 14) << "shown, although nobody set it";
  given.stale_threshold_seconds = 99;
  EXPECT_EQ(inForce(PoolSettings::builtIn(), given).stale_threshold_seconds, 99);
}

TEST(PoolSettings, children_go_into_the_pool_itself_or_those_that_are_listed) {
  Pool pool;
  pool.id = PoolId("p");
  EXPECT_TRUE(mayAddChildren(pool, PoolId("p")));
  EXPECT_FALSE(mayAddChildren(pool, PoolId("q")));
  pool.settings.child_pools = std::vector<std::string>{};
  EXPECT_TRUE(mayAddChildren(pool, PoolId("p")));
  EXPECT_FALSE(mayAddChildren(pool, PoolId("q")));
  pool.settings.child_pools = std::vector<std::string>{"q", "r"};
  EXPECT_FALSE(mayAddChildren(pool, PoolId("p"))) << "it is not in the list";
  EXPECT_TRUE(mayAddChildren(pool, PoolId("q")));
  EXPECT_TRUE(mayAddChildren(pool, PoolId("r")));
}

TEST(PoolSettings, contradictionNamesTheField) {
  struct Case {
    std::string_view what;
    PoolSettings set;
    std::optional<std::string> pointer;
  };
  const auto with = [](auto... changes) {
    PoolSettings s;
    (changes(s), ...);
    return s;
  };
  const Case cases[] = {
      {"nothing set", {}, std::nullopt},
      {"min = max", with([](auto& s) { s.min_workers = 10; }), std::nullopt},
      {"min > max", with([](auto& s) { s.min_workers = 11; }), "/scaling/min_workers"},
      {"max lowered below min", with([](auto& s) { s.min_workers = 2, s.max_workers = 1; }),
       "/scaling/min_workers"},
      {"warm_idle = max", with([](auto& s) { s.warm_idle = 10; }), std::nullopt},
      {"warm_idle > max", with([](auto& s) { s.warm_idle = 11; }), "/scaling/warm_idle"},
      {"stale = heartbeat", with([](auto& s) { s.stale_threshold_seconds = 30; }), std::nullopt},
      {"stale < heartbeat", with([](auto& s) { s.stale_threshold_seconds = 29; }),
       "/stale_threshold_seconds"},
      {"heartbeat raised above stale",
       with([](auto& s) { s.stale_threshold_seconds = 60, s.heartbeat_interval_seconds = 61; }),
       "/stale_threshold_seconds"},
  };
  for (const Case& c : cases) {
    const auto fault = contradiction(overlay(PoolSettings::builtIn(), c.set));
    EXPECT_EQ(fault ? std::optional(fault->first) : std::nullopt, c.pointer) << c.what;
  }
}

}  // namespace
}  // namespace muster
