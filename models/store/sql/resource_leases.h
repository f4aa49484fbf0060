#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/store/sql/resource_rows.h"

namespace muster {

// Holds of resources for a time. What ends one also takes it from the resource's count, so that the
// resource goes with its last user. Those of a try end with it (Session::leases_over). Exclusive
// units, but for endOfWorker().
class ResourceLeases {
 public:
  explicit ResourceLeases(Session& session) : s_(session) {}

  // Who has a lease: a worker, or a try of a job, or nobody (both empty and 0).
  struct By {
    std::string worker = {};
    std::int64_t job = 0;
    int attempt = 0;
  };
  // Until `until`; without it until the try ends. The same worker or try has its lease prolonged;
  // nobody's is always a new one. Its id.
  std::string take(ResourceRow& row, const By& by, std::optional<Time> until);
  // False: there is no such lease of the resource.
  bool release(ResourceRow& row, const std::string& lease);

  void endOfWorker(const std::string& worker);
  // Those whose time is over; how many there were.
  std::int64_t endDue(int limit);

 private:
  std::int64_t end(SqlCursor ended);

  Session& s_;
};

}  // namespace muster
