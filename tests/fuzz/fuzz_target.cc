#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace muster::test {
namespace {

// Filled before main() runs, by the constants of the target files.
std::vector<FuzzTarget>& fuzzTargets() {
  static std::vector<FuzzTarget> targets;
  return targets;
}

}  // namespace

FuzzTarget::FuzzTarget(const char* target_name, Run function) : name(target_name), run(function) {
  fuzzTargets().push_back(*this);
}

const std::vector<FuzzTarget>& FuzzTarget::all() { return fuzzTargets(); }

void mustHold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

std::string_view takeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace muster::test
