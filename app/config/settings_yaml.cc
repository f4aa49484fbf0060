#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "app/config/closest_name.h"
#include "app/config/yaml_source.h"

namespace muster {
namespace {

// Keys with values that have a structure of their own.
constexpr std::array<std::string_view, 5> kStructured = {"tokens", "tls_clients", "templates",
                                                         "pools", "triggers"};

std::string_view kindName(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "empty";
    case YamlNode::Kind::kScalar:
      return "a plain value";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

std::vector<std::string> topLevelKeys() {
  std::vector<std::string> keys(kStructured.begin(), kStructured.end());
  for (const auto& row : settingTable()) {
    keys.emplace_back(row.name);
    if (!row.bare_name.empty()) keys.emplace_back(row.bare_name);
  }
  return keys;
}

std::string pointerPart(std::string_view key) {
  std::string out = "/";
  for (const char c : key) {
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

const YamlNode* findEntry(const YamlNode& root, std::string_view key) {
  const auto found = std::find_if(root.entries.begin(), root.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  return found == root.entries.end() ? nullptr : &found->value;
}

void readRows(YamlSource& source, const YamlNode& root) {
  std::map<const SettingRow*, const YamlEntry*> seen;
  for (const auto& entry : root.entries) {
    if (std::find(kStructured.begin(), kStructured.end(), entry.key) != kStructured.end()) continue;
    const SettingRow* row = findSetting(entry.key);
    if (row == nullptr) {
      source.faultUnknown(entry, topLevelKeys());
      continue;
    }
    const auto [first, is_new] = seen.emplace(row, &entry);
    if (!is_new) {
      source.fault(entry.mark,
                   fmt::format("\"{}\" is the same setting as \"{}\" in line {}", entry.key,
                               first->second->key, first->second->mark.line));
      continue;
    }
    source.set(*row, entry);
  }
}

}  // namespace

void collectPlaces(const YamlSource& source, const YamlNode& node, const std::string& pointer,
                   std::map<std::string, std::string>& places) {
  for (const auto& entry : node.entries) {
    const std::string below = pointer + pointerPart(entry.key);
    places[below] = source.place(entry.mark);
    collectPlaces(source, entry.value, below, places);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string below = fmt::format("{}/{}", pointer, i);
    places[below] = source.place(node.items[i].mark);
    collectPlaces(source, node.items[i], below, places);
  }
}

std::optional<YamlNode> YamlSource::parse(std::string_view text) {
  std::vector<YamlFault> duplicates;
  auto root = parseYaml(text, duplicates);
  for (const auto& duplicate : duplicates) fault(duplicate.mark, duplicate.what);
  if (root) return *std::move(root);
  fault(root.error().mark, root.error().what);
  return std::nullopt;
}

std::string YamlSource::place(YamlMark mark) const {
  return fmt::format("{}:{}:{}", file_, mark.line, mark.column);
}

void YamlSource::fault(YamlMark mark, std::string what) {
  draft_.addFault(place(mark), std::move(what));
}

void YamlSource::faultAt(std::string place, std::string what) {
  draft_.addFault(std::move(place), std::move(what));
}

void YamlSource::faultUnknown(const YamlEntry& entry, const std::vector<std::string>& known) {
  const std::string key = entry.key.substr(0, 80);
  const std::string near = suggestion(entry.key, known);
  const bool few = known.size() <= 8;
  fault(entry.mark, fmt::format("unknown key \"{}\"{}", key,
                                !near.empty() ? near
                                : few ? fmt::format(", expected one of {}", fmt::join(known, ", "))
                                      : ""));
}

bool YamlSource::is(YamlNode::Kind kind, const YamlNode& node, std::string_view name,
                    std::string_view expected) {
  if (node.kind == kind) return true;
  fault(node.mark, fmt::format("{} is {}, expected {}", name, kindName(node.kind), expected));
  return false;
}

bool YamlSource::isMap(const YamlNode& node, std::string_view name, std::string_view expected) {
  return is(YamlNode::Kind::kMap, node, name, expected);
}

bool YamlSource::isList(const YamlNode& node, std::string_view name, std::string_view expected) {
  return is(YamlNode::Kind::kList, node, name, expected);
}

bool YamlSource::isText(const YamlNode& node, std::string_view name, std::string_view expected) {
  return is(YamlNode::Kind::kScalar, node, name, expected);
}

void YamlSource::set(const SettingRow& row, const YamlEntry& entry) {
  const YamlNode& value = entry.value;
  if (!row.is_list || value.kind != YamlNode::Kind::kList) {
    if (!isText(value, row.name, row.expected)) return;
    draft_.set(row, value.text, place(value.mark));
    return;
  }
  std::string joined;
  for (const auto& item : value.items) {
    if (!isText(item, fmt::format("an item of {}", row.name), row.expected)) return;
    joined += (joined.empty() ? "" : ",") + item.text;
  }
  draft_.set(row, joined, place(value.mark));
}

void readYamlSettings(std::string_view file, std::string_view text, SettingsDraft& draft) {
  YamlSource source(file, draft);
  const auto root = source.parse(text);
  if (!root) return;
  if (root->kind == YamlNode::Kind::kNull) return;
  if (!source.isMap(*root, "the file", "keys and values like `listen: 127.0.0.1:8080`")) return;
  readRows(source, *root);
  if (const auto* tokens = findEntry(*root, "tokens")) readYamlTokens(source, *tokens);
  if (const auto* clients = findEntry(*root, "tls_clients")) readYamlTlsClients(source, *clients);
  if (const auto* templates = findEntry(*root, "templates")) readYamlTemplates(source, *templates);
  if (const auto* pools = findEntry(*root, "pools")) readYamlPools(source, *pools);
  if (const auto* triggers = findEntry(*root, "triggers")) readYamlTriggers(source, *triggers);
}

}  // namespace muster
