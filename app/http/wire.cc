#include "app/http/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "app/http/openssl_library.h"
#include "app/http/tls_context.h"

namespace muster {
namespace {

using Moment = Patience::Moment;
using std::chrono::steady_clock;

constexpr Millis kLookUpEach = Seconds(1);
constexpr Millis kConnectTimeout = Seconds(5);

// Comes back when the socket can do it, and throws when the patience ends first.
void await(int socket, short events, const Patience& patience) {
  const Moment began = steady_clock::now();
  const Moment until =
      patience.silence ? std::min(patience.until, began + *patience.silence) : patience.until;
  for (;;) {
    if (patience.given_up && patience.given_up()) throw WireError("given up");
    const auto left = std::chrono::ceil<Millis>(until - steady_clock::now());
    if (left <= Millis(0)) throw WireTimeout();
    pollfd ready{socket, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min(left, kLookUpEach).count()));
    if (count > 0) return;
    if (count < 0 && errno != EINTR) throw WireError(std::strerror(errno));
  }
}

struct Addresses {
  explicit Addresses(const HttpUrl& url) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    const std::string port = std::to_string(url.port);
    const int error = ::getaddrinfo(url.host.c_str(), port.c_str(), &hints, &first);
    if (error != 0) {
      throw WireError("the name " + url.host + " is not known: " + ::gai_strerror(error));
    }
  }
  ~Addresses() { ::freeaddrinfo(first); }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  addrinfo* first = nullptr;
};

