#include "app/launch/http_post.h"

#include <fmt/format.h>

#include "app/http/address_guard.h"
#include "app/http/http_client.h"

namespace muster {
namespace {

constexpr Millis kLongest = Seconds(10);

}  // namespace

std::optional<PostFailure> postJson(const std::string& url, const std::string& json,
                                    const AddressGuard& guard, bool allow_private,
                                    const std::stop_token& stop) {
  const auto place = parseHttpUrl(url);
  if (!place) return PostFailure{"the URL is not one of http or https", false};
  bool refused = false;
  HttpClient client(*place, [&](const sockaddr& address) {
    refused = !allow_private && !guard.allows(place->host, address);
    return !refused;
  });
  const auto answer = client.send({.method = "POST",
                                   .body = json,
                                   .headers = {{"Content-Type", "application/json"}},
                                   .timeout = kLongest,
                                   .given_up = [&stop] { return stop.stop_requested(); },
                                   .head_only = true});
  if (refused) {
    return PostFailure{
        "the address is private; webhook_allow in the settings of the service allows it", false};
  }
  if (!answer) return PostFailure{answer.error().what};
  if (answer->ok()) return std::nullopt;
  const bool again = answer->status >= 500 || answer->status == 429 || answer->status == 408;
  return PostFailure{fmt::format("answered {}", answer->status), again};
}

}  // namespace muster
