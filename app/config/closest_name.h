#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// The candidate that `name` was probably meant to be (letter case, `-` and `_` do not count, a
// typing error in every three letters is allowed), for "did you mean" messages.
std::optional<std::string> closestName(std::string_view name,
                                       const std::vector<std::string>& candidates);

// `, did you mean "NAME"?`, or nothing when no candidate is near.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace muster
