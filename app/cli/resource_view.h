#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {

// "512 B", "1.5 MiB".
std::string bytesText(std::uint64_t bytes);

// One line each.
Table resourceTable(const std::vector<JsonValue>& resources, const std::optional<Time>& now);
Table artifactTable(const std::vector<JsonValue>& artifacts);

// What `muster artifacts get` was asked for: JOB/NAME, or the id of a resource.
struct WantedContent {
  std::string job;  // empty: it is a resource
  std::string name;
};
WantedContent wantedContent(const std::string& what);

}  // namespace muster
