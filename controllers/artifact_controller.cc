#include "controllers/artifact_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controllers/resource_access.h"
#include "models/json/json_reader.h"
#include "models/json/resource_json.h"
#include "models/operations/artifacts.h"

namespace muster {
namespace {

constexpr double kMostArtifactTtl = 365.0 * 24 * 3600;
constexpr std::string_view kPlainType = "file";
constexpr std::size_t kMostMime = 256;

// What the sender says that it is; what curl says by itself tells nothing.
std::string mimeOf(const Request& request) {
  const std::string& sent = request.header("content-type");
  const bool is_text =
      std::all_of(sent.begin(), sent.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
  if (!is_text || sent.size() > kMostMime || sent == "application/x-www-form-urlencoded") return {};
  return sent;
}

}  // namespace

void ArtifactController::addRoutes(Router& router) {
  using C = ArtifactController;
  const std::string all = "/v1/jobs/{job_id}/artifacts", one = all + "/{name}";
  const auto later = [this](auto member) {
    return [this, member](const RequestPtr& request, const Respond& respond) {
      (this->*member)(request, respond);
    };
  };
  router.add("PUT", one, Scope::kWork, {.answer = later(&C::put), .routine = true});
  router.add("POST", all, Scope::kWork, {.write = C::create, .routine = true});
  router.add("GET", all, Scope::kRead, {.read = C::list});
  // A worker's own token reads what its jobs refer to.
  router.add("GET", one, Scope::kRead, {.answer = later(&C::get), .any_scope = true});
}

void ArtifactController::put(const RequestPtr& request, const Respond& respond) {
  auto id = request->pathId<JobId>("job_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  auto name = slashedNameIn(*request, "name");
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  QueryReader query(*request);
  RegisterArtifact op{.job = *std::move(id),
                      .lease_token = request->header("x-lease-token"),
                      .name = *std::move(name),
                      .resource = {},
                      .by = resourceCallerOf(*request)};
  op.resource.type = query.text("type", 128).value_or(std::string(kPlainType));
  if (const auto seconds = query.number("ttl_seconds", 1, kMostArtifactTtl)) {
    op.resource.ttl = Millis(std::llround(*seconds * 1000.0));
  }
  if (auto ok = query.finish(); !ok) return respond(tl::unexpected(std::move(ok).error()));
  if (op.lease_token.empty()) {
    return respond(tl::unexpected(
        Error{ErrorCode::kInvalidHeader,
              "X-Lease-Token must be the lease token of the job",
              {{"X-Lease-Token", "required", "must be the lease token of the job"}}}));
  }
  auto digest = contentDigestOf(*request);
  if (!digest) return respond(tl::unexpected(std::move(digest).error()));
  op.resource.mime = mimeOf(*request);
  op.resource.size_bytes = static_cast<std::int64_t>(request->body().size());
  IncomingPart part{.request = request,
                    .respond = respond,
                    .name = "",
                    .by = op.by,
                    .is_last = true,
                    .sha256 = *std::move(digest),
                    .status = 201};
  auto kept = std::make_shared<IncomingPart>(std::move(part));
  uploads_.step<RegisterArtifact>(*kept, std::move(op), Isolation::kAlone,
                                  [this, kept](Result<Resource> made) {
                                    if (!made) {
                                      return kept->respond(tl::unexpected(std::move(made).error()));
                                    }
                                    kept->name = made->uid;
                                    uploads_.take(std::move(*kept));
                                  });
}

Result<Work> ArtifactController::create(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  RegisterArtifact op = readRegisterArtifact(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  op.job = *std::move(id);
  op.by = resourceCallerOf(request);
  return [op = std::move(op)](Store& store) { return resourceReply(run(op, store), store, 201); };
}

Result<Work> ArtifactController::list(const Request& request) {
  auto id = request.pathId<JobId>("job_id");
  if (!id) return tl::unexpected(std::move(id).error());
  if (auto ok = QueryReader(request).finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = ListArtifacts{*std::move(id)}](Store& store) -> Outcome {
    const auto found = run(op, store);
    if (!found) return tl::unexpected(found.error());
    JsonWriter out;
    out.beginObject().key("items").raw(found->items).endObject();
    return Reply::json(200, std::move(out));
  };
}

void ArtifactController::get(const RequestPtr& request, const Respond& respond) {
  auto id = request->pathId<JobId>("job_id");
  if (!id) return respond(tl::unexpected(std::move(id).error()));
  auto name = slashedNameIn(*request, "name");
  if (!name) return respond(tl::unexpected(std::move(name).error()));
  if (auto ok = QueryReader(*request).finish(); !ok) {
    return respond(tl::unexpected(std::move(ok).error()));
  }
  FindArtifact op{*std::move(id), *std::move(name), resourceCallerOf(*request)};
  gateway_.read(
      request,
      [this, request, op = std::move(op)](Store& store) -> Outcome {
        auto found = run(op, store);
        if (!found) return tl::unexpected(std::move(found).error());
        if (found->uid.empty()) return Reply{200, std::move(found->value)};
        const auto content = run(FindContent{found->uid, op.by}, store);
        if (!content) return tl::unexpected(content.error());
        return content_.show(*request, *content, store.now());
      },
      respond);
}

}  // namespace muster
