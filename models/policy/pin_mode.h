#pragma once

#include <optional>
#include <string_view>

namespace muster {

// Whether a job should go to a holder, for a while, or must.
enum class PinMode { kPreferred, kRequired };

std::string_view name(PinMode mode);
// `sticky` is taken for `required`.
std::optional<PinMode> parsePinMode(std::string_view text);

}  // namespace muster
