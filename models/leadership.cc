#include "models/leadership.h"

#include <algorithm>

#include "models/policy/staleness.h"

namespace muster {
namespace {

constexpr Seconds kTryAgainAfter(1);

}  // namespace

std::string_view name(NodeRole role) { return kNodeRoles[static_cast<std::size_t>(role)]; }

NodeRole parseNodeRole(std::string_view name) {
  const auto found = std::find(kNodeRoles.begin(), kNodeRoles.end(), name);
  if (found == kNodeRoles.end()) return NodeRole::kWorker;
  return static_cast<NodeRole>(found - kNodeRoles.begin());
}

bool mayLead(NodeRole role) { return role == NodeRole::kAuto || role == NodeRole::kLeader; }

std::string_view shownRole(NodeRole role, bool leads) {
  if (leads) return name(NodeRole::kLeader);
  return name(role == NodeRole::kObserver ? NodeRole::kObserver : NodeRole::kWorker);
}

std::string_view statusOf(Time heartbeat_at, const NodeSilence& silence, Time now) {
  if (isStale(heartbeat_at, silence.dead, now)) return node_status::kDead;
  if (isStale(heartbeat_at, silence.stale, now)) return node_status::kStale;
  return node_status::kHealthy;
}

std::chrono::nanoseconds reliedOnUntil(std::chrono::nanoseconds asked, Millis lease) {
  return asked + std::chrono::nanoseconds(lease) * 9 / 10;
}

ElectorPlan planElection(const ElectorView& view) {
  if (view.leads && view.now >= view.relied_on_until) return {ElectorStep::kStandDown};
  const bool asks = (view.leads || view.may_lead) && !view.asking;
  if (asks && view.now >= view.next_ask) {
    return {view.leads ? ElectorStep::kRenew : ElectorStep::kCampaign};
  }
  if (!view.beating && view.now >= view.next_beat) return {ElectorStep::kBeat};
  ElectorPlan plan;
  const auto consider = [&plan](std::chrono::nanoseconds at) {
    plan.until = plan.until ? std::min(*plan.until, at) : at;
  };
  if (view.leads) consider(view.relied_on_until);
  if (asks) consider(view.next_ask);
  if (!view.beating) consider(view.next_beat);
  return plan;
}

Error notLeader(const std::string& leader_url) {
  Error error{ErrorCode::kNotLeader,
              leader_url.empty() ? "this node does not lead, and no leader is known now"
                                 : "this node does not lead; the leader is at " + leader_url};
  error.retry_after = kTryAgainAfter;
  error.leader_url = leader_url;
  return error;
}

Status admitWrite(NodeRole role, WritePolicy policy, bool leads, const std::string& leader_url) {
  if (role == NodeRole::kObserver) {
    Error error{ErrorCode::kReadOnlyNode, "this node is an observer and takes no writes"};
    error.retry_after = kTryAgainAfter;
    error.leader_url = leader_url;
    return tl::unexpected(std::move(error));
  }
  if (policy == WritePolicy::kLeader && !leads) return tl::unexpected(notLeader(leader_url));
  return {};
}

}  // namespace muster
