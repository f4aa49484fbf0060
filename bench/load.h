#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::bench {

// What one connection says and how it takes the answers. Used by one thread.
class Conversation {
 public:
  virtual ~Conversation() = default;
  // A whole HTTP request; valid until the next call.
  virtual std::string_view next() = 0;
  // False: not the answer this conversation can go on with. It is counted, and the run goes on.
  virtual bool heard(int status, std::string_view body) = 0;
};
using MakeConversation = std::function<std::unique_ptr<Conversation>(int connection)>;

// A run ends after this time, after this many requests, or when this is true, whichever is set.
struct LoadLimit {
  double seconds = 0;
  std::int64_t requests = 0;
  const std::atomic<bool>* over = nullptr;
};

struct LoadResult {
  std::int64_t requests = 0;
  std::int64_t failures = 0;
  double seconds = 0;
  double busiest_thread = 0;         // CPU seconds; near `seconds`, the driver was the limit
  std::vector<double> latencies_ms;  // only with one connection

  double rate() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
};

// Keeps `connections` conversations going with a server on this machine, each with one request in
// flight, and returns when all have their last answer. Throws when the server cannot be reached.
LoadResult runLoad(std::uint16_t port, int connections, const MakeConversation& make,
                   const LoadLimit& limit);

}  // namespace muster::bench
