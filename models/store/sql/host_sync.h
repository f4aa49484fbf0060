#pragma once

#include <string>
#include <vector>

#include "models/operations/hosts.h"
#include "models/store/sql/hosts.h"
#include "models/store/sql/session.h"

namespace muster {

// What a host tells of its folder, compared with the rows. Exclusive units.
class HostSync {
 public:
  explicit HostSync(Session& session) : s_(session), rows_(session), held_(session) {}

  Result<SyncHost::Reply> take(const SyncHost& op);

 private:
  // What is on the page; those that stay are named from now on.
  void compare(const SyncHost& op, std::int64_t lost_to, Time named_at, SyncHost::Reply& reply);
  // What no page named since `began`.
  void endMissing(const std::string& holder, Time began);
  void addEvicting(const std::string& holder, SyncHost::Reply& reply);

  Session& s_;
  ResourceRows rows_;
  HeldResources held_;
};

}  // namespace muster
