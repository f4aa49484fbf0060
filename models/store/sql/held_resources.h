#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "models/policy/holder_rules.h"
#include "models/store/sql/resource_rows.h"
#include "models/store/sql/session.h"
#include "models/worker.h"

namespace muster {

// For statements about what workers and hosts hold: they find it by its holder.
#define MUSTER_IS_HELD                              \
  "r.holder <> 'store' AND r.holder <> 'external' " \
  "AND r.state IN ('uploading', 'active', 'stale', 'evicting') "

// What workers have in memory and hosts in their folders: it is stale while they are silent, lost
// when they are gone, and evicted when they have removed it. Exclusive units only, but for
// commandsOf(). One object makes one step: at most kStep resources change, and the methods that
// say so give false when something was left.
class HeldResources {
 public:
  static constexpr int kStep = 1000;

  explicit HeldResources(Session& session) : s_(session), rows_(session) {}

  // The worker or host has something from now on: a resource, or a host a key.
  static void noteHolder(Session& session, const Holder& holder);

  bool makeStale(const std::string& holder);
  bool recover(const std::string& holder);
  // What the holder has, of the numbers up to `to`.
  bool lose(const std::string& holder, std::string_view reason,
            std::int64_t to = std::numeric_limits<std::int64_t>::max());

  // The worker has ended. Its resources wait for it to come back, unless it is proven to be dead.
  void workerEnded(const Worker& worker, bool is_proven);
  // It registers anew, and has kept what it names; `before` is as it was.
  void workerRegistered(const Worker& before, std::span<const std::string> names);
  // A record of it is about to be removed.
  void workerForgotten(const Worker& worker);
  // It has removed these.
  void removedBy(const WorkerId& worker, std::span<const std::string> names);
  // It says that its resources take so much memory: above the high watermark idle ones are evicted.
  void relieveWorker(const WorkerId& worker, std::int64_t mem_bytes);
  // The same for the folder of a host.
  void relieveHost(const std::string& holder, std::int64_t disk_bytes, std::int64_t limit);
  // What it is to remove.
  std::vector<ResourceCommand> commandsOf(const WorkerId& worker);

  // The holder does not have the resource any more.
  void endOne(ResourceRow& row, AfterHolder after, std::string_view reason);
  void recoverOne(ResourceRow& row);
  // What the holder is to remove, at most so many.
  std::vector<Resource> evicting(const std::string& holder, int most);

  // For workers that are silent or gone; false: something is left.
  bool tendWorkers();

  std::int64_t changed() const { return changed_; }

 private:
  using Size = std::optional<std::int64_t> Resource::*;
  void relieve(const std::string& holder, std::int64_t in_use, std::int64_t limit, Size size);
  bool holdsSomething(const std::string& holder);
  int left() const { return kStep - static_cast<int>(changed_); }

  Session& s_;
  ResourceRows rows_;
  std::int64_t changed_ = 0;  // resources, and readers that ended with them
};

}  // namespace muster
