#pragma once

#include <optional>
#include <stop_token>
#include <string>

namespace muster {

struct PostFailure {
  std::string what;
  bool retryable = true;
};

// Posts JSON to a URL: no redirects, no proxy, ten seconds at most. Unless `allow_private`, an
// address that is not of the open internet is refused when it is about to be connected to, whatever
// its name was. Nothing when the answer was 2xx.
std::optional<PostFailure> postJson(const std::string& url, const std::string& json,
                                    bool allow_private, const std::stop_token& stop);

}  // namespace muster
