#include "app/worker/output_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/json/utf8.h"
#include "models/resource.h"

namespace muster {
namespace {

constexpr std::size_t kMostOutputs = 1000;

}  // namespace

tl::expected<std::vector<FoundOutput>, std::string> planOutputs(std::vector<FoundOutput> found,
                                                                bool spilled) {
  std::sort(found.begin(), found.end(),
            [](const FoundOutput& a, const FoundOutput& b) { return a.name < b.name; });
  if (found.size() + (spilled ? 1 : 0) > kMostOutputs) {
    return tl::unexpected(
        fmt::format("{} outputs; at most {} may be artifacts: put them into a folder, which is one",
                    found.size(), kMostOutputs));
  }
  for (const FoundOutput& output : found) {
    const std::string name = validUtf8(output.name);
    if (!isSlashedName(output.name)) {
      return tl::unexpected(fmt::format(
          "the output '{}' cannot be an artifact: a name has letters, digits and ._~:- only",
          name));
    }
    if (output.kind == FoundOutput::Kind::kOther) {
      return tl::unexpected(fmt::format("the output '{}' is neither a file nor a folder", name));
    }
    if (spilled && output.name == kStdoutArtifact) {
      return tl::unexpected(fmt::format(
          "there is an output '{}', and standard output is too large for a result", name));
    }
  }
  return found;
}

}  // namespace muster
