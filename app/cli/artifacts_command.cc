#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ostream>
#include <thread>

#include "app/cli/resource_options.h"
#include "app/cli/resource_view.h"
#include "app/cli/service_call.h"
#include "app/cli/transfer_bar.h"
#include "app/client/artifact_upload.h"
#include "app/client/sha256.h"
#include "app/log/system_clock.h"
#include "app/worker/descriptor.h"
#include "app/worker/retry_pause.h"
#include "app/worker/tar_pack.h"

namespace muster {
namespace {

constexpr int kMostTries = 5;
constexpr const char* kUnfinished = ".part";

// Every piece is tried again a few times: what has been moved is not moved again for one answer
// that got lost.
AskService askPatiently(ApiClient& api) {
  return [ask = askOnce(api)](const HttpRequest& request) {
    for (int tries = 1;; ++tries) {
      auto answer = ask(request);
      if (answer || !answer.error().mayPass() || tries == kMostTries) return answer;
      std::this_thread::sleep_for(retryPause(tries, answer.error().retry_after, 0.5));
    }
  };
}

int sayFault(Terminal& terminal, const std::string& file) {
  terminal.err << fmt::format("{}: {}\n", file, std::strerror(errno));
  return kExitFailed;
}

bool isWatched() { return ::isatty(STDERR_FILENO) != 0; }

// Nothing when `take` was false, or what kept it from being read.
std::string readAll(int fd, const std::function<bool(std::string_view)>& take) {
  std::string room(std::size_t{1} << 16, '\0');
  while (true) {
    const ssize_t count = ::read(fd, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::strerror(errno);
    if (count == 0) return "";
    if (!take(std::string_view(room).substr(0, static_cast<std::size_t>(count)))) return "";
  }
}

std::string contentPathOf(const WantedContent& wanted, ApiClient& api) {
  if (wanted.job.empty()) return apiPath({"v1", "resources", wanted.name, "content"});
  // A running job has its artifacts as resources only.
  const std::string resource =
      apiPath({"v1", "resources", "jobs/" + wanted.job + "/" + wanted.name});
  if (const auto found = api.send({.path = resource}); found && found->ok()) {
    return resource + "/content";
  }
  return apiPath({"v1", "jobs", wanted.job, "artifacts", wanted.name});
}

int printContent(const std::string& path, ApiClient& api, Terminal& terminal) {
  const SystemClock clock;
  TransferBar bar(terminal.err, clock, isWatched() && ::isatty(STDOUT_FILENO) == 0);
  Sha256 sum;
  const auto content =
      download(askPatiently(api), path, 0,
               [&](std::string_view piece, std::uint64_t before, std::uint64_t size) {
                 sum.add(piece);
                 bar.show(before + piece.size(), size);
                 terminal.out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
                 return terminal.out.good();
               });
  terminal.out.flush();
  if (!terminal.out.good()) {
    terminal.err << "cannot write to standard output\n";
    return kExitFailed;
  }
  if (!content) return tellRefusal(terminal, content.error());
  if (!content->sha256.empty() && sum.hex() != content->sha256) {
    terminal.err << "what came has not the sum it should have\n";
    return kExitFailed;
  }
  return kExitOk;
}

int saveContent(const std::string& path, const std::string& file, ApiClient& api,
                Terminal& terminal) {
  const SystemClock clock;
  const std::string part = file + kUnfinished;
  const Descriptor made(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!made.isOpen()) return sayFault(terminal, part);
  {
    TransferBar bar(terminal.err, clock, isWatched());
    const auto content = downloadInto(askPatiently(api), path, made.get(), "",
                                      [&bar](std::uint64_t done, std::uint64_t size) {
                                        bar.show(done, size);
                                        return true;
                                      });
    if (!content) {
      struct stat seen {};
      const bool is_empty = ::fstat(made.get(), &seen) == 0 && seen.st_size == 0;
      if (is_empty) ::unlink(part.c_str());
      return tellRefusal(terminal, content.error());
    }
  }
  if (std::rename(part.c_str(), file.c_str()) != 0) return sayFault(terminal, file);
  return kExitOk;
}

void printMade(const JsonAnswer& resource, Terminal& terminal) {
  if (terminal.json) {
    terminal.out << resource.text() << "\n";
  } else {
    terminal.out << printable(textOf(resource.root(), "resource_id")) << "\n";
  }
}

int putOnHost(const ArtifactPutCommand& command, ApiClient& api, Terminal& terminal) {
  const auto made = keepOnHost(
      command.folder, command.file, apiPath({"v1", "jobs", command.job, "artifacts"}),
      [&command](JsonWriter& body, const KeptFile& file) {
        body.field("lease_token", command.lease_token).field("name", command.name);
        body.field("type", !command.type.empty() ? command.type : file.is_folder ? "dir" : "file");
        body.field("ttl_seconds", command.ttl_seconds);
      },
      api);
  if (!made) return tellRefusal(terminal, made.error());
  printMade(*made, terminal);
  return kExitOk;
}

}  // namespace

int run(const ArtifactPutCommand& command, ApiClient& api, Terminal& terminal) {
  if (command.on_host) return putOnHost(command, api, terminal);
  const bool is_stdin = command.file == "-";
  const Descriptor file(is_stdin ? ::dup(STDIN_FILENO)
                                 : ::open(command.file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat seen {};
  if (!file.isOpen() || ::fstat(file.get(), &seen) != 0) return sayFault(terminal, command.file);
  const bool is_folder = S_ISDIR(seen.st_mode);
  NewArtifact artifact{.job = command.job,
                       .lease_token = command.lease_token,
                       .name = command.name,
                       .type = is_folder ? "dir" : "file",
                       .ttl_seconds = command.ttl_seconds};
  if (!command.type.empty()) artifact.type = command.type;
  TarPlan plan;
  if (is_folder) {
    auto planned = planTar(file.get());
    if (!planned) {
      terminal.err << printable(planned.error()) << "\n";
      return kExitFailed;
    }
    plan = *std::move(planned);
    artifact.size = plan.size;
  } else if (S_ISREG(seen.st_mode) && !is_stdin) {
    artifact.size = static_cast<std::uint64_t>(seen.st_size);
  }
  const SystemClock clock;
  TransferBar bar(terminal.err, clock, isWatched());
  ArtifactUpload upload(askPatiently(api), artifact);
  std::optional<Refusal> refusal;
  const auto take = [&](std::string_view piece) {
    if (auto added = upload.add(piece); !added) refusal = added.error();
    bar.show(upload.sent(), artifact.size);
    return !refusal;
  };
  std::string fault;
  if (is_folder) {
    if (const auto packed = packTar(file.get(), plan, take); !packed) fault = packed.error();
  } else {
    fault = readAll(file.get(), take);
  }
  if (!fault.empty()) {
    terminal.err << printable(fault) << "\n";
    return kExitFailed;
  }
  if (refusal) return tellRefusal(terminal, *refusal);
  const auto made = upload.finish();
  if (!made) return tellRefusal(terminal, made.error());
  printMade(*made, terminal);
  return kExitOk;
}

int run(const ArtifactGetCommand& command, ApiClient& api, Terminal& terminal) {
  const std::string path = contentPathOf(wantedContent(command.what), api);
  return command.file == "-" ? printContent(path, api, terminal)
                             : saveContent(path, command.file, api, terminal);
}

int run(const ArtifactListCommand& command, ApiClient& api, Terminal& terminal) {
  const auto reply =
      call(api, terminal, {.path = apiPath({"v1", "jobs", command.job, "artifacts"})});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  const Table table = artifactTable(itemsOf(reply->json.root(), "items"));
  if (table.empty()) {
    terminal.err << "no artifacts\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  return kExitOk;
}

}  // namespace muster
