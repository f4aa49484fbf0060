#include "app/config/settings.h"

#include <algorithm>

namespace muster {
bool ListenAddress::isLoopback() const {
  if (host == "localhost" || host == "::1") return true;
  const bool numeric = host.find_first_not_of("0123456789.") == std::string::npos;
  return numeric && host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3;
}

}  // namespace muster
