#include "models/json/host_json.h"

#include <fmt/format.h>

#include "models/json/json_reader.h"

namespace muster {
namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr std::int64_t kMostFileBytes = std::int64_t{1} << 50;

SyncHost::File readFile(JsonValue value, const std::string& pointer,
                        std::vector<FieldError>& faults) {
  ObjectReader in(value, pointer, faults);
  SyncHost::File file;
  file.uid = in.required("uid", in.text("uid", 1, 256));
  file.size_bytes = in.required("size_bytes", in.integer("size_bytes", 0, kMostFileBytes));
  file.sha256 = in.text("sha256", 64, 64).value_or("");
  in.finish();
  return file;
}

}  // namespace

void writeHost(JsonWriter& out, const Host& host) {
  out.beginObject().field("host", host.name);
  if (!host.folder_id.empty()) out.field("folder_id", host.folder_id);
  if (!host.data_dir.empty()) out.field("data_dir", host.data_dir);
  out.field("state", name(host.state)).field("last_seen", host.last_seen);
  out.field("disk_bytes_in_use", host.disk_bytes_in_use);
  out.field("disk_bytes_free", host.disk_bytes_free);
  out.field("disk_limit_bytes", host.disk_limit_bytes);
  out.field("resources", host.resources).endObject();
}

SyncHost readSync(JsonValue value, std::vector<FieldError>& faults) {
  ObjectReader in(value, "", faults);
  SyncHost op;
  op.folder_id = in.required("folder_id", in.text("folder_id", 1, 128));
  op.data_dir = in.required("data_dir", in.text("data_dir", 1, 4096));
  if (const auto files = in.array("resources", 0, kMostFiles)) {
    for (auto it = files->begin(); it != files->end(); ++it) {
      op.resources.push_back(
          readFile(*it, fmt::format("/resources/{}", op.resources.size()), faults));
    }
  } else if (!in.has("resources")) {
    in.fault("resources", "required", "is required");
  }
  op.complete = in.boolean("complete").value_or(false);
  const auto bytes = [&in](std::string_view name) { return in.integer(name, 0, kMostFileBytes); };
  op.disk_bytes_in_use = in.required("disk_bytes_in_use", bytes("disk_bytes_in_use"));
  op.disk_bytes_free = in.required("disk_bytes_free", bytes("disk_bytes_free"));
  op.disk_limit_bytes = bytes("disk_limit_bytes");
  in.finish();
  return op;
}

}  // namespace muster
