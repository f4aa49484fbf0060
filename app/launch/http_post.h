#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "app/http/address_guard.h"

namespace muster {

struct PostFailure {
  std::string what;
  bool retryable = true;
};

// Posts JSON to a URL: no redirects, no proxy, ten seconds at most. Unless `allow_private`, the
// guard is asked of the address that is about to be connected to, whatever its name was. Returns
// nothing when the answer was 2xx.
std::optional<PostFailure> postJson(const std::string& url, const std::string& json,
                                    const AddressGuard& guard, bool allow_private,
                                    const std::stop_token& stop);

}  // namespace muster
