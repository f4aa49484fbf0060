#include "app/launch/process_table.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace

std::optional<std::string> processKey(pid_t pid) {
  static const std::string boot = bootId();
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name in parentheses may hold anything, so count from behind it: state is the first field
  // there, the start the twentieth.
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field, state;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  for (int i = 0; i < 19; ++i) fields >> field;
  if (!fields) return std::nullopt;
  return fmt::format("{}:{}:{}", pid, field, boot);
}

pid_t pidOf(const std::string& process_key) {
  return static_cast<pid_t>(std::strtol(process_key.c_str(), nullptr, 10));
}

bool isAlive(const std::string& process_key) {
  const pid_t pid = pidOf(process_key);
  return pid > 0 && processKey(pid) == process_key;
}

}  // namespace muster
