#include "app/server/connections.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/launch/process_start.h"

namespace muster {
namespace {

constexpr std::size_t kMostByDefault = 20'000;
constexpr std::size_t kMostKept = 512;
constexpr std::size_t kRefusedAtOnce = 64;
// Programs that close all descriptors they might have inherited take long with millions.
constexpr std::size_t kEnoughDescriptors = 65'536;

struct PeerAddress {
  std::string key;
  bool is_local = false;
};

PeerAddress peerAddress(std::string_view ip) {
  constexpr std::size_t kNetwork = 8, kWhole = 16, kMappedFrom = 12;
  constexpr std::string_view kMapped("\0\0\0\0\0\0\0\0\0\0\xff\xff", kMappedFrom);
  const std::string text(ip);
  std::array<char, kWhole> bytes{};
  const std::string_view all(bytes.data(), bytes.size());
  std::string_view v4 = all.substr(0, 4);
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) != 1) {
    if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return {text};
    if (!all.starts_with(kMapped)) {
      const bool is_loopback = all == std::string(kWhole - 1, '\0') + '\1';
      return {std::string(all.substr(0, kNetwork)), is_loopback};
    }
    v4 = all.substr(kMappedFrom);
  }
  constexpr char kLoopbackNetwork = 127;
  return {std::string(v4), v4.front() == kLoopbackNetwork};
}

}  // namespace

ConnectionLimits connectionLimits(const Settings& settings, std::size_t descriptors) {
  ConnectionLimits limits;
  limits.descriptors_kept = std::min(descriptors / 4, kMostKept);
  const std::size_t possible = descriptors - limits.descriptors_kept;
  const auto wanted = static_cast<std::size_t>(settings.max_connections);
  limits.all = std::min(wanted > 0 ? wanted : kMostByDefault, possible);
  const auto each = static_cast<std::size_t>(settings.max_connections_per_address);
  limits.per_address = each > 0 ? each : std::max<std::size_t>(limits.all / 2, 1);
  limits.per_local_address = each > 0 ? each : limits.all;
  return limits;
}

std::size_t raiseDescriptorLimit(const Settings& settings) {
  return raiseOpenFiles(std::max<std::size_t>(
      kEnoughDescriptors, static_cast<std::size_t>(settings.max_connections) + kMostKept));
}

ConnectionPlace::~ConnectionPlace() {
  if (counter_) counter_->close(*this);
}

ConnectionPlace ConnectionCounter::open(std::string_view ip) {
  const auto [key, is_local] = peerAddress(ip);
  const std::size_t most = is_local ? limits_.per_local_address : limits_.per_address;
  ConnectionPlace place;
  place.counter_ = shared_from_this();
  place.address_ = key;
  const std::lock_guard lock(mutex_);
  const auto of_address = addresses_.find(key);
  if (served_ >= limits_.all) {
    place.refusal_ = Error{ErrorCode::kStoreBusy,
                           fmt::format("there are {} connections, the most that are served "
                                       "(max_connections)",
                                       limits_.all)};
  } else if (of_address != addresses_.end() && of_address->second >= most) {
    place.refusal_ = Error{ErrorCode::kRateLimited,
                           fmt::format("there are {} connections from this address, the most that "
                                       "are served (max_connections_per_address)",
                                       most)};
  }
  if (place.refusal_) {
    place.drops_ = ++refused_ > kRefusedAtOnce;
  } else {
    ++served_;
    ++addresses_[key];
  }
  return place;
}

void ConnectionCounter::close(const ConnectionPlace& place) {
  const std::lock_guard lock(mutex_);
  if (place.refusal_) {
    --refused_;
    return;
  }
  --served_;
  const auto found = addresses_.find(place.address_);
  if (--found->second == 0) addresses_.erase(found);
}

}  // namespace muster
