#include "app/cli/progress_bar.h"

#include <algorithm>

namespace muster {

std::string progressBar(std::size_t done, std::size_t total, std::size_t width) {
  constexpr std::size_t kBrackets = 2;
  const std::size_t places = width > kBrackets ? width - kBrackets : 0;
  const std::size_t full = total == 0 ? places : std::min(done, total) * places / total;
  std::string bar = "[";
  for (std::size_t i = 0; i < places; ++i) bar += i < full ? "█" : "░";
  return bar + "]";
}

}  // namespace muster
