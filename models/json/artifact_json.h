#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_reader.h"
#include "models/policy/inline_rules.h"
#include "models/resource.h"

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

// Whether a report with these (as readArtifacts() wrote them) may name resources. Then it is looked
// at before its job is done, in an exclusive unit, since it may register what its worker holds.
bool mayRegister(const std::optional<std::string>& result, const std::string& artifacts);

// The name under which a field was sent: snake_case, or as seed 003 has it. A fault when both were.
std::string_view spelling(ObjectReader& in, std::string_view snake, std::string_view camel);

// An item that readArtifacts() wrote and that is no note.
struct NamedArtifact {
  std::size_t index = 0;  // among all items
  std::string name;
  std::string type;
  bool is_inline = false;
  std::string resource;  // its id or uid, empty: none
  std::string worker;    // that is said to hold it, empty: not said
  std::optional<std::int64_t> size_bytes;
  std::optional<Time> expires_at;
  std::string metadata;  // JSON object, empty: none
};
std::vector<NamedArtifact> namedArtifacts(const std::string& artifacts);

// What the store knows of an artifact.
struct StoredArtifact {
  std::string name;
  int attempt = 0;  // in which it was put; 0: it was not, the report only names the resource
  Resource resource;
};
// What is kept and shown of a report's artifacts (as readArtifacts() wrote them) when these are
// stored: an item that names a stored one, by name or by resource, has what the store knows of it
// besides; stored ones that no item names follow. Empty: there are none.
std::string mergeArtifacts(const std::string& handed, std::span<const StoredArtifact> stored);

// One that readArtifacts() or mergeArtifacts() wrote, by its name.
struct KeptArtifact {
  std::optional<std::string> value;  // JSON; absent: it is a reference
  std::string resource;              // its id, empty: none
  std::string uid;                   // of the resource, empty: nobody registered it
};
std::optional<KeptArtifact> findArtifact(const std::string& artifacts, std::string_view name);

}  // namespace muster
