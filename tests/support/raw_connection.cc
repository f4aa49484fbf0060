#include "tests/support/raw_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <system_error>

namespace muster::test {

RawConnection::RawConnection(std::uint16_t port)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(socket_);
    throw std::system_error(error, std::generic_category(), "connect");
  }
}

RawConnection::~RawConnection() { ::close(socket_); }

bool RawConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string RawConnection::receive(std::chrono::milliseconds deadline, std::string_view enough) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + deadline;
  std::string received;
  std::array<char, 16384> buffer{};
  while (!closed_ && (enough.empty() || received.find(enough) == std::string::npos)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd readable{socket_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
    closed_ = count <= 0;
    if (count > 0) received.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return received;
}

std::string exchange(std::uint16_t port, std::string_view bytes,
                     std::chrono::milliseconds deadline) {
  RawConnection connection(port);
  connection.send(bytes);
  return connection.receive(deadline);
}

}  // namespace muster::test
