#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "app/config/settings.h"
#include "models/clock.h"

namespace muster {

// Writes one line per event to standard error: time, level, a fixed message, then fields.
//   2026-03-01T12:00:00.250Z info  listening url=http://127.0.0.1:8080
// Thread-safe; a line is one write. Payloads, tokens and environments are never logged.
class Log {
 public:
  using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  Log(const Clock& clock, LogLevel level) : clock_(clock), level_(level) {}

  bool enabled(LogLevel level) const { return level >= level_; }
  void write(LogLevel level, std::string_view message, Fields fields = {}) const;
  void debug(std::string_view message, Fields fields = {}) const {
    write(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) const {
    write(LogLevel::kInfo, message, fields);
  }
  void warn(std::string_view message, Fields fields = {}) const {
    write(LogLevel::kWarn, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) const {
    write(LogLevel::kError, message, fields);
  }

 private:
  const Clock& clock_;
  LogLevel level_;
};

}  // namespace muster
