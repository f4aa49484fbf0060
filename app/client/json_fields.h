#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_doc.h"
#include "models/time.h"

namespace muster {

// What the service answered, kept with its text so that values can be shown as they were written.
class JsonAnswer {
 public:
  // Nothing when the text is not JSON.
  static std::optional<JsonAnswer> parse(std::string text);

  JsonValue root() const { return doc_.root(); }
  std::string_view text() const { return *text_; }

 private:
  JsonAnswer(std::unique_ptr<std::string> text, JsonDoc doc)
      : text_(std::move(text)), doc_(std::move(doc)) {}

  std::unique_ptr<std::string> text_;  // does not move: the document points into it
  JsonDoc doc_;
};

// The member of an object; nothing when it is absent, null, or `value` is no object.
std::optional<JsonValue> member(JsonValue value, std::string_view name);

// A member as text for people: a string without quotes, anything else as it was written; "" when
// absent.
std::string textOf(JsonValue value, std::string_view name);

std::optional<Time> timeOf(JsonValue value, std::string_view name);
std::vector<JsonValue> itemsOf(JsonValue value, std::string_view name);

}  // namespace muster
