#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/config/closest_name.h"
#include "app/config/environment.h"
#include "app/config/yaml_source.h"
#include "models/ids.h"
#include "models/json/json_doc.h"
#include "models/json/pool_json.h"
#include "models/worker.h"

namespace muster {
namespace {

constexpr std::string_view kNameShape = "1 to 128 letters, digits or . _ ~ : -";
constexpr std::string_view kCommandShape = "a program and its arguments like [python3, analyze.py]";

bool isVariableName(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

void readCommand(YamlSource& source, const YamlEntry& entry, WorkerTemplate& made) {
  if (!source.isList(entry.value, entry.key, fmt::format("{}; no shell reads it", kCommandShape))) {
    return;
  }
  for (const auto& item : entry.value.items) {
    if (!source.isText(item, "an argument", "text")) continue;
    made.command.push_back(item.text);
  }
  if (entry.value.items.empty() || entry.value.items.front().text.empty()) {
    source.fault(entry.value.mark,
                 fmt::format("{} is empty, expected {}", entry.key, kCommandShape));
  }
}

void readBuiltin(YamlSource& source, const YamlEntry& entry, WorkerTemplate& made) {
  if (!source.isText(entry.value, "builtin", "echo")) return;
  if (entry.value.text != "echo") {
    source.fault(entry.value.mark,
                 fmt::format("builtin is \"{}\", expected echo", entry.value.text.substr(0, 80)));
  }
  made.command = {entry.value.text};
}

void readVariables(YamlSource& source, const YamlNode& node, WorkerTemplate& made) {
  if (!source.isMap(node, "env", "names and values like {MODEL: small}")) return;
  for (const auto& entry : node.entries) {
    if (!isVariableName(entry.key)) {
      source.fault(entry.mark, fmt::format("\"{}\" cannot name an environment variable",
                                           entry.key.substr(0, 80)));
    } else if (entry.key.starts_with("MUSTER_")) {
      source.fault(entry.mark, fmt::format("{}: names with MUSTER_ are set by the service",
                                           entry.key.substr(0, 80)));
    } else if (source.isText(entry.value, entry.key, "text (\"\" for an empty one)")) {
      made.env[entry.key] = entry.value.text;
    }
  }
}

std::vector<std::string> readTraits(YamlSource& source, const YamlEntry& entry,
                                    std::string_view example) {
  std::vector<std::string> traits;
  if (!source.isList(entry.value, entry.key, fmt::format("a list like {}", example))) return traits;
  if (entry.value.items.size() > kMostTraits) {
    source.fault(entry.value.mark, fmt::format("{} has {} items, expected at most {}", entry.key,
                                               entry.value.items.size(), kMostTraits));
    return traits;
  }
  for (const auto& item : entry.value.items) {
    if (!source.isText(item, "an item of " + entry.key, "text")) continue;
    if (item.text.empty() || item.text.size() > kMaxTraitBytes) {
      source.fault(item.mark, fmt::format("an item of {} has {} bytes, expected 1 to {}", entry.key,
                                          item.text.size(), kMaxTraitBytes));
    } else {
      traits.push_back(item.text);
    }
  }
  return traits;
}

std::vector<std::string> readPassedVariables(YamlSource& source, const YamlEntry& entry) {
  std::vector<std::string> patterns;
  constexpr std::string_view kShape = "a list of variables like [PGPASSWORD, AWS_*]";
  if (!source.isList(entry.value, entry.key, kShape)) return patterns;
  for (const auto& item : entry.value.items) {
    if (!source.isText(item, "an item of pass_env", "the name of a variable")) continue;
    if (isVariablePattern(item.text)) {
      patterns.push_back(item.text);
    } else {
      source.fault(item.mark, fmt::format("\"{}\" cannot pass to workers, expected a name like "
                                          "PGPASSWORD, or a prefix like AWS_*; none of MUSTER_*",
                                          item.text.substr(0, 80)));
    }
  }
  return patterns;
}

// `group` is null where the template names none.
std::optional<SystemUser> readUser(YamlSource& source, const YamlEntry& user,
                                   const YamlEntry* group) {
  if (!source.isText(user.value, "user", "the name of a user")) return std::nullopt;
  if (group != nullptr && !source.isText(group->value, "group", "the name of a group")) {
    return std::nullopt;
  }
  auto found =
      findSystemUser(user.value.text, group == nullptr ? std::string() : group->value.text);
  if (found) return *std::move(found);
  source.fault(user.value.mark, found.error());
  return std::nullopt;
}

WorkerTemplate readTemplate(YamlSource& source, const YamlNode& node) {
  WorkerTemplate made;
  int kinds = 0;
  const YamlEntry* user = nullptr;
  const YamlEntry* group = nullptr;
  for (const auto& entry : node.entries) {
    if (entry.key == "run" || entry.key == "worker") {
      ++kinds;
      made.kind = entry.key == "run" ? WorkerTemplate::Kind::kRun : WorkerTemplate::Kind::kWorker;
      readCommand(source, entry, made);
    } else if (entry.key == "builtin") {
      ++kinds;
      made.kind = WorkerTemplate::Kind::kBuiltin;
      readBuiltin(source, entry, made);
    } else if (entry.key == "env") {
      readVariables(source, entry.value, made);
    } else if (entry.key == "cwd") {
      if (source.isText(entry.value, "cwd", "a folder")) made.cwd = entry.value.text;
    } else if (entry.key == "capabilities") {
      made.capabilities = readTraits(source, entry, "[gpu]");
    } else if (entry.key == "executors") {
      made.executors = readTraits(source, entry, "[docker]");
    } else if (entry.key == "pass_env") {
      made.pass_env = readPassedVariables(source, entry);
    } else if (entry.key == "user") {
      user = &entry;
    } else if (entry.key == "group") {
      group = &entry;
    } else {
      source.faultUnknown(entry, {"run", "worker", "builtin", "env", "pass_env", "cwd", "user",
                                  "group", "capabilities", "executors"});
    }
  }
  if (user != nullptr) made.user = readUser(source, *user, group);
  if (user == nullptr && group != nullptr) {
    source.fault(group->mark, "group is given, expected user beside it");
  }
  if (kinds != 1) source.fault(node.mark, "expected exactly one of run, worker and builtin");
  return made;
}

void checkTemplate(YamlSource& source, const YamlNode& pool) {
  const auto& templates = source.settings().templates;
  for (const auto& entry : pool.entries) {
    const bool names_one = entry.key == "template" && entry.value.kind == YamlNode::Kind::kScalar;
    if (!names_one || templates.contains(entry.value.text)) continue;
    std::vector<std::string> known;
    known.reserve(templates.size());
    for (const auto& [name, unused] : templates) known.push_back(name);
    source.fault(entry.value.mark,
                 fmt::format("no template is named \"{}\"{}", entry.value.text.substr(0, 80),
                             suggestion(entry.value.text, known)));
  }
}

// Read like the body of a request, so that file and API take the same settings.
PoolSettings readPool(YamlSource& source, const YamlNode& node, const PlacesByPointer& places) {
  const std::string json = yamlToJson(node);
  const auto doc = JsonDoc::parse(json);
  if (!doc) {
    source.fault(node.mark, doc.error().detail);
    return {};
  }
  std::vector<FieldError> faults;
  PoolSettings settings = readPoolSettings(doc->root(), faults);
  for (const auto& fault : faults) {
    source.faultAt(places.placeOf(fault.pointer),
                   fmt::format("{} {}", fault.pointer.substr(0, 80), fault.detail));
  }
  return settings;
}

bool isName(YamlSource& source, const YamlEntry& entry) {
  if (isValidId(entry.key)) return true;
  source.fault(entry.mark, fmt::format("\"{}\" cannot be a name, expected {}",
                                       entry.key.substr(0, 80), kNameShape));
  return false;
}

}  // namespace

void readYamlTemplates(YamlSource& source, const YamlNode& node) {
  constexpr std::string_view kShape = "a template like {run: [python3, analyze.py]}";
  if (!source.isMap(node, "templates", "names with templates")) return;
  for (const auto& entry : node.entries) {
    const bool named = isName(source, entry);
    if (!source.isMap(entry.value, entry.key.substr(0, 80), kShape)) continue;
    WorkerTemplate made = readTemplate(source, entry.value);
    if (named) source.settings().templates[entry.key] = std::move(made);
  }
}

void readYamlPools(YamlSource& source, const YamlNode& node) {
  if (!source.isMap(node, "pools", "names with settings like {scaling: {max_workers: 4}}")) return;
  for (const auto& entry : node.entries) {
    if (!isName(source, entry)) continue;
    PlacesByPointer& places = source.poolPlaces()[entry.key];
    places.places[""] = source.place(entry.mark);
    if (entry.value.kind == YamlNode::Kind::kNull) {
      source.settings().pools[entry.key] = {};
    } else if (source.isMap(entry.value, entry.key, "settings like {scaling: {max_workers: 4}}")) {
      collectPlaces(source, entry.value, "", places.places);
      source.settings().pools[entry.key] = readPool(source, entry.value, places);
      checkTemplate(source, entry.value);
    }
  }
}

}  // namespace muster
