#include "models/json/artifact_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "models/json/json_writer.h"
#include "models/resource.h"

namespace muster {
namespace {

constexpr std::size_t kMostArtifacts = 1000;
constexpr std::size_t kMostNameBytes = 256;
constexpr std::size_t kMostMetadataBytes = 16'384;

bool isNote(JsonValue item) {
  constexpr std::array<std::string_view, 5> kTelling = {"name", "resource_id", "resourceId",
                                                        "inline", "value"};
  for (auto member = item.begin(); member != item.end(); ++member) {
    if (std::find(kTelling.begin(), kTelling.end(), member.key()) != kTelling.end()) return false;
  }
  return true;
}

std::optional<std::string> readName(ObjectReader& in, std::string_view field) {
  auto name = in.text(field, 1, kMostNameBytes);
  if (name && !isSlashedName(*name)) {
    in.fault(field, "invalid",
             "must be of letters, digits and ._~:/-, without an empty, . or .. between slashes");
  }
  return name;
}

constexpr std::array<std::string_view, 15> kFields = {
    "name",       "type",        "inline",     "value",      "resource_id",
    "worker_id",  "worker_name", "size_bytes", "expires_at", "metadata",
    "resourceId", "workerId",    "workerName", "sizeBytes",  "expiresAt"};

bool isField(std::string_view name) {
  return std::find(kFields.begin(), kFields.end(), name) != kFields.end();
}

// Writes the item anew, with what else it has at its end; its name, empty: it has none.
std::string readItem(JsonValue item, const std::string& pointer, JsonWriter& out,
                     HandedArtifacts& handed, std::vector<FieldError>& faults) {
  ObjectReader in(item, pointer, faults);
  const auto resource = readName(in, spelling(in, "resource_id", "resourceId"));
  const auto name = in.has("name") ? readName(in, "name") : resource;
  const std::string type = in.text("type", 1, 128).value_or("");
  const auto value = in.raw("value");
  const bool is_inline = in.boolean("inline").value_or(false) || value;
  out.beginObject();
  if (name) out.field("name", *name);
  if (!type.empty()) out.field("type", type);
  out.field("inline", is_inline);
  if (value) out.key("value").raw(*value);
  if (is_inline) handed.inlined.push_back({type, value ? value->size() : 0, pointer});
  if (resource) out.field("resource_id", *resource);
  if (const auto worker = in.id(spelling(in, "worker_id", "workerId"))) {
    out.field("worker_id", *worker);
  }
  if (const auto worker = in.text(spelling(in, "worker_name", "workerName"), 1, 256)) {
    out.field("worker_name", *worker);
  }
  const auto size_field = spelling(in, "size_bytes", "sizeBytes");
  if (const auto size = in.integer(size_field, 0, std::numeric_limits<std::int64_t>::max())) {
    out.field("size_bytes", *size);
  }
  const auto expiry_field = spelling(in, "expires_at", "expiresAt");
  if (const auto expires = in.time(expiry_field)) out.field("expires_at", formatTime(*expires));
  if (const auto metadata = in.object("metadata")) {
    if (metadata->raw().size() > kMostMetadataBytes) {
      in.fault("metadata", "too_large", fmt::format("has more than {} bytes", kMostMetadataBytes));
    }
    out.key("metadata").raw(metadata->raw());
  }
  for (auto member = item.begin(); member != item.end(); ++member) {
    if (!isField(member.key())) out.key(member.key()).raw((*member).raw());
  }
  out.endObject();
  return name.value_or("");
}

}  // namespace

std::string_view spelling(ObjectReader& in, std::string_view snake, std::string_view camel) {
  if (!in.has(camel)) return snake;
  if (in.has(snake)) in.fault(camel, "contradiction", fmt::format("is {} again", snake));
  return camel;
}

bool mayRegister(const std::optional<std::string>& result, const std::string& artifacts) {
  return artifacts.find("\"resource_id\":") != std::string::npos ||
         (result && result->find("\"artifacts\"") != std::string::npos);
}

std::vector<NamedArtifact> namedArtifacts(const std::string& artifacts) {
  std::vector<NamedArtifact> named;
  const auto list = JsonDoc::parse(artifacts);
  if (!list || !list->root().isArray()) return named;
  const JsonValue items = list->root();
  std::size_t index = 0;
  for (auto it = items.begin(); it != items.end(); ++it, ++index) {
    if (!(*it).isObject() || isNote(*it)) continue;
    std::vector<FieldError> none;
    ObjectReader in(*it, "", none);
    NamedArtifact& item = named.emplace_back();
    item.index = index;
    item.name = in.text("name", 1, kMostNameBytes).value_or("");
    item.type = in.text("type", 1, 128).value_or("");
    item.is_inline = in.boolean("inline").value_or(false);
    item.resource = in.text("resource_id", 1, kMostNameBytes).value_or("");
    item.worker = in.id("worker_id").value_or("");
    item.size_bytes = in.integer("size_bytes", 0, std::numeric_limits<std::int64_t>::max());
    item.expires_at = in.time("expires_at");
    if (const auto metadata = in.object("metadata")) item.metadata = metadata->raw();
  }
  return named;
}

namespace {

// What the store knows; the item of the report may say more.
void writeStored(JsonWriter& out, const StoredArtifact& stored, const JsonValue* item) {
  const Resource& resource = stored.resource;
  std::map<std::string, std::string_view> said;
  if (item != nullptr) {
    for (auto member = item->begin(); member != item->end(); ++member) {
      said.emplace(member.key(), (*member).raw());
    }
  }
  const auto pass = [&](std::string_view field) {
    const auto found = said.find(std::string(field));
    if (found != said.end()) out.key(field).raw(found->second);
    return found != said.end();
  };
  out.beginObject();
  if (stored.attempt > 0 || !pass("name")) out.field("name", stored.name);
  if (stored.attempt > 0) out.field("attempt", stored.attempt);
  if (!pass("type")) out.field("type", resource.type);
  out.field("inline", false).field("resource_id", resource.id).field("uid", resource.uid);
  pass("worker_id");
  pass("worker_name");
  if (resource.size_bytes || !pass("size_bytes")) out.field("size_bytes", resource.size_bytes);
  if (!resource.sha256.empty()) out.field("sha256", resource.sha256);
  if (!pass("expires_at")) out.field("expires_at", resource.expires_at);
  if (!pass("metadata") && !resource.metadata.empty()) out.key("metadata").raw(resource.metadata);
  constexpr std::array<std::string_view, 4> kOurs = {"attempt", "uid", "sha256", "inline"};
  for (const auto& [field, value] : said) {
    const bool is_ours = std::find(kOurs.begin(), kOurs.end(), field) != kOurs.end();
    if (!is_ours && !isField(field)) out.key(field).raw(value);
  }
  out.endObject();
}

}  // namespace

std::string mergeArtifacts(const std::string& handed, std::span<const StoredArtifact> stored) {
  if (stored.empty()) return handed;
  std::vector<bool> is_written(stored.size());
  std::map<std::size_t, const NamedArtifact*> by_index;
  const auto named = namedArtifacts(handed);
  for (const NamedArtifact& item : named) by_index.emplace(item.index, &item);
  const auto meant = [&](const NamedArtifact& item) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const Resource& resource = stored[i].resource;
      if (is_written[i] || item.is_inline) continue;
      if (item.name == stored[i].name || item.resource == resource.id ||
          item.resource == resource.uid) {
        return i;
      }
    }
    return stored.size();
  };
  JsonWriter out;
  out.beginArray();
  if (const auto list = JsonDoc::parse(handed); list && list->root().isArray()) {
    const JsonValue items = list->root();
    std::size_t index = 0;
    for (auto it = items.begin(); it != items.end(); ++it, ++index) {
      const auto item = by_index.find(index);
      const std::size_t found = item == by_index.end() ? stored.size() : meant(*item->second);
      const JsonValue value = *it;
      if (found == stored.size()) {
        out.raw(value.raw());
      } else {
        is_written[found] = true;
        writeStored(out, stored[found], &value);
      }
    }
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!is_written[i] && stored[i].attempt > 0) writeStored(out, stored[i], nullptr);
  }
  return out.endArray().take();
}

