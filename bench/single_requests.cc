#include "bench/single_requests.h"

#include <fmt/format.h>

#include <stdexcept>
#include <thread>

#include "bench/conversations.h"

namespace muster::bench {
namespace {

struct Once : Conversation {
  const std::string& request;
  Answer& answer;
  Once(const std::string& given, Answer& out) : request(given), answer(out) {}
  std::string_view next() override { return request; }
  bool heard(int status, std::string_view body) override {
    answer.status = status;
    answer.body = body;
    return true;
  }
};

}  // namespace

Answer ask(const ServerProcess& server, const std::string& request) {
  Answer answer;
  const auto result =
      runLoad(server.port(), 1, [&](int) { return std::make_unique<Once>(request, answer); },
              {.requests = 1});
  answer.ms = result.latencies_ms.at(0);
  if (answer.status >= 300) throw std::runtime_error("refused: " + answer.body);
  return answer;
}

std::string getRequest(const std::string& path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
}

std::string textOf(const Answer& answer, std::string_view key) {
  std::size_t at = 0;
  return std::string(quoted(answer.body, key, at));
}

std::int64_t numberOf(const Answer& answer, std::initializer_list<std::string_view> keys) {
  std::size_t at = 0;
  for (const auto key : keys) {
    at = answer.body.find(key, at);
    if (at == std::string::npos) throw std::runtime_error("no number in " + answer.body);
    at += key.size();
  }
  return std::stoll(answer.body.substr(at));
}

double millisUntil(std::chrono::steady_clock::time_point began, const std::function<bool()>& so) {
  while (!so()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began)
      .count();
}

}  // namespace muster::bench
