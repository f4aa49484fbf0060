#include "tests/fuzz/mutation.h"

namespace muster::test {
namespace {

void mutateOnce(std::string& text, std::string_view alphabet, Dice& dice) {
  const std::size_t at = dice.below(text.size() + 1);
  const std::size_t length = dice.below(std::min<std::size_t>(text.size() - at, 8) + 1);
  switch (dice.below(6)) {
    case 0:
      text.insert(at, 1, dice.pick(alphabet));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
      if (at < text.size()) text[at] = dice.pick(alphabet);
      break;
    case 4:
      text.resize(at);
      break;
    default: {
      const std::string piece = text.substr(at, length);
      text.erase(at, length);
      text.insert(dice.below(text.size() + 1), piece);
    }
  }
}

}  // namespace

std::string mutated(std::string text, std::string_view alphabet, Dice& dice) {
  for (std::size_t left = 1 + dice.below(4); left > 0; --left) mutateOnce(text, alphabet, dice);
  return text;
}

std::string allBytes() {
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '\r' && byte != '\n') bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace muster::test