std::optional<KeptArtifact> findArtifact(const std::string& artifacts, std::string_view name) {
  const auto list = JsonDoc::parse(artifacts);
  if (!list || !list->root().isArray()) return std::nullopt;
  const JsonValue items = list->root();
  for (auto item = items.begin(); item != items.end(); ++item) {
    KeptArtifact kept;
    bool is_it = false;
    for (auto member = (*item).begin(); member != (*item).end(); ++member) {
      const std::string key = member.key();
      if (key == "name") is_it = (*member).string() == name;
      if (key == "value") kept.value = std::string((*member).raw());
      if (key == "resource_id") kept.resource = (*member).string().value_or("");
      if (key == "uid") kept.uid = (*member).string().value_or("");
    }
    if (is_it) return kept;
  }
  return std::nullopt;
}

HandedArtifacts readArtifacts(ObjectReader& in, std::vector<FieldError>& faults) {
  HandedArtifacts handed;
  const auto artifacts = in.array("artifacts", 0, kMostArtifacts);
  if (!artifacts || artifacts->size() == 0) return handed;
  JsonWriter out;
  out.beginArray();
  std::set<std::string> names;
  std::size_t index = 0;
  for (auto it = artifacts->begin(); it != artifacts->end(); ++it, ++index) {
    const std::string pointer = fmt::format("{}/{}", in.pointer("artifacts"), index);
    if (!(*it).isObject()) {
      addFault(faults, {pointer, "type", "must be an object"});
    } else if (isNote(*it)) {
      out.raw((*it).raw());
    } else if (std::string name = readItem(*it, pointer, out, handed, faults);
               !name.empty() && !names.insert(name).second) {
      addFault(faults, {pointer + "/name", "duplicate_name",
                        fmt::format("another artifact of the report is named '{}'", name)});
    }
  }
  handed.json = out.endArray().take();
  return handed;
}

}  // namespace muster
