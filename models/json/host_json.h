#pragma once

#include <vector>

#include "models/host.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/operations/hosts.h"
#include "models/result.h"

namespace muster {

void writeHost(JsonWriter& out, const Host& host);

// The body of a sync, all but the host; notes every fault.
SyncHost readSync(JsonValue value, std::vector<FieldError>& faults);

}  // namespace muster
