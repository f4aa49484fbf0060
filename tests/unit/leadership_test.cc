#include "models/leadership.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Time kNow{Millis(1'700'000'000'000)};

TEST(Leadership, rolesSayWhoTriesAndWhatIsShown) {
  struct Case {
    std::string_view role;
    bool may_lead;
    std::string_view shown, shown_leading;
  };
  for (const auto& [role, may_lead, shown, shown_leading] :
       {Case{"auto", true, "worker", "leader"}, Case{"leader", true, "worker", "leader"},
        Case{"worker", false, "worker", "leader"}, Case{"observer", false, "observer", "leader"}}) {
    EXPECT_EQ(name(parseNodeRole(role)), role);
    EXPECT_EQ(mayLead(parseNodeRole(role)), may_lead) << role;
    EXPECT_EQ(shownRole(parseNodeRole(role), false), shown) << role;
    EXPECT_EQ(shownRole(parseNodeRole(role), true), shown_leading) << role;
  }
  EXPECT_EQ(parseNodeRole("of a newer version"), NodeRole::kWorker);
}

TEST(Leadership, silenceMakesANodeStaleThenDead) {
  struct Case {
    Millis age;
    std::string_view status;
  };
  const NodeSilence silence{30s, 120s};
  for (const auto& [age, status] :
       {Case{-5s, "healthy"}, Case{0ms, "healthy"}, Case{30s, "healthy"}, Case{30'001ms, "stale"},
        Case{120s, "stale"}, Case{120'001ms, "dead"}, Case{24h, "dead"}}) {
    EXPECT_EQ(statusOf(kNow - age, silence, kNow), status) << age.count();
  }
}

TEST(Leadership, aLeaseEndsHereATenthBeforeItEndsInTheStore) {
  EXPECT_EQ(reliedOnUntil(100s, 30s), 127s);
  EXPECT_EQ(reliedOnUntil(0s, 1ms), 900us);
}

TEST(Leadership, theElectorDoesOneThingAfterTheOther) {
  using Step = ElectorStep;
  // A leader at second 10 of a lease that is good until 27, renewal due at 20, heartbeat at 15.
  ElectorView leader;
  leader.may_lead = true;
  leader.leads = true;
  leader.now = 10s;
  leader.relied_on_until = 27s;
  leader.next_ask = 20s;
  leader.next_beat = 15s;
  ElectorView candidate = leader;
  candidate.leads = false;
  ElectorView worker = candidate;
  worker.may_lead = false;

  struct Case {
    const char* what;
    ElectorView view;
    ElectorPlan plan;
  };
  const auto at = [](ElectorView view, std::chrono::nanoseconds now, bool asking = false,
                     bool beating = false) {
    view.now = now;
    view.asking = asking;
    view.beating = beating;
    return view;
  };
  const std::vector<Case> cases = {
      {"nothing is due", at(leader, 10s), {Step::kWait, 15s}},
      {"a heartbeat is due", at(leader, 15s), {Step::kBeat}},
      {"a heartbeat is under way", at(leader, 16s, false, true), {Step::kWait, 20s}},
      {"renewing comes before beating", at(leader, 20s), {Step::kRenew}},
      {"one renewal at a time", at(leader, 21s, true, true), {Step::kWait, 27s}},
      {"a renewal that hangs does not keep it", at(leader, 27s, true), {Step::kStandDown}},
      {"nor does one that is due", at(leader, 27s), {Step::kStandDown}},
      {"long after, it still stands down first", at(leader, 9999s), {Step::kStandDown}},
      {"a candidate waits", at(candidate, 10s), {Step::kWait, 15s}},
      {"and tries", at(candidate, 20s), {Step::kCampaign}},
      {"for ever", at(candidate, 9999s), {Step::kCampaign}},
      {"one try at a time", at(candidate, 21s, true, true), {Step::kWait, std::nullopt}},
      {"a worker never tries", at(worker, 9999s, false, true), {Step::kWait, std::nullopt}},
      {"a worker beats", at(worker, 15s), {Step::kBeat}},
  };
  for (const auto& [what, view, plan] : cases) EXPECT_EQ(planElection(view), plan) << what;
}

TEST(Leadership, observersAndAPolicyRefuseWrites) {
  using enum NodeRole;
  struct Case {
    NodeRole role;
    WritePolicy policy;
    bool leads;
    std::optional<ErrorCode> refusal;
  };
  for (const auto& [role, policy, leads, refusal] : {
           Case{kAuto, WritePolicy::kAny, false, std::nullopt},
           Case{kAuto, WritePolicy::kAny, true, std::nullopt},
           Case{kWorker, WritePolicy::kAny, false, std::nullopt},
           Case{kAuto, WritePolicy::kLeader, true, std::nullopt},
           Case{kAuto, WritePolicy::kLeader, false, ErrorCode::kNotLeader},
           Case{kWorker, WritePolicy::kLeader, false, ErrorCode::kNotLeader},
           Case{kObserver, WritePolicy::kAny, false, ErrorCode::kReadOnlyNode},
           Case{kObserver, WritePolicy::kLeader, false, ErrorCode::kReadOnlyNode},
       }) {
    const Status status = admitWrite(role, policy, leads, "http://leader:8080");
    EXPECT_EQ(status ? std::nullopt : std::optional(status.error().code), refusal);
    if (status) continue;
    EXPECT_EQ(status.error().leader_url, "http://leader:8080");
    EXPECT_TRUE(status.error().retry_after);
  }
  EXPECT_NE(notLeader("").detail.find("no leader is known"), std::string::npos);
}

}  // namespace
}  // namespace muster
