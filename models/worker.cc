#include "models/worker.h"

namespace muster {

std::string ProcessEnd::text() const {
  if (exit_signal) return "signal " + std::to_string(*exit_signal);
  if (exit_code) return "exit code " + std::to_string(*exit_code);
  return "gone";
}

}  // namespace muster
