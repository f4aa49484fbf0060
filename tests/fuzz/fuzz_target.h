#pragma once

#include <string_view>
#include <vector>

namespace muster::test {

// A function that takes any bytes and aborts where something that must hold does not. Each file of
// tests/fuzz/targets makes one, of its own name. A fuzzer of scripts/fuzz holds one of them;
// fuzz_tests holds all, and replays tests/fuzz/corpus/NAME.
class FuzzTarget {
 public:
  using Run = void (*)(std::string_view bytes);

  FuzzTarget(const char* target_name, Run function);

  static const std::vector<FuzzTarget>& all();

  const char* name;
  Run run;
};

// Says what does not hold, and aborts.
void mustHold(bool holds, const char* what);

// Takes the first line off the front of `text`, without its end.
std::string_view takeLine(std::string_view& text);

}  // namespace muster::test
