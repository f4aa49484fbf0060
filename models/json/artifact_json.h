#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_reader.h"
#include "models/policy/inline_rules.h"

namespace muster {

// The artifacts of a report.
struct HandedArtifacts {
  std::string json;  // an array, as it is kept and shown; empty: none
  std::vector<InlineArtifact> inlined;
};

// Reads the member "artifacts". An item with a name, a resource_id, a value or `inline` is written
// anew, in snake_case and under its name (that of its resource if it has none), with all else that
// it has; one with none of them is a note, and kept as it was sent. The camelCase names of
// resourceId, workerId, workerName, sizeBytes and expiresAt are taken as well, but not both of one.
HandedArtifacts readArtifacts(ObjectReader& in, std::vector<FieldError>& faults);

// One that readArtifacts() wrote, by its name.
struct KeptArtifact {
  std::optional<std::string> value;  // JSON; absent: it is a reference
  std::string resource;              // its id, empty: none
};
std::optional<KeptArtifact> findArtifact(const std::string& artifacts, std::string_view name);

}  // namespace muster
