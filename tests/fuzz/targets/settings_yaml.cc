#include <vector>

#include "app/config/settings_sources.h"
#include "app/config/yaml_tree.h"
#include "models/json/json_doc.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::test {
namespace {

const FuzzTarget kSettingsYaml("settings_yaml", [](std::string_view bytes) {
  std::vector<YamlFault> duplicates;
  const auto tree = parseYaml(bytes, duplicates);
  if (tree) {
    mustHold(JsonDoc::parse(yamlToJson(*tree)).has_value(), "YAML becomes JSON");
  } else {
    mustHold(!tree.error().what.empty(), "what is no YAML has a reason");
  }
  SettingsDraft draft;
  readYamlSettings("f.yml", bytes, draft);
  mustHold(tree.has_value() || !draft.faults.empty(), "what is no YAML is no setting");
  for (const FieldError& fault : draft.faults) {
    mustHold(fault.pointer.starts_with("f.yml:"), "a fault of a file has a place in it");
    mustHold(!fault.detail.empty(), "a fault says what it is");
  }
  checkSettings(draft);
});

}  // namespace
}  // namespace muster::test