// 0, or why there is no connection.
int connectTo(int socket, const addrinfo& address, const Patience& patience) {
  if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  await(socket, POLLOUT, patience);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

bool isAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// A write to a connection that broke must not end the process: the library writes by itself, so it
// cannot be told to leave SIGPIPE out.
class PipeSignalKept {
 public:
  PipeSignalKept() {
    sigset_t pending;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalKept() {
    const timespec at_once{};
    const int kept_errno = errno;
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = kept_errno;
  }
  PipeSignalKept(const PipeSignalKept&) = delete;
  PipeSignalKept& operator=(const PipeSignalKept&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

bool lacksTrust(long verdict) {
  return verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT ||
         verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         verdict == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
         verdict == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
         verdict == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN;
}

// The other side does not take the certificate that we sent, or that we did not.
bool refusesOurCertificate(int reason) {
  return reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA ||
         reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED ||
         (reason >= SSL_R_SSLV3_ALERT_BAD_CERTIFICATE &&
          reason <= SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN);
}

}  // namespace

struct Wire::Tls {
  Tls(int socket, const std::string& name_called, const TlsFiles& files)
      : ssl(OpensslLibrary::get()),
        host(name_called),
        shows_certificate(!files.certificate.empty()),
        context(TlsContext::of(files)),
        session(ssl.newSession(context->get()), ssl.freeSession) {
    if (!session || ssl.setSocket(session.get(), socket) != 1) {
      throw WireError("TLS cannot be used");
    }
    if (isAddress(host)) {
      ssl.expectAddress(ssl.parameters(session.get()), host.c_str());
    } else {
      ssl.expectHost(session.get(), host.c_str());
      std::string name = host;  // goes out with the greeting, for servers of many names
      ssl.controlSession(session.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                         name.data());
    }
  }

  // Calls until it succeeds; false when the other side has closed.
  template <class Call>
  bool run(int socket, const Patience& patience, const Call& call) {
    for (;;) {
      switch (outcomeOf(call)) {
        case SSL_ERROR_NONE:
          return true;
        case SSL_ERROR_WANT_READ:
          await(socket, POLLIN, patience);
          break;
        case SSL_ERROR_WANT_WRITE:
          await(socket, POLLOUT, patience);
          break;
        case SSL_ERROR_ZERO_RETURN:
          return false;
        default:
          fail();
      }
    }
  }

  template <class Call>
  int outcomeOf(const Call& call) const {
    const PipeSignalKept kept;
    ssl.clearErrors();
    const int result = call();
    return result > 0 ? SSL_ERROR_NONE : ssl.errorOf(session.get(), result);
  }

  [[noreturn]] void fail() const {
    const long verdict = ssl.verdict(session.get());
    if (verdict != X509_V_OK) {
      const std::string what =
          "the certificate of " + host + " is not trusted: " + ssl.verdictText(verdict);
      if (lacksTrust(verdict)) throw UntrustedCertificate(what);
      throw WireError(what);
    }
    const unsigned long error = ssl.takeError();
    const char* const text = ssl.errorText(error);
    const int reason = ERR_GET_REASON(error);
    if (text == nullptr || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
      throw WireError(
          shows_certificate
              ? "the connection broke, perhaps over the client certificate that we showed"
              : "the connection broke");
    }
    if (refusesOurCertificate(reason)) {
      throw WireError(std::string("it refuses our client certificate: ") + text);
    }
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
      throw WireError("what answers there does not speak TLS; is its URL http://…?");
    }
    throw WireError(std::string("TLS: ") + text);
  }

  const OpensslLibrary& ssl;
  const std::string host;
  const bool shows_certificate;
  const std::shared_ptr<const TlsContext> context;
  std::unique_ptr<SSL, decltype(&::SSL_free)> session;
};

Wire::Wire(const HttpUrl& url, const AddressRule& allowed, const TlsFiles& files,
           const Patience& patience) {
  try {
    connect(url, allowed, patience);
    if (!url.tls) return;
    tls_ = std::make_unique<Tls>(socket_, url.host, files);
    const auto greet = [this] { return tls_->ssl.connect(tls_->session.get()); };
    if (!tls_->run(socket_, patience, greet)) throw WireError("the connection broke");
  } catch (...) {
    if (socket_ >= 0) ::close(socket_);
    throw;
  }
}

Wire::~Wire() {
  tls_.reset();
  ::close(socket_);
}

void Wire::connect(const HttpUrl& url, const AddressRule& allowed, const Patience& patience) {
  const Addresses addresses(url);
  Patience hurry = patience;
  hurry.until = std::min(hurry.until, steady_clock::now() + kConnectTimeout);
  int error = 0;
  for (const addrinfo* at = addresses.first; at != nullptr; at = at->ai_next) {
    if (allowed && !allowed(*at->ai_addr)) throw WireError("the address is not allowed");
    socket_ = ::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ >= 0) {
      error = connectTo(socket_, *at, hurry);
      if (error == 0) {
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        return;
      }
      ::close(socket_);
      socket_ = -1;
    } else {
      error = errno;
    }
  }
  if (error == ECONNREFUSED) throw WireError("nothing answers there", true);
  throw WireError(std::string("cannot connect: ") + std::strerror(error), true);
}

void Wire::write(std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    std::size_t sent = 0;
    if (tls_) {
      const auto some = [&] {
        return tls_->ssl.write(tls_->session.get(), bytes.data(), bytes.size(), &sent);
      };
      if (!tls_->run(socket_, patience, some)) throw WireError("the connection broke");
    } else {
      const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN && errno != EINTR) throw WireError("the connection broke");
      if (count < 0) await(socket_, POLLOUT, patience);
      sent = count > 0 ? static_cast<std::size_t>(count) : 0;
    }
    bytes.remove_prefix(sent);
  }
}

std::size_t Wire::read(char* room, std::size_t size, const Patience& patience) {
  // Also when there is something to read: there may always be more.
  if (steady_clock::now() >= patience.until) throw WireTimeout();
  if (tls_) {
    std::size_t came = 0;
    const auto some = [&] { return tls_->ssl.read(tls_->session.get(), room, size, &came); };
    return tls_->run(socket_, patience, some) ? came : 0;
  }
  for (;;) {
    const ssize_t count = ::recv(socket_, room, size, 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EAGAIN && errno != EINTR) throw WireError("the connection broke");
    await(socket_, POLLIN, patience);
  }
}

bool Wire::isStale() const {
  pollfd ready{socket_, POLLIN, 0};
  return ::poll(&ready, 1, 0) != 0;
}

}  // namespace muster
