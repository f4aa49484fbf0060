#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/json_doc.h"
#include "models/result.h"
#include "models/time.h"

namespace muster {

// A request with more faults is not read for the sake of their number: the rest is not noted.
inline constexpr std::size_t kMostFaults = 1000;
void addFault(std::vector<FieldError>& faults, FieldError fault);

// Reads the fields of one JSON object and notes every fault with its JSON pointer, so that a
// client learns of all its mistakes at once. Each getter gives the value when it is there and
// right; `null` counts as absent. finish() notes the fields nobody asked for.
class ObjectReader {
 public:
  // `value` that is no object is noted as a fault; every getter then finds nothing.
  ObjectReader(JsonValue value, std::string pointer, std::vector<FieldError>& faults);

  std::optional<bool> boolean(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<double> number(std::string_view name, double min, double max);
  // Between `min` and `max` bytes.
  std::optional<std::string> text(std::string_view name, std::size_t min, std::size_t max);
  std::optional<std::string> id(std::string_view name);
  std::optional<std::string> oneOf(std::string_view name, const std::vector<std::string>& choices);
  std::optional<Time> time(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name, std::size_t max_items,
                                                std::size_t max_bytes);
  std::optional<JsonValue> object(std::string_view name);
  std::optional<JsonValue> array(std::string_view name, std::size_t min, std::size_t max);
  // Any value as it was written, `null` too.
  std::optional<std::string> raw(std::string_view name);

  // The same, but its absence is a fault; the default-constructed value then.
  template <class T>
  T required(std::string_view name, std::optional<T> value) {
    if (!value && !has(name)) fault(name, "required", "is required");
    return value ? *std::move(value) : T{};
  }

  bool has(std::string_view name);  // present and not null
  // Fields that the request has in another form of it: here they may only be absent or `null`.
  void unused(std::initializer_list<std::string_view> names);
  std::string pointer(std::string_view name) const;
  void fault(std::string_view name, std::string code, std::string detail);
  void finish();

 private:
  struct Member {
    std::string name;
    JsonValue value;
    bool used = false;
  };
  Member* find(std::string_view name);
  const JsonValue* present(std::string_view name);

  std::string pointer_;
  std::vector<FieldError>* faults_;
  std::vector<Member> members_;
};

// 422 with all faults when there are any.
Status checkFaults(std::vector<FieldError> faults);

}  // namespace muster
