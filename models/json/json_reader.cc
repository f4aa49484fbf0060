#include "models/json/json_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "models/ids.h"

namespace muster {
namespace {

// A name as a part of a JSON pointer (RFC 6901).
std::string escapePointer(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void addFault(std::vector<FieldError>& faults, FieldError fault) {
  if (faults.size() < kMostFaults) faults.push_back(std::move(fault));
}

ObjectReader::ObjectReader(JsonValue value, std::string pointer, std::vector<FieldError>& faults)
    : pointer_(std::move(pointer)), faults_(&faults) {
  if (!value.isObject()) {
    addFault(*faults_, {pointer_, "type", "must be an object"});
    return;
  }
  members_.reserve(value.size());
  constexpr std::size_t kFew = 32;  // where looking through all is cheaper than a set of names
  std::unordered_set<std::string> seen;
  for (auto it = value.begin(); it != value.end(); ++it) {
    std::string name = it.key();
    const bool again = value.size() <= kFew ? find(name) != nullptr : !seen.insert(name).second;
    if (again) fault(name, "duplicate", "is given twice");
    members_.push_back({std::move(name), *it});
  }
}

ObjectReader::Member* ObjectReader::find(std::string_view name) {
  for (Member& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

const JsonValue* ObjectReader::present(std::string_view name) {
  Member* member = find(name);
  if (member == nullptr) return nullptr;
  member->used = true;
  return member->value.isNull() ? nullptr : &member->value;
}

bool ObjectReader::has(std::string_view name) { return present(name) != nullptr; }

void ObjectReader::unused(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    Member* member = find(name);
    if (member != nullptr && member->value.isNull()) member->used = true;
  }
}

std::string ObjectReader::pointer(std::string_view name) const {
  return pointer_ + "/" + escapePointer(name);
}

void ObjectReader::fault(std::string_view name, std::string code, std::string detail) {
  addFault(*faults_, {pointer(name), std::move(code), std::move(detail)});
}

std::optional<bool> ObjectReader::boolean(std::string_view name) {
  const JsonValue* value = present(name);
  if (value == nullptr) return std::nullopt;
  auto flag = value->boolean();
  if (!flag) fault(name, "type", "must be true or false");
  return flag;
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view name, std::int64_t min,
                                                  std::int64_t max) {
  const JsonValue* value = present(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->integer();
  if (!number) {
    fault(name, "type", "must be a whole number");
    return std::nullopt;
  }
  if (*number < min || *number > max) {
    fault(name, "range", fmt::format("must be between {} and {}", min, max));
    return std::nullopt;
  }
  return number;
}

std::optional<double> ObjectReader::number(std::string_view name, double min, double max) {
  const JsonValue* value = present(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->number();
  if (!number) {
    fault(name, "type", "must be a number");
    return std::nullopt;
  }
  if (!(*number >= min && *number <= max)) {
    fault(name, "range", fmt::format("must be between {} and {}", min, max));
    return std::nullopt;
  }
  return number;
}

std::optional<std::string> ObjectReader::text(std::string_view name, std::size_t min,
                                              std::size_t max) {
  const JsonValue* value = present(name);
  if (value == nullptr) return std::nullopt;
  auto text = value->string();
  if (!text) {
    const bool is_string = value->kind() == JsonValue::Kind::kString;
    fault(name, "type",
          is_string ? "must not hold a NUL or half a surrogate pair" : "must be a string");
    return std::nullopt;
  }
  if (text->size() < min || text->size() > max) {
    fault(name, "length", fmt::format("must have {} to {} bytes", min, max));
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> ObjectReader::id(std::string_view name) {
  auto text = this->text(name, 1, 128);
  if (text && !isValidId(*text)) {
    fault(name, "format", "must be 1 to 128 of A-Z a-z 0-9 . _ ~ : -");
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> ObjectReader::oneOf(std::string_view name,
                                               const std::vector<std::string>& choices) {
  auto text = this->text(name, 0, 256);
  if (text && std::find(choices.begin(), choices.end(), *text) == choices.end()) {
    fault(name, "choice", fmt::format("must be one of {}", fmt::join(choices, ", ")));
    return std::nullopt;
  }
  return text;
}

std::optional<Time> ObjectReader::time(std::string_view name) {
  const auto text = this->text(name, 0, 64);
  if (!text) return std::nullopt;
  auto time = parseTime(*text);
  if (!time) fault(name, "format", "must be a time like 2026-03-01T12:00:00Z");
  return time;
}

std::optional<std::vector<std::string>> ObjectReader::texts(std::string_view name,
                                                            std::size_t max_items,
                                                            std::size_t max_bytes) {
  const auto items = array(name, 0, max_items);
  if (!items) return std::nullopt;
  std::vector<std::string> texts;
  std::size_t index = 0;
  for (auto it = items->begin(); it != items->end(); ++it, ++index) {
    auto text = (*it).string();
    if (!text || text->empty() || text->size() > max_bytes) {
      addFault(*faults_, {fmt::format("{}/{}", pointer(name), index), "type",
                          fmt::format("must be a string of 1 to {} bytes", max_bytes)});
    } else {
      texts.push_back(*std::move(text));
    }
  }
  return texts;
}

std::optional<JsonValue> ObjectReader::object(std::string_view name) {
  const JsonValue* value = present(name);
  if (value == nullptr) return std::nullopt;
  if (!value->isObject()) {
    fault(name, "type", "must be an object");
    return std::nullopt;
  }
  return *value;
}

std::optional<JsonValue> ObjectReader::array(std::string_view name, std::size_t min,
                                             std::size_t max) {
  const JsonValue* value = present(name);
  if (value == nullptr) return std::nullopt;
  if (!value->isArray()) {
    fault(name, "type", "must be an array");
    return std::nullopt;
  }
  if (value->size() < min || value->size() > max) {
    fault(name, "length", fmt::format("must have {} to {} items", min, max));
    return std::nullopt;
  }
  return *value;
}

std::optional<std::string> ObjectReader::raw(std::string_view name) {
  Member* member = find(name);
  if (member == nullptr) return std::nullopt;
  member->used = true;
  return std::string(member->value.raw());
}

void ObjectReader::finish() {
  for (const Member& member : members_) {
    if (!member.used) fault(member.name, "unknown_field", "is not a known field");
  }
}

Status checkFaults(std::vector<FieldError> faults) {
  if (faults.empty()) return {};
  Error error{ErrorCode::kInvalid, {}};
  error.detail = faults.size() == 1
                     ? fmt::format("{} {}", faults[0].pointer, faults[0].detail)
                     : fmt::format("{}{} fields are not valid",
                                   faults.size() < kMostFaults ? "" : "at least ", faults.size());
  error.fields = std::move(faults);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace muster
