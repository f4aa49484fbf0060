#include "models/json/resource_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::size_t kMostResourceMetadata = 16'384;
constexpr double kLongestResourceTtl = 365.0 * 24 * 3600;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

bool isSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

template <class T>
void ifNotEmpty(JsonWriter& out, std::string_view name, const T& text) {
  if (!text.empty()) out.field(name, text);
}

// What registrations of resources and of artifacts have in common.
void readContent(ObjectReader& in, NewResource& made) {
  if (const auto holder = in.text("holder", 1, 300)) {
    const auto parsed = parseHolder(*holder);
    if (!parsed) in.fault("holder", "invalid", "must be store, external, host:NAME or worker:ID");
    made.holder = parsed.value_or(Holder{});
  }
  made.size_bytes = in.integer("size_bytes", 0, kMostBytes);
  made.sha256 = in.text("sha256", 1, 64).value_or("");
  if (!made.sha256.empty() && !isSha256(made.sha256)) {
    in.fault("sha256", "invalid", "must be 64 hexadecimal digits in lower case");
  }
  made.path = in.text("path", 1, 4096).value_or("");
  made.mime = in.text("mime", 1, 256).value_or("");
  const auto is_header_text = [](char c) { return c >= ' ' && c < '\x7f'; };
  if (!std::all_of(made.mime.begin(), made.mime.end(), is_header_text)) {
    in.fault("mime", "invalid", "must be of visible ASCII and blanks");
  }
  if (const auto seconds = in.number("ttl_seconds", 1, kLongestResourceTtl)) {
    made.ttl = Millis(std::llround(*seconds * 1000.0));
  }
  if (const auto metadata = in.object("metadata")) {
    made.metadata = metadata->raw();
    if (made.metadata.size() > kMostResourceMetadata) {
      in.fault("metadata", "too_large",
               fmt::format("has more than {} bytes", kMostResourceMetadata));
    }
  }
}

}  // namespace

NewResource readNewResource(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  NewResource made;
  made.id = in.text("resource_id", 1, 256).value_or("");
  if (!made.id.empty() && !isResourceId(made.id)) {
    in.fault("resource_id", "invalid",
             "must be of letters, digits and ._~:/-, without an empty, . or .. between slashes, "
             "and not begin with u~");
  }
  made.type = in.required("type", in.text("type", 1, 128));
  readContent(in, made);
  made.scope = in.text("scope", 1, 256).value_or("");
  if (!made.scope.empty() && !isSlashedName(made.scope)) {
    in.fault("scope", "invalid", "must be of letters, digits and ._~:/-");
  }
  made.tenant = in.text("tenant", 1, 128).value_or("");
  made.mem_bytes = in.integer("mem_bytes", 0, kMostBytes);
  made.uri = in.text("uri", 1, 4096).value_or("");
  made.expires_at = in.time("expires_at");
  if (made.ttl && made.expires_at) {
    in.fault("expires_at", "contradiction", "ttl_seconds says the same; give one of them");
  }
  if (made.holder.kind == Holder::Kind::kExternal && made.uri.empty()) {
    in.fault("uri", "required", "is required for what is kept elsewhere");
  }
  in.finish();
  return made;
}

RegisterArtifact readRegisterArtifact(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  RegisterArtifact op;
  op.lease_token = in.required("lease_token", in.text("lease_token", 1, 128));
  op.name = in.required("name", in.text("name", 1, 256));
  if (!op.name.empty() && !isSlashedName(op.name)) {
    in.fault("name", "invalid",
             "must be of letters, digits and ._~:/-, without an empty, . or .. between slashes");
  }
  op.resource.type = in.text("type", 1, 128).value_or("file");
  readContent(in, op.resource);
  in.finish();
  return op;
}

void writeResource(JsonWriter& out, const Resource& resource, std::int64_t part_bytes) {
  out.beginObject();
  out.field("resource_id", resource.id).field("uid", resource.uid).field("type", resource.type);
  out.field("holder", resource.holder.text());
  ifNotEmpty(out, "worker_id", resource.worker);
  ifNotEmpty(out, "host", resource.host);
  ifNotEmpty(out, "scope", resource.scope);
  ifNotEmpty(out, "tenant", resource.tenant);
  out.field("state", name(resource.state));
  ifNotEmpty(out, "reason", resource.reason);
  out.field("size_bytes", resource.size_bytes).field("mem_bytes", resource.mem_bytes);
  ifNotEmpty(out, "sha256", resource.sha256);
  out.field("stored", resource.stored);
  ifNotEmpty(out, "uri", resource.uri);
  ifNotEmpty(out, "path", resource.path);
  ifNotEmpty(out, "mime", resource.mime);
  if (resource.ttl) out.field("ttl_seconds", static_cast<double>(resource.ttl->count()) / 1000);
  out.field("expires_at", resource.expires_at);
  out.field("ref_count", resource.ref_count).field("in_use_count", resource.in_use_count);
  if (resource.upload_offset) {
    out.field("upload_offset", *resource.upload_offset).field("part_bytes", part_bytes);
  }
  if (!resource.metadata.empty()) out.key("metadata").raw(resource.metadata);
  ifNotEmpty(out, "job_id", resource.job);
  out.field("attempt", resource.attempt);
  out.field("created_at", resource.created_at).field("last_used_at", resource.last_used_at);
  out.field("version", resource.version).endObject();
}

std::string hashText(const NewResource& resource) {
  const auto number = [](const auto& value) { return value ? fmt::to_string(*value) : "-"; };
  const auto ttl = resource.ttl ? fmt::to_string(resource.ttl->count()) : "-";
  const auto until = resource.expires_at ? fmt::to_string(toMillis(*resource.expires_at)) : "-";
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", resource.type,
                     resource.holder.text(), resource.scope, resource.tenant,
                     number(resource.size_bytes), number(resource.mem_bytes), resource.sha256,
                     resource.mime, resource.uri, resource.path, ttl, until, resource.metadata);
}

void writeJobInput(JsonWriter& out, const JobInput& input) {
  const Resource& resource = input.resource;
  out.beginObject();
  out.field("resource_id", resource.id).field("uid", resource.uid).field("type", resource.type);
  out.field("holder", resource.holder.text()).field("as", input.as);
  out.field("size_bytes", resource.size_bytes);
  ifNotEmpty(out, "sha256", resource.sha256);
  if (resource.stored) {
    out.field("content_path", "/v1/resources/" + resource.uid + "/content");
  }
  ifNotEmpty(out, "path", resource.path);
  ifNotEmpty(out, "uri", resource.uri);
  if (!resource.metadata.empty()) out.key("metadata").raw(resource.metadata);
  out.endObject();
}

}  // namespace muster
