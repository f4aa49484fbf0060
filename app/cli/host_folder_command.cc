#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <ostream>

#include "app/cli/host_folder_options.h"
#include "app/cli/resource_options.h"
#include "app/cli/table.h"
#include "app/cli/worker_options.h"
#include "app/log/system_clock.h"
#include "app/worker/folder_tending.h"
#include "app/worker/host_folder.h"

namespace muster {
namespace {

constexpr Millis kFolderCallTimeout = Seconds(30);

tl::expected<JsonAnswer, Refusal> askForJson(ApiClient& api, const HttpRequest& request) {
  auto answer = askOnce(api)(request);
  if (!answer) return tl::unexpected(std::move(answer).error());
  auto json = JsonAnswer::parse(std::move(answer->body));
  if (!json) {
    return tl::unexpected(
        Refusal{answer->status, "not_json", "the answer is not JSON; is this a Muster service?"});
  }
  return *std::move(json);
}

std::string holderOf(const HostFolderOptions& options) {
  return "host:" + hostNameOr(options.host);
}

FolderCare careOf(const HostFolderOptions& options, const ApiClient& api) {
  return {.service = api.url(), .most_bytes = options.most_bytes};
}

}  // namespace

void addHostFolderOptions(CLI::App& app, HostFolderOptions& options) {
  app.add_option("--host", options.host, "name of this host (the machine's); also MUSTER_HOST_NAME")
      ->type_name("NAME");
  app.add_option("--data-dir", options.data_dir, "the folder of this host; also MUSTER_DATA_DIR")
      ->type_name("FOLDER");
}

std::string readFolderEnvironment(const Environment& env, HostFolderOptions& options) {
  std::string fault;
  if (options.data_dir.empty()) options.data_dir = workerVariable(env, "DATA_DIR").value;
  const auto host = env.find("MUSTER_HOST_NAME");
  if (options.host.empty() && host != env.end()) options.host = host->second;
  options.most_bytes = numberIn(workerVariable(env, "RESOURCE_MAX_DISK_BYTES"), fault);
  options.environment = {env.begin(), env.end()};
  return fault;
}

std::string findHostFolder(const HostFolderOptions& options, ApiClient& api) {
  std::string told, told_id;
  if (options.data_dir.empty()) {
    // One that it knows nothing of, or does not tell us of, has the folder that a user's own is.
    const auto host = askForJson(api, {.path = apiPath({"v1", "hosts", hostNameOr(options.host)}),
                                       .timeout = kFolderCallTimeout});
    if (host) {
      told = textOf(host->root(), "data_dir");
      told_id = textOf(host->root(), "folder_id");
    }
  }
  return hostFolderPath(options.data_dir, told, told_id, options.environment);
}

tl::expected<JsonAnswer, Refusal> keepOnHost(const HostFolderOptions& options,
                                             const std::string& source, const std::string& path,
                                             const AddKeptFields& add_fields, ApiClient& api) {
  const auto cannot = [](std::string what) {
    return tl::unexpected(Refusal{422, "cannot_write", std::move(what), {}});
  };
  const std::string folder = findHostFolder(options, api);
  if (const auto made = HostFolder(folder).prepare(); !made) return cannot(made.error());
  const auto file = describeKept(source, folder);
  if (!file) return cannot(file.error());
  const Descriptor lock = lockForTending(folder, true);
  if (!lock.isOpen()) return cannot(folder + ": cannot be locked");
  const SystemClock clock;
  // The service takes files of hosts only that it has heard of.
  const auto tended = tendLocked(folder, careOf(options, api),
                                 syncBy(askOnce(api), hostNameOr(options.host)), clock.now());
  if (!tended) return tl::unexpected(tended.error());
  std::optional<JsonAnswer> resource;
  const auto enlist = [&](const KeptFile& kept) -> tl::expected<KeptRow, Refusal> {
    JsonWriter body;
    body.beginObject().field("holder", holderOf(options)).field("path", kept.path());
    body.field("size_bytes", kept.size).field("sha256", kept.sha256);
    add_fields(body, kept);
    auto made = askForJson(api, {.method = "POST",
                                 .path = path,
                                 .body = body.endObject().take(),
                                 .timeout = kFolderCallTimeout});
    if (!made) return tl::unexpected(std::move(made).error());
    resource.emplace(*std::move(made));
    const JsonValue root = resource->root();
    return KeptRow{.uid = textOf(root, "uid"),
                   .id = textOf(root, "resource_id"),
                   .type = textOf(root, "type"),
                   .scope = textOf(root, "scope"),
                   .tenant = textOf(root, "tenant"),
                   .service = api.url()};
  };
  const auto kept = keepFile(folder, *file, enlist, clock.now());
  if (kept) return *std::move(resource);
  if (resource) {
    // Best effort: a row whose file did not come is lost within an hour.
    static_cast<void>(
        api.send({.method = "DELETE",
                  .path = apiPath({"v1", "resources", textOf(resource->root(), "uid")}),
                  .timeout = kFolderCallTimeout}));
  }
  return tl::unexpected(kept.error());
}

int tellRefusal(Terminal& terminal, const Refusal& refusal) {
  terminal.err << printable(refusal.detail) << "\n";
  return refusal.status == 0 ? kExitUnreachable : kExitFailed;
}

int run(const ResourceKeepCommand& command, ApiClient& api, Terminal& terminal) {
  const auto made = keepOnHost(
      command.folder, command.path, "/v1/resources",
      [&command](JsonWriter& body, const KeptFile& file) {
        body.field("resource_id", command.id);
        body.field("type", !command.type.empty() ? command.type : file.is_folder ? "dir" : "file");
        if (!command.scope.empty()) body.field("scope", command.scope);
        body.field("ttl_seconds", command.ttl_seconds);
      },
      api);
  if (!made) return tellRefusal(terminal, made.error());
  if (terminal.json) {
    terminal.out << made->text() << "\n";
  } else {
    terminal.out << printable(textOf(made->root(), "resource_id")) << "\n";
  }
  return kExitOk;
}

int run(const ResourceGcCommand& command, ApiClient& api, Terminal& terminal) {
  const std::string folder = findHostFolder(command.folder, api);
  const SystemClock clock;
  const auto tended =
      tendFolder(folder, careOf(command.folder, api),
                 syncBy(askOnce(api), hostNameOr(command.folder.host)), clock.now());
  if (!tended) return tellRefusal(terminal, tended.error());
  const bool is_none = folderId(folder).empty();
  if (terminal.json) {
    JsonWriter out;
    out.beginObject().field("data_dir", folder).field("tended", !tended->was_left);
    out.field("resources", tended->held).field("deleted", tended->deleted);
    out.field("disk_bytes_in_use", tended->bytes_in_use).endObject();
    terminal.out << out.take() << "\n";
  } else if (is_none) {
    terminal.err << printable(folder) << ": nothing is kept there\n";
  } else if (tended->was_left) {
    terminal.err << printable(folder) << ": somebody else looks after it just now\n";
  } else {
    terminal.out << fmt::format("{}: {} resources, {} deleted, {} bytes\n", printable(folder),
                                tended->held, tended->deleted, tended->bytes_in_use);
  }
  return kExitOk;
}

}  // namespace muster
