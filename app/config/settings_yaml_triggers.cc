#include <fmt/format.h>

#include "app/config/yaml_source.h"
#include "app/config/zone_files.h"
#include "models/ids.h"
#include "models/json/json_doc.h"
#include "models/json/trigger_json.h"

namespace muster {
namespace {

constexpr std::string_view kShape =
    "one like {name: nightly, type: cron, schedule: \"0 3 * * *\", machine: stale_worker_reaper}";

// Read like the body of a request, so that file and API take the same.
void readOne(YamlSource& source, const YamlNode& node, const std::string& name) {
  const std::string json = yamlToJson(node);
  const auto doc = JsonDoc::parse(json);
  if (!doc) {
    source.fault(node.mark, doc.error().detail);
    return;
  }
  PlacesByPointer places;
  places.places[""] = source.place(node.mark);
  collectPlaces(source, node, "", places.places);
  std::vector<FieldError> faults;
  TriggerSpec spec = readTrigger(doc->root(), "", name, findZone, faults);
  for (const auto& fault : faults) {
    source.faultAt(places.placeOf(fault.pointer),
                   fmt::format("{} {}", fault.pointer.substr(0, 80), fault.detail));
  }
  auto& triggers = *source.settings().triggers;
  for (const TriggerSpec& other : triggers) {
    if (spec.name.empty() || other.name != spec.name) continue;
    source.faultAt(places.placeOf("/name"),
                   fmt::format("a second trigger named \"{}\"", spec.name));
  }
  triggers.push_back(std::move(spec));
}

}  // namespace

void readYamlTriggers(YamlSource& source, const YamlNode& node) {
  if (!source.settings().triggers) source.settings().triggers.emplace();
  if (node.kind == YamlNode::Kind::kMap) {
    for (const auto& entry : node.entries) {
      if (!isValidId(entry.key)) {
        source.fault(entry.mark, fmt::format("\"{}\" cannot be a name, expected 1 to 128 letters, "
                                             "digits or . _ ~ : -",
                                             entry.key.substr(0, 80)));
      } else if (source.isMap(entry.value, entry.key, kShape)) {
        readOne(source, entry.value, entry.key);
      }
    }
    return;
  }
  if (!source.isList(node, "triggers", fmt::format("a list of triggers, each {}", kShape))) return;
  for (const auto& item : node.items) {
    if (source.isMap(item, "a trigger", kShape)) readOne(source, item, "");
  }
}

void readTriggerRegistry(std::string_view file, std::string_view text, SettingsDraft& draft) {
  YamlSource source(file, draft);
  const auto root = source.parse(text);
  if (!root) return;
  if (!source.isMap(*root, "the file", "`triggers:` with a list of them")) return;
  bool found = false;
  for (const auto& entry : root->entries) {
    if (entry.key == "triggers") {
      found = true;
      readYamlTriggers(source, entry.value);
    } else {
      source.faultUnknown(entry, {"triggers"});
    }
  }
  if (!found) source.fault(root->mark, "no triggers, expected `triggers:` with a list of them");
}

}  // namespace muster
