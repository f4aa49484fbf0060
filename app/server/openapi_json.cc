#include "app/server/openapi_json.h"

#include <yaml-cpp/yaml.h>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

void writeScalar(JsonWriter& out, const YAML::Node& node) {
  const std::string& text = node.Scalar();
  const bool quoted = node.Tag() == "!";
  const auto doc = quoted ? JsonDoc::parse("\"\"") : JsonDoc::parse(text);
  // What JSON reads as a number or a word is one in YAML too; the rest is text.
  if (!quoted && doc && doc->root().kind() != JsonValue::Kind::kString && !doc->root().isArray() &&
      !doc->root().isObject()) {
    out.raw(text);
  } else {
    out.value(text);
  }
}

void writeNode(JsonWriter& out, const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      out.beginObject();
      for (const auto& entry : node) {
        out.key(entry.first.Scalar());
        writeNode(out, entry.second);
      }
      out.endObject();
      break;
    case YAML::NodeType::Sequence:
      out.beginArray();
      for (const auto& item : node) writeNode(out, item);
      out.endArray();
      break;
    case YAML::NodeType::Scalar:
      writeScalar(out, node);
      break;
    default:
      out.raw("null");
  }
}

}  // namespace

std::string yamlToJson(std::string_view yaml) {
  JsonWriter out;
  writeNode(out, YAML::Load(std::string(yaml)));
  return out.take();
}

}  // namespace muster
