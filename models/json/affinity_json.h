#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/affinity.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/result.h"

namespace muster {

struct AffinityBody {
  Holder holder;
  std::optional<Millis> ttl;
  std::optional<std::string> metadata;  // JSON object
};
// The body of PUT /v1/affinities/{key}, with a worker or a host; notes every fault.
AffinityBody readAffinity(JsonValue value, std::vector<FieldError>& faults);
// That of a touch: only `ttl_seconds`.
std::optional<Millis> readAffinityTouch(JsonValue value, std::vector<FieldError>& faults);

void writeAffinity(JsonWriter& out, const Affinity& affinity);

}  // namespace muster
