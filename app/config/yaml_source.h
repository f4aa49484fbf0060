#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/settings_sources.h"
#include "app/config/yaml_tree.h"

namespace muster {

// A file that is being read into a draft: turns marks into places and collects faults.
class YamlSource {
 public:
  YamlSource(std::string_view file, SettingsDraft& draft) : file_(file), draft_(draft) {}

  // The whole file; its faults are noted, and nothing is given when it cannot be read.
  std::optional<YamlNode> parse(std::string_view text);

  Settings& settings() { return draft_.settings; }
  std::map<std::string, PlacesByPointer>& poolPlaces() { return draft_.pool_places; }
  std::string place(YamlMark mark) const;
  void fault(YamlMark mark, std::string what);
  void faultAt(std::string place, std::string what);
  void faultUnknown(const YamlEntry& entry, const std::vector<std::string>& known);
  void set(const SettingRow& row, const YamlEntry& entry);

  // These add a fault and answer false (or nothing) when the node is of another kind.
  // `name` and `expected` complete "NAME is a list, expected EXPECTED".
  bool isMap(const YamlNode& node, std::string_view name, std::string_view expected);
  bool isList(const YamlNode& node, std::string_view name, std::string_view expected);
  bool isText(const YamlNode& node, std::string_view name, std::string_view expected);

 private:
  bool is(YamlNode::Kind kind, const YamlNode& node, std::string_view name,
          std::string_view expected);

  std::string_view file_;
  SettingsDraft& draft_;
};

// Notes where each part of a value stands, under its JSON pointer.
void collectPlaces(const YamlSource& source, const YamlNode& node, const std::string& pointer,
                   std::map<std::string, std::string>& places);

void readYamlTokens(YamlSource& source, const YamlNode& node);
// Comes after the tokens: the names of both stand for callers, so all of them differ.
void readYamlTlsClients(YamlSource& source, const YamlNode& node);
void readYamlTemplates(YamlSource& source, const YamlNode& node);
void readYamlTriggers(YamlSource& source, const YamlNode& node);
// Comes after the templates, so that a pool's template can be looked up.
void readYamlPools(YamlSource& source, const YamlNode& node);

}  // namespace muster
