#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/http.h"

namespace muster::test {

// Bytes to and from the service, for requests that no HTTP client would send.
class RawConnection {
 public:
  explicit RawConnection(std::uint16_t port);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool send(std::string_view bytes);  // false when the other side has closed
  // All that comes until the other side closes, `enough` is in it, or the deadline passes.
  std::string receive(std::chrono::milliseconds deadline, std::string_view enough = {});
  bool closed() const { return closed_; }

 private:
  int socket_ = -1;
  bool closed_ = false;
};

// The answer at the front of `bytes`, which are cut off: that of a status below 200 is one too. Its
// status is 0 if it is not whole.
Reply takeReply(std::string& bytes);

// One request on a connection of its own, and all that is answered until it is closed or
// `deadline`.
std::string exchange(std::uint16_t port, std::string_view bytes,
                     std::chrono::milliseconds deadline);

}  // namespace muster::test
