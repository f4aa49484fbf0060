#include "models/audit.h"

namespace muster {

std::string callerText(std::string_view name, std::string_view address) {
  std::string text(name);
  return text.append(" ").append(address);
}

Caller parseCaller(std::string_view text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1))};
}

}  // namespace muster
