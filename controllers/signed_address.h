#pragma once

#include <string>
#include <string_view>

#include "models/time.h"

namespace muster {

// The path and query under which everybody may read the content of a resource until `expires_at`,
// in whole seconds. Signed with the key of the store.
std::string signedPath(std::string_view key, std::string_view uid, Time expires_at);

// Whether the store has signed this, and its time is not over. `expires` as the query has it.
bool isSignedPath(std::string_view key, std::string_view uid, std::string_view expires,
                  std::string_view signature, Time now);

}  // namespace muster
