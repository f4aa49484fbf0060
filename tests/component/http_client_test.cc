#include "app/http/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace muster {
namespace {

// Takes one connection, answers with these bytes whatever it is asked, and closes.
class Answering {
 public:
  explicit Answering(std::string bytes) : bytes_(std::move(bytes)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, place, size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    ::getsockname(socket_, place, &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~Answering() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  HttpUrl url() const { return *parseHttpUrl("http://127.0.0.1:" + std::to_string(port_)); }
  HttpClient client() const { return HttpClient(url()); }

 private:
  void serve() {
    const int connection = ::accept(socket_, nullptr, nullptr);
    if (connection < 0) return;
    char byte = 0;
    std::string asked;
    while (!asked.ends_with("\r\n\r\n") && ::recv(connection, &byte, 1, 0) == 1) asked += byte;
    std::string_view rest = bytes_;
    while (!rest.empty()) {
      const ssize_t sent = ::send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    ::shutdown(connection, SHUT_WR);
    while (::recv(connection, &byte, 1, 0) == 1) {
    }
    ::close(connection);
  }

  const std::string bytes_;
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::jthread thread_;
};

constexpr Millis kNotForEver = Seconds(60);

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(HttpClientReading, gives_up_on_what_has_no_end) {
  const std::string megabyte(1U << 20, 'a');
  struct Case {
    std::string answer, why, what;
  };
  const Case cases[] = {
      {"HTTP/1.1 200 OK\r\nX: " + megabyte + "\r\n\r\n", "HTTP", "a header"},
      {"HTTP/1.1 200 OK\r\n" + repeated("X: a\r\n", 100'000) + "\r\n", "HTTP", "many headers"},
      {megabyte, "HTTP", "no head at all"},
      {kChunked + "5;ext=" + megabyte + "\r\nhello\r\n0\r\n\r\n", "line", "a chunk's line"},
      {kChunked + "0\r\nX: " + megabyte + "\r\n\r\n", "", "a trailer"},
      {repeated("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 1000) +
           "HTTP/1.1 204 No Content\r\n\r\n",
       "point", "interim answers"}};
  for (const Case& c : cases) {
    const Answering server(c.answer);
    const auto answer = server.client().send({.timeout = kNotForEver});
    ASSERT_FALSE(answer) << c.what;
    EXPECT_NE(answer.error().what.find(c.why), std::string::npos)
        << c.what << ": " << answer.error().what;
    EXPECT_EQ(answer.error().what.find("broke"), std::string::npos) << c.what << " was read on";
  }
}

TEST(HttpClientReading, makes_no_room_for_what_is_only_announced) {
  for (const std::string size : {"9223372036854775806", "1099511627776"}) {
    const Answering server("HTTP/1.1 200 OK\r\nContent-Length: " + size + "\r\n\r\nhello");
    const auto answer = server.client().send({.timeout = kNotForEver, .most_body_bytes = 4});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello");
  }
}

TEST(HttpClientReading, ends_with_the_time_also_while_there_is_something_to_read) {
  const Answering server(std::string(100, 'a'));
  Wire wire(server.url(), {}, {}, {});
  wire.write("\r\n\r\n", {});
  char byte = 0;
  ASSERT_EQ(wire.read(&byte, 1, {}), 1U) << "what comes after it is there too";
  EXPECT_THROW(wire.read(&byte, 1, {.until = Patience::Moment::min()}), WireTimeout);
  EXPECT_EQ(wire.read(&byte, 1, {}), 1U);
}

TEST(HttpClientReading, takes_ordinary_answers_as_before) {
  const std::pair<std::string, std::string> table[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
      {kChunked + "2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\n\r\n", "hello"},
      {"HTTP/1.1 200 OK\r\n\r\nhello", "hello"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
      {kChunked + repeated("10000\r\n" + std::string(65536, 'b') + "\r\n", 20) + "0\r\n\r\n",
       std::string(20 * 65536, 'b')}};
  for (const auto& [bytes, body] : table) {
    const Answering server(bytes);
    const auto answer = server.client().send({.timeout = kNotForEver});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->body, body);
  }
}

}  // namespace
}  // namespace muster
