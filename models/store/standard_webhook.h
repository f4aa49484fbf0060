#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/store/random.h"

namespace muster {

// Signatures of Standard Webhooks, of those we receive and of those we send.

// The bytes a secret stands for: base64, with or without whsec_; nothing when it is none.
std::optional<std::string> standardKey(std::string_view secret);

// "v1,…", over the bytes as they are sent.
std::string standardSignature(std::string_view key, std::string_view id, std::string_view timestamp,
                              std::string_view body);

// whsec_ and 32 bytes that nobody can guess.
std::string newStandardSecret(Random& random);

}  // namespace muster
