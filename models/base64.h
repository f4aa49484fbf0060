#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// RFC 4648 with padding.
std::string encodeBase64(std::string_view bytes);

// Also without padding and in the alphabet for URLs; nothing when it is neither.
std::optional<std::string> decodeBase64(std::string_view text);

}  // namespace muster
