#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/http/wire.h"

namespace muster {

// Loopback, link-local, private, shared, reserved and multicast addresses, and all that is neither
// IPv4 nor IPv6; also inside of mapped, translated and 6to4 addresses.
bool isPrivateAddress(const sockaddr& address);

// What may stand on the list of a guard: a host name, an address, or a range like 10.0.0.0/8.
bool isGuardEntry(std::string_view text);

// All addresses that begin with the same bits. IPv4 stands in it as mapped into IPv6, so that both
// are one kind.
struct AddressRange {
  std::array<std::uint8_t, 16> first;
  int bits;
};

// Keeps calls to the open internet: a private address may be called only when it, or the name it
// was found by, is on the list. Constant, so thread-safe.
class AddressGuard {
 public:
  explicit AddressGuard(const std::vector<std::string>& allowed);

  // Asked of the very address that is about to be connected to, so that a name cannot lead
  // elsewhere between the look and the call.
  bool allows(const std::string& host, const sockaddr& address) const;

 private:
  std::vector<std::string> hosts_;  // in lower case
  std::vector<AddressRange> ranges_;
};

}  // namespace muster
