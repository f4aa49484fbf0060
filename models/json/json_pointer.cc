#include "models/json/json_pointer.h"

#include <charconv>
#include <string>

namespace muster {
namespace {

std::string unescapeToken(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      out += token[++i] == '1' ? '/' : '~';
    } else {
      out += token[i];
    }
  }
  return out;
}

std::optional<JsonValue> step(JsonValue value, std::string_view token) {
  std::optional<JsonValue> found;
  if (value.isObject()) {
    const std::string name = unescapeToken(token);
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (it.key() == name) found.emplace(*it);
    }
  } else if (value.isArray()) {
    std::size_t index = 0;
    const auto [end, fault] = std::from_chars(token.data(), token.data() + token.size(), index);
    if (fault != std::errc() || end != token.data() + token.size()) return std::nullopt;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (index-- == 0) return *it;
    }
  }
  return found;
}

}  // namespace

std::optional<JsonValue> valueAt(JsonValue root, std::string_view pointer) {
  std::optional<JsonValue> value = root;
  while (!pointer.empty() && value) {
    pointer.remove_prefix(1);  // the slash
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    value = step(*value, pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return value;
}

}  // namespace muster
