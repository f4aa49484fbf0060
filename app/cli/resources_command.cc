#include <fmt/format.h>

#include <ostream>

#include "app/cli/resource_options.h"
#include "app/cli/resource_view.h"
#include "app/cli/service_call.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

std::string resourcePath(const std::string& id, const std::string& tail = "") {
  return apiPath({"v1", "resources", id}) + tail;
}

// What a change made of a resource, on one line.
void printResource(Terminal& terminal, const Reply& reply) {
  const JsonValue resource = reply.json.root();
  if (terminal.json) {
    terminal.out << reply.json.text() << "\n";
    return;
  }
  const std::string expires = ago(resource, "expires_at", reply.now);
  terminal.out << fmt::format("{}  {}{}\n", printable(textOf(resource, "resource_id")),
                              printable(textOf(resource, "state")),
                              expires.empty() ? "" : ", expires " + printable(expires));
}

}  // namespace

int run(const ResourceListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto resources = list(api, terminal, "/v1/resources",
                              {{"scope", command.scope},
                               {"type", command.type},
                               {"holder", command.holder},
                               {"state", command.state},
                               {"tenant", command.tenant},
                               {"job_id", command.job}},
                              command.limit);
  if (!resources) return resources.error();
  if (terminal.json) {
    printItems(terminal, *resources);
    return kExitOk;
  }
  const Table table = resourceTable(resources->items, resources->now);
  if (table.empty()) {
    terminal.err << "no resources\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  noteMore(terminal, *resources);
  return kExitOk;
}

int run(const ResourceShowCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply = call(api, terminal, {.path = resourcePath(command.id)});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const JsonValue resource = reply->json.root();
  std::vector<std::pair<std::string, Cell>> pairs;
  for (auto it = resource.begin(); !(it == resource.end()); ++it) {
    const std::string name = it.key();
    pairs.emplace_back(name,
                       printable(name.ends_with("_at") ? timeAndAgo(resource, name, reply->now)
                                                       : textOf(resource, name)));
  }
  terminal.out << renderPairs(pairs, terminal.color);
  return kExitOk;
}

int run(const ResourceLeaseCommand& command, ApiClient& api, Terminal& terminal) {
  JsonWriter body;
  body.beginObject();
  if (!command.worker.empty()) body.field("worker_id", command.worker);
  if (!command.job.empty()) {
    body.field("job_id", command.job).field("lease_token", command.lease_token);
  }
  body.field("ttl_seconds", command.ttl_seconds).endObject();
  const auto reply =
      call(api, terminal,
           {.method = "POST", .path = resourcePath(command.id, "/lease"), .body = body.take()});
  if (!reply) return reply.error();
  // The lease alone on standard output, for scripts.
  const JsonValue lease = reply->json.root();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
  } else {
    terminal.out << printable(textOf(lease, "lease_id")) << "\n";
  }
  return kExitOk;
}

int run(const ResourceReleaseCommand& command, ApiClient& api, Terminal& terminal) {
  JsonWriter body;
  body.beginObject().field("lease_id", command.lease).endObject();
  const auto reply =
      call(api, terminal,
           {.method = "POST", .path = resourcePath(command.id, "/release"), .body = body.take()});
  if (!reply) return reply.error();
  printResource(terminal, *reply);
  return kExitOk;
}

int run(const ResourceTouchCommand& command, ApiClient& api, Terminal& terminal) {
  JsonWriter body;
  body.beginObject().field("ttl_seconds", command.ttl_seconds).endObject();
  const auto reply =
      call(api, terminal,
           {.method = "POST", .path = resourcePath(command.id, "/touch"), .body = body.take()});
  if (!reply) return reply.error();
  printResource(terminal, *reply);
  return kExitOk;
}

int run(const ResourceDeleteCommand& command, ApiClient& api, Terminal& terminal) {
  int worst = kExitOk;
  for (const std::string& id : command.ids) {
    const auto reply =
        call(api, terminal,
             {.method = "DELETE",
              .path = resourcePath(id) + apiQuery({{"force", command.force ? "true" : ""}})});
    if (!reply) {
      worst = reply.error();
      if (worst == kExitUnreachable) return worst;
      continue;
    }
    printResource(terminal, *reply);
  }
  return worst;
}

}  // namespace muster
