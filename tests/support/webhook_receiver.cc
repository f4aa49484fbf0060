#include "tests/support/webhook_receiver.h"

#include <arpa/inet.h>
#include <json/reader.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "models/store/standard_webhook.h"

namespace muster::test {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string textOf(const ReceiverAnswer& answer) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " X\r\n";
  for (const auto& [name, value] : answer.headers) text += name + ": " + value + "\r\n";
  if (answer.status != 204)
    text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
  return text + "\r\n" + answer.body;
}

}  // namespace

std::string ReceivedCall::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Json::Value ReceivedCall::json() const {
  Json::Value value;
  std::istringstream in(body);
  in >> value;
  return value;
}

WebhookReceiver::WebhookReceiver(Answer answer) : answer_(std::move(answer)) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(socket_, 128) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the receiver cannot listen");
  }
  port_ = ntohs(address.sin_port);
  listener_ = std::jthread([this] { listen(); });
}

namespace {

bool sendAll(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

WebhookReceiver::~WebhookReceiver() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int connection : connections_) ::shutdown(connection, SHUT_RDWR);
    ended_.notify_all();
  }
  ::shutdown(socket_, SHUT_RDWR);
  listener_.join();
  threads_.clear();
  ::close(socket_);
}

std::string WebhookReceiver::url(const std::string& host) const {
  return "http://" + host + ":" + std::to_string(port_) + "/hook";
}

std::vector<ReceivedCall> WebhookReceiver::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void WebhookReceiver::listen() {
  for (;;) {
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    const std::lock_guard lock(mutex_);
    if (ending_) {
      ::close(connection);
      return;
    }
    connections_.insert(connection);
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

bool WebhookReceiver::readCall(int connection, std::string& buffer, ReceivedCall& call) const {
  std::array<char, 8192> room;
  const auto more = [&] {
    const ssize_t count = ::recv(connection, room.data(), room.size(), 0);
    if (count > 0) buffer.append(room.data(), static_cast<std::size_t>(count));
    return count > 0;
  };
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return false;
  }
  std::size_t at = buffer.find("\r\n");
  const std::string first = buffer.substr(0, at);
  call.method = first.substr(0, first.find(' '));
  call.path = first.substr(call.method.size() + 1, first.rfind(' ') - call.method.size() - 1);
  while (at < end) {
    const std::size_t begin = at + 2;
    at = buffer.find("\r\n", begin);
    const std::string line = buffer.substr(begin, at - begin);
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos)
      call.headers[lower(line.substr(0, colon))] = line.substr(colon + 2);
  }
  const std::size_t size = std::stoul("0" + call.header("content-length"));
  while (buffer.size() < end + 4 + size) {
    if (!more()) return false;
  }
  call.body = buffer.substr(end + 4, size);
  buffer.erase(0, end + 4 + size);
  return true;
}

void WebhookReceiver::serve(int connection) {
  std::string buffer;
  for (ReceivedCall call; readCall(connection, buffer, call); call = {}) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(call);
    }
    const ReceiverAnswer answer = answer_(call);
    if (answer.never) {
      std::unique_lock lock(mutex_);
      ended_.wait(lock, [this] { return ending_; });
      break;
    }
    const std::string text = answer.raw.empty() ? textOf(answer) : answer.raw;
    if (!sendAll(connection, text) || !answer.raw.empty()) break;
  }
  const std::lock_guard lock(mutex_);
  connections_.erase(connection);
  ::close(connection);
}

bool isSignedWith(const ReceivedCall& call, const std::string& secret) {
  const std::string expected =
      standardSignature(standardKey(secret).value_or(""), call.header("webhook-id"),
                        call.header("webhook-timestamp"), call.body);
  const std::string given = " " + call.header("webhook-signature") + " ";
  return given.find(" " + expected + " ") != std::string::npos;
}

}  // namespace muster::test
