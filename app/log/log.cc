#include "app/log/log.h"

#include <unistd.h>

#include "models/json/json_writer.h"

namespace muster {
namespace {

std::string_view levelName(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info ";
    case LogLevel::kWarn:
      return "warn ";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

bool isPlain(std::string_view value) {
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '=') return false;
  }
  return !value.empty();
}

}  // namespace

void Log::write(LogLevel level, std::string_view message, Fields fields) const {
  if (!enabled(level)) return;
  std::string line = formatTime(clock_.now());
  line.append(" ").append(levelName(level)).append(" ").append(message);
  for (const auto& [name, value] : fields) {
    if (value.empty()) continue;
    line.append(" ").append(name).append("=");
    if (isPlain(value)) {
      line.append(value);
    } else {
      line.append(JsonWriter().value(value).take());
    }
  }
  line.push_back('\n');
  // A log that cannot be written is no reason to stop.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace muster
