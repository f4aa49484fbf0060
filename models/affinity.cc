#include "models/affinity.h"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::array<std::string_view, 4> kAffinityStates = {"unbound", "active", "draining",
                                                             "stale"};

}  // namespace

std::string_view name(AffinityState state) {
  return kAffinityStates[static_cast<std::size_t>(state)];
}

std::optional<AffinityState> parseAffinityState(std::string_view text) {
  const auto found = std::find(kAffinityStates.begin(), kAffinityStates.end(), text);
  if (found == kAffinityStates.end()) return std::nullopt;
  return static_cast<AffinityState>(found - kAffinityStates.begin());
}

}  // namespace muster
