#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/result.h"
#include "models/time.h"

namespace muster {

// What a node was told to be. `auto` and `leader` try to lead, for ever; an observer only reads.
enum class NodeRole { kAuto, kLeader, kWorker, kObserver };
inline constexpr std::array<std::string_view, 4> kNodeRoles = {"auto", "leader", "worker",
                                                               "observer"};
std::string_view name(NodeRole role);
NodeRole parseNodeRole(std::string_view name);  // what is not known is a worker
bool mayLead(NodeRole role);
// What a node is now: leader, worker or observer.
std::string_view shownRole(NodeRole role, bool leads);

// Which nodes take writes.
enum class WritePolicy { kAny, kLeader };
inline constexpr std::array<std::string_view, 2> kWritePolicies = {"any", "leader"};

// A running service that shares its store with others.
struct Node {
  std::string id;
  NodeRole role = NodeRole::kAuto;
  std::string url;
  std::string version;
  std::string host;
  std::string status;  // one of node_status
  Time heartbeat_at;
  Time registered_at;
};

namespace node_status {
constexpr std::string_view kHealthy = "healthy";
constexpr std::string_view kStale = "stale";
constexpr std::string_view kDead = "dead";
}  // namespace node_status

// The silence after which a node counts as stale, and as dead.
struct NodeSilence {
  Millis stale = Seconds(30);
  Millis dead = Seconds(120);
};
std::string_view statusOf(Time heartbeat_at, const NodeSilence& silence, Time now);

// What entitles to the duties that only one node has. Epoch 0: there is only one node, and nothing
// to prove.
struct LeaderLease {
  std::int64_t epoch = 0;
  std::string token;

  bool operator==(const LeaderLease&) const = default;
};

// Who leads, as everybody may know it.
struct Leader {
  std::string node;
  std::string url;
  std::int64_t epoch = 0;
  Time acquired_at;
  std::optional<Time> expires_at;  // absent: there is only one node
};

// Until when, by the node's own clock, a lease can be relied on that was asked for at `asked`: less
// than it was given for, so that it ends here before it ends in the store.
std::chrono::nanoseconds reliedOnUntil(std::chrono::nanoseconds asked, Millis lease);

// What an elector knows. Times are of the node's own monotonic clock.
struct ElectorView {
  bool may_lead = false;
  bool leads = false;
  bool asking = false;   // a campaign or a renewal is under way
  bool beating = false;  // so is a heartbeat
  std::chrono::nanoseconds now{0};
  std::chrono::nanoseconds relied_on_until{0};  // of the lease, while it leads
  std::chrono::nanoseconds next_ask{0};
  std::chrono::nanoseconds next_beat{0};
};

enum class ElectorStep { kStandDown, kRenew, kCampaign, kBeat, kWait };

struct ElectorPlan {
  ElectorStep step = ElectorStep::kWait;
  // kWait: until then, or until something happens; absent: only the latter.
  std::optional<std::chrono::nanoseconds> until = {};

  bool operator==(const ElectorPlan&) const = default;
};

// What an elector does next. Standing down comes before everything else.
ElectorPlan planElection(const ElectorView& view);

// Whether a node takes a write: kReadOnlyNode, kNotLeader.
Status admitWrite(NodeRole role, WritePolicy policy, bool leads, const std::string& leader_url);
// The refusal of what only the leader does.
Error notLeader(const std::string& leader_url);

}  // namespace muster
