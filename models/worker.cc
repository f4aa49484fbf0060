#include "models/worker.h"

namespace muster {

std::string ProcessEnd::text() const {
  if (exit_signal) return "signal " + std::to_string(*exit_signal);
  if (exit_code) return "exit code " + std::to_string(*exit_code);
  return "gone";
}

std::string_view exitReason(std::string_view status, const ProcessEnd& end) {
  if (status == worker_status::kStarting) return "not_registered";
  if (status == worker_status::kLost) return "lost";
  if (end.exit_signal) return "signal";
  if (!end.exit_code) return "unknown";
  return end.clean() ? "ok" : "error";
}

}  // namespace muster
