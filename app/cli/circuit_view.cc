#include "app/cli/circuit_view.h"

namespace muster {

std::string circuitText(JsonValue pool) {
  const std::string state = textOf(pool, "circuit_state");
  return state.empty() || state == "closed" ? "" : "circuit " + state;
}

}  // namespace muster
