#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/settings.h"
#include "app/leadership/elector.h"
#include "app/leadership/membership.h"
#include "models/clock.h"
#include "models/store/storage.h"

namespace muster {

// This service as one of the nodes that share a store; or as the only one, which always leads and
// has no elector. Thread-safe.
class ClusterNode {
 public:
  ClusterNode(const Settings& settings, std::string host, const Clock& clock, const Log& log);

  const std::string& id() const { return self_.id; }
  // Where others reach this node when it listens on `port`.
  std::string advertisedUrl(int port) const;
  bool alone() const { return alone_; }
  bool observes() const { return self_.role == NodeRole::kObserver; }
  // False for an observer: it has no part in what the others do.
  bool works() const { return !observes(); }

  // Why this node may not go by its id: somebody else does. The error is for a person.
  std::optional<std::string> obstacle(Storage& storage) const;
  // The service listens on `port` now: joins, and tries to lead.
  void begin(Storage& storage, int port);

  // What entitles this node to the duties of the leader now; nothing when it does not lead.
  std::optional<LeaderLease> lease() const;
  // Whether a write may be taken here: kReadOnlyNode, kNotLeader.
  Status admitWrite() const;
  // False: admitWrite() never refuses.
  bool refusesWrites() const;
  // kNotLeader, kNotClustered.
  void resign(std::function<void(Status)> done);
  // Another node's lead may have ended.
  void tryToLead();

  // The cluster as the store knows it.
  struct View {
    std::string role;
    std::optional<Leader> leader;
    std::vector<Node> nodes;
  };
  View view(Store& store) const;

  void retire();
  void stop();

 private:
  const Settings& settings_;
  const Clock& clock_;
  const Log& log_;
  const bool alone_;
  const Time started_at_;
  const NodeSilence silence_;
  Node self_;  // its url, and what follows, belong to everybody once it has begun
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<Elector> own_elector_;
  std::atomic<Elector*> elector_ = nullptr;
  std::atomic<bool> begun_ = false;
};

}  // namespace muster
