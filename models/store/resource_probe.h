#pragma once

#include "models/store/sql/sql_connection.h"
#include "models/store/store_probe.h"

namespace muster {

// What there is to know of the bytes of resources, in a store whose migrations are all applied.
// `now` is the time of the clock that the store goes by.
StoreFindings::Resources probeResources(SqlConnection& db, Time now, const BlobFolderView& folder);

}  // namespace muster
