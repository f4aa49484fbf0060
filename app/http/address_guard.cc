#include "app/http/address_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

namespace muster {
namespace {

using Bytes = std::array<std::uint8_t, 16>;
constexpr Bytes kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int kMappedBits = 96;

struct PrivateRange {
  std::uint32_t first;
  int bits;
};
constexpr std::array<PrivateRange, 13> kPrivate = {{{0x00000000, 8},
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
  for (const PrivateRange& range : kPrivate) {
    if ((address ^ range.first) >> (32 - range.bits) == 0) return true;
  }
  return false;
}

bool isPrivate6(const Bytes& a) {
  const auto embedded = [&a](std::size_t at) {
    return isPrivate4(static_cast<std::uint32_t>(a[at]) << 24 |
                      static_cast<std::uint32_t>(a[at + 1]) << 16 |
                      static_cast<std::uint32_t>(a[at + 2]) << 8 | a[at + 3]);
  };
  constexpr std::array<std::uint8_t, 12> kNat64 = {0, 0x64, 0xff, 0x9b};
  if (std::memcmp(a.data(), kMappedPrefix.data(), 12) == 0) return embedded(12);
  if (std::memcmp(a.data(), kNat64.data(), 12) == 0) return embedded(12);
  if (a[0] == 0x20 && a[1] == 0x02) return embedded(2);
  return (a[0] & 0xe0) != 0x20;  // all but the global unicast space
}

// The address with IPv4 as a mapped one.
std::optional<Bytes> bytesOf(const sockaddr& address) {
  Bytes bytes = kMappedPrefix;
  if (address.sa_family == AF_INET) {
    std::memcpy(bytes.data() + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else if (address.sa_family == AF_INET6) {
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  } else {
    return std::nullopt;
  }
  return bytes;
}

// 10.1.2.3, 10.0.0.0/8, fd00::/8
std::optional<AddressRange> readRange(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const std::string address(text.substr(0, slash));
  AddressRange range{kMappedPrefix, 0};
  int most = 128;
  if (::inet_pton(AF_INET, address.c_str(), range.first.data() + 12) == 1) {
    most = 32;
  } else if (::inet_pton(AF_INET6, address.c_str(), range.first.data()) != 1) {
    return std::nullopt;
  }
  int bits = most;
  if (slash < text.size()) {
    const std::string_view digits = text.substr(slash + 1);
    const char* const end = digits.data() + digits.size();
    const auto [read_to, fault] = std::from_chars(digits.data(), end, bits);
    if (fault != std::errc() || read_to != end || bits < 0 || bits > most) return std::nullopt;
  }
  range.bits = most == 32 ? kMappedBits + bits : bits;
  return range;
}

bool isWithin(const Bytes& address, const Bytes& first, int bits) {
  for (std::size_t i = 0; i < address.size() && bits > 0; ++i, bits -= 8) {
    const int left = std::min(bits, 8);
    if ((address[i] ^ first[i]) >> (8 - left) != 0) return false;
  }
  return true;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
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

bool isGuardEntry(std::string_view text) {
  if (readRange(text)) return true;
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
}

AddressGuard::AddressGuard(const std::vector<std::string>& allowed) {
  for (const std::string& entry : allowed) {
    if (const auto range = readRange(entry)) {
      ranges_.push_back(*range);
    } else {
      hosts_.push_back(lowered(entry));
    }
  }
}

bool AddressGuard::allows(const std::string& host, const sockaddr& address) const {
  if (!isPrivateAddress(address)) return true;
  if (std::find(hosts_.begin(), hosts_.end(), lowered(host)) != hosts_.end()) return true;
  const auto bytes = bytesOf(address);
  return bytes && std::any_of(ranges_.begin(), ranges_.end(), [&bytes](const AddressRange& range) {
           return isWithin(*bytes, range.first, range.bits);
         });
}

}  // namespace muster
