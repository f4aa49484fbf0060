#include "app/launch/http_post.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>

namespace muster {
namespace {

constexpr long kConnectSeconds = 5, kSeconds = 10;

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

curl_socket_t openPublic(void* refused, curlsocktype, curl_sockaddr* address) {
  if (isPrivateAddress(address->addr)) {
    *static_cast<bool*>(refused) = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int stopWhenAsked(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

std::size_t throwAway(char*, std::size_t size, std::size_t count, void*) { return size * count; }

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
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> owned(curl_easy_init(),
                                                                  curl_easy_cleanup);
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all);
  CURL* const curl = owned.get();
  if (curl == nullptr) return PostFailure{"no memory for the call"};
  bool refused = false;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, kSeconds);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(json.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, throwAway);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stopWhenAsked);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stop);
  if (!allow_private) {
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, openPublic);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &refused);
  }
  const CURLcode code = curl_easy_perform(curl);
  if (refused) {
    return PostFailure{"the address is private; input.allow_private: true allows it", false};
  }
  if (code != CURLE_OK) return PostFailure{curl_easy_strerror(code)};
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return std::nullopt;
  const bool again = status >= 500 || status == 429 || status == 408;
  return PostFailure{fmt::format("answered {}", status), again};
}

}  // namespace muster
