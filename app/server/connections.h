#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "app/config/settings.h"
#include "models/result.h"

namespace muster {

// How many connections there may be, by the settings and by the number of descriptors that the
// process may open.
struct ConnectionLimits {
  std::size_t all = 0;
  std::size_t per_address = 0;        // of one address on another machine
  std::size_t per_local_address = 0;  // of one address of this machine
  std::size_t descriptors_kept = 0;   // for files, workers and calls of our own
};
ConnectionLimits connectionLimits(const Settings& settings, std::size_t descriptors);

// Raises the soft limit of open descriptors as far as the settings need it and the hard limit lets
// us. Returns the limit that holds now.
std::size_t raiseDescriptorLimit(const Settings& settings);

class ConnectionCounter;

// Counts one connection for as long as it lives.
class ConnectionPlace {
 public:
  ConnectionPlace() = default;
  ConnectionPlace(ConnectionPlace&& other) noexcept = default;
  ConnectionPlace& operator=(ConnectionPlace&&) = delete;
  ~ConnectionPlace();

  // Why the connection is to be answered and closed; nothing if it is served.
  const std::optional<Error>& refusal() const { return refusal_; }
  // Too many are being refused already: close without an answer.
  bool drops() const { return drops_; }

 private:
  friend class ConnectionCounter;
  std::shared_ptr<ConnectionCounter> counter_;
  std::string address_;
  std::optional<Error> refusal_;
  bool drops_ = false;
};

// Thread-safe. Owned by its places, which outlive the event loops.
class ConnectionCounter : public std::enable_shared_from_this<ConnectionCounter> {
 public:
  explicit ConnectionCounter(const ConnectionLimits& limits) : limits_(limits) {}

  // `ip` as text. Addresses of one IPv6 network (/64) count as one: anyone who has one has all.
  ConnectionPlace open(std::string_view ip);

 private:
  friend class ConnectionPlace;
  void close(const ConnectionPlace& place);

  const ConnectionLimits limits_;
  std::mutex mutex_;
  std::size_t served_ = 0;   // guarded by mutex_
  std::size_t refused_ = 0;  // guarded by mutex_
  // Of those that are served; guarded by mutex_.
  std::map<std::string, std::size_t> addresses_;
};

}  // namespace muster
