#include "models/policy/inline_rules.h"

#include <fmt/format.h>

namespace muster {

Status checkInline(const std::optional<std::string>& result,
                   std::span<const InlineArtifact> artifacts, const InlineRules& rules) {
  std::size_t bytes = result ? result->size() : 0;
  std::vector<FieldError> faults;
  for (const InlineArtifact& artifact : artifacts) {
    bytes += artifact.bytes;
    if (!rules.forced_reference_types.contains(artifact.type)) continue;
    faults.push_back({artifact.pointer, "forced_reference",
                      fmt::format("an artifact of the type '{}' must not have a value: "
                                  "forced_reference_types names it",
                                  artifact.type)});
  }
  if (!faults.empty()) {
    return tl::unexpected(Error{ErrorCode::kInvalid, faults.front().detail, std::move(faults)});
  }
  if (bytes <= rules.limit_bytes) return {};
  return fail(ErrorCode::kInlineLimit,
              fmt::format("the result and the values of artifacts have {} bytes; "
                          "inline_payload_limit_bytes allows {}",
                          bytes, rules.limit_bytes));
}

}  // namespace muster
