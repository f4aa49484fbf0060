#include "controllers/host_controller.h"

#include "models/json/host_json.h"
#include "models/json/json_reader.h"
#include "models/json/utf8.h"
#include "models/operations/hosts.h"

namespace muster {
namespace {

constexpr std::size_t kMostHostBytes = 256;

Result<std::string> hostInPath(const Request& request) {
  for (const auto& [name, value] : request.path_values) {
    if (name == "host" && !value.empty() && value.size() <= kMostHostBytes && isUtf8(value)) {
      return value;
    }
  }
  return fail(ErrorCode::kInvalidId, "the name of a host has 1 to 256 bytes");
}

Result<Work> list(const Request& request) {
  QueryReader query(request);
  ListHosts op;
  op.limit = query.limit();
  op.cursor = query.text("cursor", kMostHostBytes).value_or("");
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto page = run(op, store);
    if (!page) return tl::unexpected(page.error());
    JsonWriter out;
    out.beginObject().key("items").beginArray();
    for (const Host& host : page->hosts) writeHost(out, host);
    out.endArray();
    if (!page->next_cursor.empty()) out.field("next_cursor", page->next_cursor);
    out.endObject();
    return Reply::json(200, std::move(out));
  };
}

Result<Work> show(const Request& request) {
  auto host = hostInPath(request);
  if (!host) return tl::unexpected(std::move(host).error());
  return [op = FindHost{*std::move(host)}](Store& store) -> Outcome {
    const auto found = run(op, store);
    if (!found) return tl::unexpected(found.error());
    JsonWriter out;
    writeHost(out, *found);
    return Reply::json(200, std::move(out));
  };
}

Result<Work> forget(const Request& request) {
  auto host = hostInPath(request);
  if (!host) return tl::unexpected(std::move(host).error());
  return [op = ForgetHost{*std::move(host)}](Store& store) -> Outcome {
    if (auto ok = run(op, store); !ok) return tl::unexpected(std::move(ok).error());
    return Reply{204, "", ""};
  };
}

Result<Work> sync(const Request& request) {
  auto host = hostInPath(request);
  if (!host) return tl::unexpected(std::move(host).error());
  const auto body = parseBody(request);
  if (!body) return tl::unexpected(body.error());
  std::vector<FieldError> faults;
  SyncHost op = readSync(body->root(), faults);
  if (auto ok = checkFaults(std::move(faults)); !ok) return tl::unexpected(std::move(ok).error());
  op.host = *std::move(host);
  op.by.worker = request.principal.worker;
  return [op = std::move(op)](Store& store) -> Outcome {
    const auto reply = run(op, store);
    if (!reply) return tl::unexpected(reply.error());
    JsonWriter out;
    out.beginObject().list("evict", reply->evict).list("unknown", reply->unknown).endObject();
    return Reply::json(200, std::move(out));
  };
}

}  // namespace

void HostController::addRoutes(Router& router) {
  const std::string host = "/v1/hosts/{host}";
  router.add("GET", "/v1/hosts", Scope::kRead, {.read = list});
  router.add("GET", host, Scope::kRead, {.read = show});
  router.add("DELETE", host, Scope::kAdmin, {.write = forget});
  // A worker tends its host, whatever its pool is.
  router.add("POST", host + "/sync", Scope::kWork,
             {.write = sync, .routine = true, .pool_rule = PoolRule::kHandler});
}

}  // namespace muster
