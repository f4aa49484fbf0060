#include "models/json/pool_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using Lines = std::vector<std::string>;

PoolSettings reading(const std::string& text, Lines& noted) {
  const auto doc = JsonDoc::parse(text);
  EXPECT_TRUE(doc) << text;
  std::vector<FieldError> faults;
  auto settings = readPoolSettings(doc->root(), faults);
  for (const FieldError& fault : faults) noted.push_back(fault.pointer + " " + fault.code);
  return settings;
}

// Some value that the rule allows.
template <class T>
T allowed(const FieldRule& rule) {
  if constexpr (std::is_same_v<T, std::string>) {
    return rule.choices.empty() ? "some-name" : rule.choices.back();
  } else if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_same_v<T, std::vector<ScheduledFloor>>) {
    return {{"0 8 * * 1-5", "Europe/Berlin", 5}, {"0 18 * * *", "", 0}};
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return {"cpu", "net.eu"};
  } else {
    return static_cast<T>(rule.max);
  }
}

PoolSettings everythingSet() {
  PoolSettings all;
  eachPoolField([&](std::string_view, std::string_view, auto member, const FieldRule& rule) {
    all.*member =
        allowed<typename std::remove_reference_t<decltype(all.*member)>::value_type>(rule);
  });
  return all;
}

TEST(PoolJson, everyFieldIsReadBack) {
  Lines faults;
  const PoolSettings all = everythingSet();
  EXPECT_EQ(reading(writePoolSettings(all), faults), all);
  EXPECT_EQ(faults, Lines{});
}

TEST(PoolJson, whatIsNotSetIsNotWritten) {
  EXPECT_EQ(writePoolSettings({}), "{}");
  Lines faults;
  EXPECT_EQ(reading("{}", faults), PoolSettings{});
  EXPECT_EQ(reading(R"({"lease_seconds":null,"scaling":null,"retry":{}})", faults), PoolSettings{});
  PoolSettings some;
  some.lease_seconds = 5;
  some.retry_jitter = 0.25;
  EXPECT_EQ(writePoolSettings(some), R"({"lease_seconds":5,"retry":{"jitter":0.25}})");
  EXPECT_EQ(faults, Lines{});
}

TEST(PoolJson, builtInSettingsAreReadBack) {
  Lines faults;
  EXPECT_EQ(reading(writePoolSettings(PoolSettings::builtIn()), faults), PoolSettings::builtIn());
  EXPECT_EQ(faults, Lines{});
}

TEST(PoolJson, notesAllFaultsInAllGroups) {
  Lines faults;
  reading(R"({"lease_seconds":0,"heartbeat_interval_seconds":"30","stale_threshold_seconds":0,
              "worker_mode":"twice","paused":"yes","template":"a b",
              "scaling":{"mode":"x","max_workers":-1,"speed":1},
              "retry":{"jitter":1.5,"base_ms":0.5},
              "limits":{"per_tenant_concurrency":0},"colour":"red",
              "child_pools":["ok",7,"a b",""]})",
          faults);
  std::sort(faults.begin(), faults.end());
  EXPECT_EQ(faults,
            (Lines{"/child_pools/1 format", "/child_pools/2 format", "/child_pools/3 format",
                   "/colour unknown_field", "/heartbeat_interval_seconds type",
                   "/lease_seconds range", "/limits/per_tenant_concurrency range", "/paused type",
                   "/retry/base_ms type", "/retry/jitter range", "/scaling/max_workers range",
                   "/scaling/mode choice", "/scaling/speed unknown_field",
                   "/stale_threshold_seconds range", "/template format", "/worker_mode choice"}));
}

TEST(PoolJson, refusesAGroupThatIsNoObject) {
  Lines faults;
  reading(R"({"scaling":[],"retry":3})", faults);
  EXPECT_EQ(faults, (Lines{"/scaling type", "/retry type"}));
}

TEST(PoolJson, writesThePoolWithTheSettingsInForce) {
  Pool pool;
  pool.id = PoolId("p");
  pool.settings = PoolSettings::builtIn();
  pool.version = 4;
  pool.created_at = pool.updated_at = fromMillis(0);
  JsonWriter out;
  writePool(out, pool, {}, {});
  const std::string text = out.take();
  ASSERT_TRUE(JsonDoc::parse(text)) << text;
  for (const char* part : {R"("pool_id":"p")", R"("lease_seconds":60)", R"("launch_state":"ok")",
                           R"("retry":{"max_retries":3,"base_ms":400,"jitter":0.2,"cap_ms":60000})",
                           R"("limits":{"per_tenant_concurrency":3})", R"("version":4)",
                           R"("created_at":"1970-01-01T00:00:00.000Z")"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(PoolJson, writesStatsAsFlatNumbers) {
  PoolStats stats;
  stats.pending = 3;
  stats.runnable = 2;
  stats.unplaceable = 1;
  stats.blocked = 7;
  stats.oldest_pending_seconds = 1.5;
  JsonWriter out;
  writePoolStats(out, PoolId("p"), stats);
  EXPECT_EQ(
      out.take(),
      R"({"pool_id":"p","queue_depth":3,"runnable":2,"unplaceable":1,"pinned":0,"pinned_waiting":0,)"
      R"("delayed":0,"blocked":7,)"
      R"("claimed":0,"done":0,)"
      R"("poisoned":0,"cancelled":0,"starting_workers":0,"active_workers":0,"busy_workers":0,)"
      R"("idle_workers":0,"terminating_workers":0,"lost_workers":0,)"
      R"("oldest_pending_seconds":1.5,"p95_wait_ms":0})");
}

}  // namespace
}  // namespace muster
