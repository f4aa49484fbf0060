#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "bench/server_process.h"

namespace muster::bench {

// One request by itself.
struct Answer {
  int status = 0;
  std::string body;
  double ms = 0;
};
// Throws when it is refused.
Answer ask(const ServerProcess& server, const std::string& request);

std::string getRequest(const std::string& path);

// The text after the key, up to the next quote.
std::string textOf(const Answer& answer, std::string_view key);
// The number after the last of these keys, which stand one after the other.
std::int64_t numberOf(const Answer& answer, std::initializer_list<std::string_view> keys);

// Asks until it is so; the milliseconds since `began`.
double millisUntil(std::chrono::steady_clock::time_point began, const std::function<bool()>& so);

}  // namespace muster::bench
