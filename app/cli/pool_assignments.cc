#include "app/cli/pool_assignments.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>

#include "app/config/closest_name.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/pool.h"

namespace muster {
namespace {

struct Field {
  std::string group;  // "" for the pool itself
  std::string name;
  bool is_text = false;

  std::string key() const { return group.empty() ? name : group + "." + name; }
};

std::vector<Field> poolFields() {
  std::vector<Field> fields;
  eachPoolField([&fields](std::string_view group, std::string_view name, auto field,
                          const FieldRule&) {
    using Value = std::remove_cvref_t<decltype(*(std::declval<PoolSettings>().*field))>;
    fields.push_back({std::string(group), std::string(name), std::is_same_v<Value, std::string>});
  });
  return fields;
}

const Field* findField(const std::vector<Field>& fields, std::string_view key) {
  for (const auto& field : fields) {
    if (key == field.key() || key == field.name) return &field;
  }
  return nullptr;
}

// What is a number, a list, true or false stays so; the rest is text, for the service to judge.
std::string valueJson(const Field& field, std::string_view value) {
  if (!field.is_text) {
    const auto doc = JsonDoc::parse(value);
    if (doc && !doc->root().isObject() && !doc->root().isNull()) return std::string(value);
  }
  return JsonWriter().value(value).take();
}

std::string objectJson(const std::map<std::string, std::string>& members) {
  JsonWriter json;
  json.beginObject();
  for (const auto& [name, value] : members) json.key(name).raw(value);
  return json.endObject().take();
}

}  // namespace

Result<PoolAssignments> readPoolAssignments(const std::vector<std::string>& assignments) {
  const auto fields = poolFields();
  std::vector<std::string> known;
  for (const auto& field : fields) known.insert(known.end(), {field.name, field.key()});
  std::vector<FieldError> faults;
  std::map<std::string, std::map<std::string, std::string>> groups;
  std::set<std::string> named;
  PoolAssignments made;
  for (const auto& assignment : assignments) {
    const auto equals = assignment.find('=');
    const std::string key = assignment.substr(0, equals);
    const Field* field = findField(fields, key);
    if (equals == std::string::npos) {
      faults.push_back({assignment, "invalid", "expected key=value"});
    } else if (field == nullptr) {
      faults.push_back({key, "unknown", "unknown setting of a pool" + suggestion(key, known)});
    } else if (!named.insert(field->key()).second) {
      faults.push_back({key, "duplicate", "is given twice"});
    } else if (equals + 1 == assignment.size()) {
      made.unset.push_back(field->key());
    } else {
      groups[field->group][field->name] = valueJson(*field, assignment.substr(equals + 1));
    }
  }
  if (!faults.empty()) {
    return tl::unexpected(Error{ErrorCode::kInvalid, "arguments", std::move(faults)});
  }
  auto members = groups[""];
  for (const auto& [group, values] : groups) {
    if (!group.empty()) members[group] = objectJson(values);
  }
  made.json = objectJson(members);
  return made;
}

}  // namespace muster
