#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "app/http/http_url.h"
#include "app/http/tls_files.h"
#include "models/time.h"

namespace muster {

// No answer: the service is not there, the connection broke, or it took too long.
struct Unreachable {
  std::string what;
  bool refused = false;    // nothing listens at that address
  bool untrusted = false;  // nothing that we trust vouches for its certificate
};

// How long to wait for the other side.
struct Patience {
  using Moment = std::chrono::steady_clock::time_point;
  Moment until = Moment::max();
  std::optional<Millis> silence = {};   // the longest time without a byte
  std::function<bool()> given_up = {};  // asked about once a second, and after a signal
};

// A connection to one host, over TLS where the URL says so. Blocks no longer than the patience
// allows. Not thread-safe. Its methods throw WireError.
class Wire {
 public:
  // False refuses an address that is about to be connected to.
  using AddressRule = std::function<bool(const sockaddr&)>;

  Wire(const HttpUrl& url, const AddressRule& allowed, const TlsFiles& files,
       const Patience& patience);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void write(std::string_view bytes, const Patience& patience);
  // The bytes that came, into `room`; 0 when the other side has closed.
  std::size_t read(char* room, std::size_t size, const Patience& patience);
  // The other side has closed it, or has said something nobody asked for.
  bool isStale() const;

 private:
  struct Tls;

  void connect(const HttpUrl& url, const AddressRule& allowed, const Patience& patience);

  int socket_ = -1;
  std::unique_ptr<Tls> tls_;
};

class WireError : public std::runtime_error {
 public:
  explicit WireError(const std::string& what, bool is_refused = false)
      : std::runtime_error(what), refused(is_refused) {}
  const bool refused;
};

// The certificate of the other side has no chain to one that we trust.
class UntrustedCertificate : public WireError {
 public:
  using WireError::WireError;
};

// The patience ended first.
class WireTimeout : public WireError {
 public:
  WireTimeout() : WireError("no answer in time") {}
};

}  // namespace muster
