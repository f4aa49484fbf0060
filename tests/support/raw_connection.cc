#include "tests/support/raw_connection.h"

#include <arpa/inet.h>
#include <json/reader.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
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

Reply takeReply(std::string& bytes) {
  Reply reply;
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.") || head_end == std::string::npos) return reply;
  std::size_t size = 0;
  for (std::size_t at = bytes.find("\r\n") + 2; at < head_end;) {
    const std::size_t end = bytes.find("\r\n", at);
    const std::size_t colon = bytes.find(": ", at);
    std::string name = bytes.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(), ::tolower);
    reply.headers.emplace_back(name, bytes.substr(colon + 2, end - colon - 2));
    if (name == "content-length") size = std::stoul(reply.headers.back().second);
    at = end + 2;
  }
  if (bytes.size() < head_end + 4 + size) return {};
  reply.status = std::stoi(bytes.substr(9, 3));
  reply.body = bytes.substr(head_end + 4, size);
  Json::CharReaderBuilder builder;
  const std::unique_ptr<Json::CharReader> reader(builder.newCharReader());
  const char* const begin = reply.body.data();
  if (!reader->parse(begin, begin + size, &reply.json, nullptr)) reply.json = Json::Value();
  bytes.erase(0, head_end + 4 + size);
  return reply;
}

std::string exchange(std::uint16_t port, std::string_view bytes,
                     std::chrono::milliseconds deadline) {
  RawConnection connection(port);
  connection.send(bytes);
  return connection.receive(deadline);
}

}  // namespace muster::test
