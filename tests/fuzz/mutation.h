#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace muster::test {

// Chance that is the same in every run and on every machine.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}

  std::size_t below(std::size_t limit) { return engine_() % limit; }
  bool oneIn(std::size_t count) { return below(count) == 0; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  char pick(std::string_view letters) { return letters[below(letters.size())]; }

 private:
  std::mt19937 engine_;
};

// One to four small accidents: bytes of `alphabet` put in or over others, pieces cut out, doubled
// or swapped.
std::string mutated(std::string text, std::string_view alphabet, Dice& dice);

// Every byte except those that would end a line of an HTTP head.
std::string allBytes();

}  // namespace muster::test
