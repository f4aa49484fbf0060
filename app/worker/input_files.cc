#include "app/worker/input_files.h"

#include <fmt/format.h>

#include <set>

#include "app/worker/tar_name.h"
#include "models/json/json_writer.h"

namespace muster {

std::string inputNamesFault(const std::vector<ClaimedInput>& inputs) {
  std::set<std::string> names;
  for (const ClaimedInput& input : inputs) {
    if (input.as.empty() || tarPath(input.as) != input.as) {
      return fmt::format("the input {} has no name that a file could have", input.resource_id);
    }
    if (!names.insert(input.as).second) {
      return fmt::format("two inputs have the name {}: give one of them another with `as`",
                         input.as);
    }
  }
  for (const std::string& name : names) {
    for (auto slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      if (names.contains(name.substr(0, slash))) {
        return fmt::format(
            "the inputs {} and {} cannot lie in one folder: give one of them "
            "another name with `as`",
            name.substr(0, slash), name);
      }
    }
  }
  return "";
}

std::string resourcesJson(const std::vector<PlacedInput>& inputs) {
  JsonWriter out;
  out.beginObject();
  const auto text = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.field(name, value);
  };
  for (const auto& [input, path] : inputs) {
    out.key(input.resource_id).beginObject();
    text("type", input.type);
    text("holder", input.holder);
    text("path", path);
    text("uri", input.uri);
    out.field("size_bytes", input.size_bytes);
    text("sha256", input.sha256);
    text("expires_at", input.expires_at);
    out.key("metadata").raw(input.metadata.empty() ? "{}" : input.metadata);
    out.endObject();
  }
  return out.endObject().take() + "\n";
}

}  // namespace muster
