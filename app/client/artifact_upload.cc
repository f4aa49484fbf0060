#include "app/client/artifact_upload.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/client/sha256.h"
#include "models/base64.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr Millis kUploadTimeout = Seconds(120);
constexpr int kMostPartTries = 3;

std::pair<std::string, std::string> digestOf(std::string_view bytes) {
  return {"Content-Digest",
          fmt::format("sha-256=:{}:", encodeBase64(Sha256().add(bytes).digest()))};
}

std::optional<std::uint64_t> bytesIn(JsonValue value, std::string_view name) {
  const auto found = member(value, name);
  const auto bytes = found ? found->integer() : std::nullopt;
  if (!bytes || *bytes < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

tl::expected<JsonAnswer, Refusal> resourceIn(tl::expected<HttpAnswer, Refusal> answer) {
  if (!answer) return tl::unexpected(std::move(answer).error());
  auto json = JsonAnswer::parse(std::move(answer->body));
  if (!json) {
    return tl::unexpected(
        Refusal{answer->status, "not_json", "the answer is not JSON; is this a Muster service?"});
  }
  return *std::move(json);
}

}  // namespace

tl::expected<void, Refusal> ArtifactUpload::add(std::string_view bytes) {
  while (!bytes.empty()) {
    // The last part is sent by finish(), which says that it is the last.
    if (part_.size() == kContentPart) {
      if (uid_.empty()) {
        if (auto begun = begin(); !begun) return begun;
      }
      if (auto sent = sendPart(false); !sent) return tl::unexpected(std::move(sent).error());
    }
    const std::size_t taken = std::min(bytes.size(), kContentPart - part_.size());
    part_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
  return {};
}

tl::expected<JsonAnswer, Refusal> ArtifactUpload::finish() {
  return uid_.empty() ? putWhole() : sendPart(true);
}

tl::expected<JsonAnswer, Refusal> ArtifactUpload::putWhole() {
  const std::string ttl = artifact_.ttl_seconds ? fmt::format("{}", *artifact_.ttl_seconds) : "";
  auto answer =
      resourceIn(ask_({.method = "PUT",
                       .path = apiPath({"v1", "jobs", artifact_.job, "artifacts", artifact_.name}) +
                               apiQuery({{"type", artifact_.type}, {"ttl_seconds", ttl}}),
                       .body = part_,
                       .headers = {{"Content-Type", "application/octet-stream"},
                                   {"X-Lease-Token", artifact_.lease_token},
                                   digestOf(part_)},
                       .timeout = kUploadTimeout}));
  if (answer) offset_ = part_.size();
  return answer;
}

tl::expected<void, Refusal> ArtifactUpload::begin() {
  JsonWriter body;
  body.beginObject().field("lease_token", artifact_.lease_token).field("name", artifact_.name);
  body.field("type", artifact_.type).field("size_bytes", artifact_.size);
  body.field("ttl_seconds", artifact_.ttl_seconds).endObject();
  const auto made = resourceIn(ask_({.method = "POST",
                                     .path = apiPath({"v1", "jobs", artifact_.job, "artifacts"}),
                                     .body = body.take(),
                                     .timeout = kUploadTimeout}));
  if (!made) return tl::unexpected(made.error());
  uid_ = textOf(made->root(), "uid");
  return {};
}

tl::expected<JsonAnswer, Refusal> ArtifactUpload::sendPart(bool is_last) {
  const std::string resource = apiPath({"v1", "resources", uid_});
  HttpRequest request{.method = "PATCH",
                      .path = resource + "/content",
                      .body = std::move(part_),
                      .headers = {{"Content-Type", "application/octet-stream"},
                                  {"Upload-Offset", fmt::to_string(offset_)}},
                      .timeout = kUploadTimeout};
  request.headers.push_back(digestOf(*request.body));
  if (is_last) request.headers.emplace_back("Upload-Complete", "?1");
  const std::uint64_t after = offset_ + request.body->size();
  part_.clear();
  for (int tries = 1;; ++tries) {
    auto answer = resourceIn(ask_(request));
    if (!answer && answer.error().status == 409) {
      // The answer to a part may have been lost. Then it is there.
      auto seen = resourceIn(ask_({.path = resource, .timeout = kUploadTimeout}));
      if (!seen) return seen;
      const auto has = bytesIn(seen->root(), "upload_offset");
      const bool is_whole = !has && textOf(seen->root(), "state") == "active" &&
                            bytesIn(seen->root(), "size_bytes") == std::optional(after);
      if (has == std::optional(after) || (is_last && is_whole)) answer = std::move(seen);
    }
    if (answer) {
      offset_ = after;
      return answer;
    }
    const bool may_help = answer.error().status == 409 || answer.error().status == 422;
    if (!may_help || tries == kMostPartTries) return answer;
  }
}

}  // namespace muster
