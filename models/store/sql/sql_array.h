#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// An array as PostgreSQL reads it: {"a","b",NULL}.
class SqlArray {
 public:
  void add(std::string_view value) {
    begin();
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') text_ += '\\';
      text_ += c;
    }
    text_ += '"';
  }
  // Empty texts become NULL.
  void addOrNull(std::string_view value) {
    if (!value.empty()) return add(value);
    begin();
    text_ += "NULL";
  }
  template <class Number>
  void addOrNull(const std::optional<Number>& value) {
    begin();
    text_ += value ? fmt::to_string(*value) : "NULL";
  }

  std::string text() const { return text_ + '}'; }

 private:
  void begin() {
    if (text_.size() > 1) text_ += ',';
  }
  std::string text_ = "{";
};

}  // namespace muster
