// The least a launched process can do: one HTTP request to 127.0.0.1:PORT, and out.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 1;
  constexpr std::string_view kRequest = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  char answer[4096];
  const bool said = ::write(connection, kRequest.data(), kRequest.size()) > 0;
  return said && ::read(connection, answer, sizeof answer) > 0 ? 0 : 1;
}
