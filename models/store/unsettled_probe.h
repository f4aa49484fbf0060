#pragma once

#include "models/store/sql/sql_connection.h"
#include "models/store/store_probe.h"

namespace muster {

// What flows have left to settle, in a store whose migrations are all applied. `now` is the time of
// the clock that the store goes by.
StoreFindings::Unsettled probeUnsettled(SqlConnection& db, Time now);

inline bool hasAllMigrations(const StoreFindings& found) {
  return found.migrations && *found.migrations && (*found.migrations)->pending.empty() &&
         !(*found.migrations)->applied.empty();
}

}  // namespace muster
