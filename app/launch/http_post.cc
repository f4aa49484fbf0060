#include "app/launch/http_post.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "app/http/http_client.h"

namespace muster {
namespace {

constexpr Millis kLongest = Seconds(10);

struct Range {
  std::uint32_t first;
  int bits;
};
constexpr std::array<Range, 13> kPrivate = {{{0x00000000, 8},
                                             {0x0a000000, 8},
                                             {0x64400000, 10},
                                             {0x7f000000, 8},
                                             {0xa9fe0000, 16},
                                             {0xac100000, 12},
                                             {0xc0000000, 24},
                                             {0xc0000200, 24},
                                             {0xc0a80000, 16},
                                             {0xc6120000, 15},
                                             {0xc6336400, 24},
                                             {0xcb007100, 24},
                                             {0xe0000000, 3}}};

bool isPrivate4(std::uint32_t address) {
  for (const Range& range : kPrivate) {
    if ((address ^ range.first) >> (32 - range.bits) == 0) return true;
  }
  return false;
}

bool isPrivate6(const std::array<std::uint8_t, 16>& a) {
  const auto embedded = [&a](std::size_t at) {
    return isPrivate4(static_cast<std::uint32_t>(a[at]) << 24 |
                      static_cast<std::uint32_t>(a[at + 1]) << 16 |
                      static_cast<std::uint32_t>(a[at + 2]) << 8 | a[at + 3]);
  };
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 12> kNat64 = {0, 0x64, 0xff, 0x9b};
  if (std::memcmp(a.data(), kMapped.data(), 12) == 0) return embedded(12);
  if (std::memcmp(a.data(), kNat64.data(), 12) == 0) return embedded(12);
  if (a[0] == 0x20 && a[1] == 0x02) return embedded(2);
  return (a[0] & 0xe0) != 0x20;  // all but the global unicast space
}

}  // namespace

bool isPrivateAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    return isPrivate4(ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr));
  }
  if (address.sa_family != AF_INET6) return true;
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  return isPrivate6(bytes);
}

std::optional<PostFailure> postJson(const std::string& url, const std::string& json,
                                    bool allow_private, const std::stop_token& stop) {
  const auto place = parseHttpUrl(url);
  if (!place) return PostFailure{"the URL is not one of http or https", false};
  bool refused = false;
  HttpClient client(*place, [allow_private, &refused](const sockaddr& address) {
    refused = !allow_private && isPrivateAddress(address);
    return !refused;
  });
  const auto answer = client.send({.method = "POST",
                                   .body = json,
                                   .headers = {{"Content-Type", "application/json"}},
                                   .timeout = kLongest,
                                   .given_up = [&stop] { return stop.stop_requested(); },
                                   .head_only = true});
  if (refused) {
    return PostFailure{"the address is private; input.allow_private: true allows it", false};
  }
  if (!answer) return PostFailure{answer.error().what};
  if (answer->ok()) return std::nullopt;
  const bool again = answer->status >= 500 || answer->status == 429 || answer->status == 408;
  return PostFailure{fmt::format("answered {}", answer->status), again};
}

}  // namespace muster
