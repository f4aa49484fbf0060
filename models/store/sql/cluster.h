#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/leadership.h"
#include "models/store/sql/session.h"

namespace muster {

// The nodes that share the store, and which of them leads.
//
// Leading is a lease on the one row of `leader`: whoever finds it expired takes it, with a token of
// its own and the next epoch. Nothing else decides, so there are never two holders.
class Cluster {
 public:
  explicit Cluster(Session& session) : s_(session) {}

  // The node is there, and was not before: node.joined. Another instance under the same id gives
  // way.
  void join(const Node& node, const std::string& instance);
  // The node is still there. False when it is not joined as this instance.
  bool beat(const std::string& id, const std::string& instance);
  // The node goes away by itself: node.lost.
  void leave(const std::string& id, const std::string& instance);
  // Notes which nodes have fallen silent. Each that is found dead leaves one node.lost; their ids.
  std::vector<std::string> noteSilent(const NodeSilence& silence);
  // Dead nodes not heard of since `before`.
  std::int64_t removeDead(Time before, int limit);

  // Ends the connections of services that have stood still in a transaction for so long: everybody
  // else waits for what they hold. How many. Also where only reads are allowed.
  std::int64_t endStandstills(Millis silence);

  // The first `limit` by id, each with the status it has now.
  std::vector<Node> list(const NodeSilence& silence, int limit);
  // The node as it was last heard of, with the process it was.
  struct Occupant {
    Node node;
    std::string instance;
  };
  std::optional<Occupant> occupant(const std::string& id, const NodeSilence& silence);
  // Where the other nodes launch that are healthy, as it was last noted; nothing on the only node.
  std::vector<std::string> otherHosts();

  // Takes the lease, unless somebody holds it: nothing. leader.elected, and leader.lost for one
  // whose lease ran out.
  std::optional<LeaderLease> acquire(const std::string& id, Millis lease);
  // False when the lease was lost, or ran out; then it is over.
  bool renew(const LeaderLease& held, Millis lease);
  // Ends the lease now: leader.lost. False when it was not held any more.
  bool resign(const LeaderLease& held);
  // Whether the lease is held, from now to the end of the transaction.
  bool holds(const LeaderLease& held);
  // Who leads now, if anybody does.
  std::optional<Leader> leader();

 private:
  void emit(std::string_view type, const std::string& node, std::string details);

  Session& s_;
};

}  // namespace muster
