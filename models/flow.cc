#include "models/flow.h"

#include <array>

namespace muster {
namespace {
constexpr std::array<std::string_view, 5> kFlowStatuses = {"running", "cancelling", "succeeded",
                                                           "failed", "cancelled"};
}

std::string_view name(FlowStatus status) { return kFlowStatuses[static_cast<std::size_t>(status)]; }

std::optional<FlowStatus> parseFlowStatus(std::string_view text) {
  for (std::size_t i = 0; i < kFlowStatuses.size(); ++i) {
    if (kFlowStatuses[i] == text) return static_cast<FlowStatus>(i);
  }
  return std::nullopt;
}

}  // namespace muster
