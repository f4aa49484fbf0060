#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/ids.h"
#include "models/time.h"

namespace muster {

// Builds one JSON text by appending. In names and strings bytes that are no UTF-8 become U+FFFD.
// The caller keeps the order right: key() before each member's value, begin… and end… in pairs.
// Absent optionals are left out by field().
class JsonWriter {
 public:
  JsonWriter& beginObject() { return open('{'); }
  JsonWriter& endObject() { return close('}'); }
  JsonWriter& beginArray() { return open('['); }
  JsonWriter& endArray() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(double number);
  JsonWriter& value(Time time);
  template <std::integral T>
  JsonWriter& value(T number) {
    return integer(static_cast<std::int64_t>(number));
  }
  template <class Tag>
  JsonWriter& value(const Id<Tag>& id) {
    return value(std::string_view(id.str()));
  }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& field(std::string_view name, const T& what) {
    if constexpr (requires { what.has_value(); }) {
      return what.has_value() ? key(name).value(*what) : *this;
    } else {
      return key(name).value(what);
    }
  }
  template <class Range>
  JsonWriter& list(std::string_view name, const Range& items) {
    key(name).beginArray();
    for (const auto& item : items) value(item);
    return endArray();
  }

  void reserve(std::size_t size) { out_.reserve(size); }
  std::size_t size() const { return out_.size(); }
  std::string take() { return std::move(out_); }

 private:
  JsonWriter& integer(std::int64_t number);
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string out_;
  bool first_ = true;  // nothing stands before the next value in its container
};

}  // namespace muster
