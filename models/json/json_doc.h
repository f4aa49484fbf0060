#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/result.h"

namespace muster {

struct JsonLimits {
  std::size_t depth = 64;
  std::size_t keys_per_object = 10'000;
};

class JsonDoc;

// A value inside a JsonDoc; valid while the document and its text live. Cheap to copy.
class JsonValue {
 public:
  enum class Kind : std::uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind() const;
  bool isNull() const { return kind() == Kind::kNull; }
  bool isObject() const { return kind() == Kind::kObject; }
  bool isArray() const { return kind() == Kind::kArray; }

  // The value exactly as it was written, without the white space around it.
  std::string_view raw() const;

  // Nothing when the value is of another kind, or (integer) not a whole number of 64 bits.
  // `1.0` and `1e3` are whole numbers.
  std::optional<bool> boolean() const;
  std::optional<std::int64_t> integer() const;
  std::optional<double> number() const;
  // Nothing also for text with a NUL or a lone surrogate, which no field of ours may hold.
  std::optional<std::string> string() const;

  std::size_t size() const;  // items of an array, members of an object

  // Walks the items of an array, or the members of an object (key() gives the name).
  class Iterator;
  Iterator begin() const;
  Iterator end() const;

 private:
  friend class JsonDoc;
  JsonValue(const JsonDoc& doc, std::uint32_t node) : doc_(&doc), node_(node) {}
  const JsonDoc* doc_;
  std::uint32_t node_;
};

class JsonValue::Iterator {
 public:
  std::string key() const;  // unescaped; only in an object
  // The same; nothing for a name with a NUL or a lone surrogate.
  std::optional<std::string> name() const;
  JsonValue operator*() const;
  Iterator& operator++();
  bool operator==(const Iterator& other) const { return node_ == other.node_; }

 private:
  friend class JsonValue;
  Iterator(const JsonDoc& doc, std::uint32_t node, bool object)
      : doc_(&doc), node_(node), object_(object) {}
  const JsonDoc* doc_;
  std::uint32_t node_;
  bool object_;
};

// One JSON text (RFC 8259, strict: no comments, no trailing commas, UTF-8 checked), parsed into a
// flat list of places in that text. Nothing is converted, so numbers and strings keep every digit
// and escape. The text must outlive the document.
class JsonDoc {
 public:
  // kInvalidJson with line and column, or kLimitExceeded.
  static Result<JsonDoc> parse(std::string_view text, JsonLimits limits = {});

  JsonValue root() const { return JsonValue(*this, 0); }

 private:
  friend class JsonValue;
  friend class JsonValue::Iterator;
  friend class JsonParser;

  struct Node {
    JsonValue::Kind kind;
    bool escaped = false;     // strings: has backslashes
    std::uint32_t start = 0;  // of the raw text
    std::uint32_t end = 0;
    std::uint32_t next = 0;  // the node after this value and all it holds
    std::uint32_t size = 0;  // items or members
  };

  std::string_view text_;
  std::vector<Node> nodes_;  // in the order of the text; a key is a string node before its value
};

}  // namespace muster
