#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <ostream>

#include "app/blobs/blob_folder.h"
#include "app/cli/commands.h"
#include "app/cli/service/doctor_checks.h"
#include "app/launch/program_beside.h"
#include "app/launch/worker_process.h"
#include "app/log/system_clock.h"
#include "app/tls/service_certificate.h"
#include "models/store_url.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Checks = std::vector<Check>;

Checks settingsFaults(const Error& error) {
  Checks checks;
  for (const auto& fault : error.fields) {
    checks.push_back({"settings", CheckVerdict::kFail,
                      fmt::format("{}: {}", fault.pointer, fault.detail),
                      "correct it; `muster serve --help` shows all settings"});
  }
  return checks;
}

void checkSettings(const Settings& settings, Checks& checks) {
  for (const std::string& warning : settings.warnings) {
    checks.push_back({"settings", CheckVerdict::kWarn, warning, "correct it, if it is not meant"});
  }
  if (settings.warnings.empty()) checks.push_back({"settings", CheckVerdict::kOk, "no faults"});
}

void checkTemplates(const Settings& settings, const Environment& env, Checks& checks) {
  const auto folders = env.find("PATH");
  for (const auto& [name, made] : settings.templates) {
    std::string path = folders == env.end() ? "" : folders->second;
    std::string program = made.command.front();
    if (made.kind == WorkerTemplate::Kind::kBuiltin) program = programBeside("muster");
    // A command for each job is looked for by the worker, which has the template's environment.
    const auto own = made.env.find("PATH");
    if (made.kind == WorkerTemplate::Kind::kRun && own != made.env.end()) path = own->second;
    const auto found = findProgram(program, made.cwd, path);
    Check check{"template " + name, CheckVerdict::kOk, found ? "runs " + *found : found.error()};
    if (!found) {
      check.verdict = CheckVerdict::kFail;
      check.hint = "correct command and cwd of the template, or install what is missing (chmod +x)";
    }
    checks.push_back(std::move(check));
  }
  for (const FieldError& fault : templatesWithoutTheirUser(settings)) {
    checks.push_back({fault.pointer, CheckVerdict::kWarn, fault.detail,
                      "run doctor as the service runs, with its capabilities, to be sure"});
  }
}

// Of the file system that the folder is, or will be, in.
void checkDisk(const std::string& name, fs::path folder, Checks& checks) {
  std::error_code fault;
  while (!fs::exists(folder, fault) && folder.has_relative_path()) folder = folder.parent_path();
  const auto space = fs::space(folder, fault);
  if (fault) {
    checks.push_back({name, CheckVerdict::kWarn,
                      fmt::format("free space for {}: {}", folder.string(), fault.message()),
                      "look at the mode of the folder"});
  } else {
    checks.push_back(judgeDisk(name, folder.string(), space.available, space.capacity));
  }
}

void add(std::vector<Check> more, Checks& checks) {
  for (Check& check : more) checks.push_back(std::move(check));
}

// The folder of blobs; `found` is what the store says of it, if it could be asked.
void checkBlobs(const Settings& settings, const BlobFolderState& folder, const StoreFindings& found,
                Checks& checks) {
  checks.push_back(judgeBlobFolder(folder));
  checkDisk("disk of blobs", folder.path, checks);
  if (!found.resources || !folder.fault.empty()) return;
  add(judgeResources(*found.resources, isPostgres(settings.store), settings.resource_max_disk_bytes,
                     settings.resource_high_watermark_pct),
      checks);
}

void checkStore(const Settings& settings, Checks& checks) {
  const SystemClock clock;
  const std::string folder = blobFolder(settings);
  const BlobFolderState blobs = folder.empty() ? BlobFolderState{} : lookAtBlobFolder(folder);
  const BlobFolderView view{blobs.place_id,
                            [&folder](const std::string& sum) { return blobLength(folder, sum); },
                            settings.upload_ttl};
  const bool is_postgres = isPostgres(settings.store);
  const auto path = is_postgres ? settings.store : sqlitePath(settings.store);
  StoreFindings found;
  if (!path) {
    found.fault = path.error();
  } else {
    found = is_postgres ? probePostgres(*path, clock, &view) : probeSqlite(*path, clock, &view);
  }
  add(judgeStore(found, is_postgres, settings.durability), checks);
  if (!folder.empty()) checkBlobs(settings, blobs, found, checks);
  if (path && !is_postgres && *path != ":memory:") {
    checkDisk("disk of store", fs::absolute(*path).parent_path(), checks);
  }
  checkDisk("disk of output", workerOutputFolder(settings), checks);
}

void checkCertificate(const Settings& settings, Checks& checks) {
  if (settings.tls_cert.empty()) return;
  const auto read = readServiceCertificate(settings);
  checks.push_back(judgeCertificate(read.map([](const auto& found) { return found.expires; }),
                                    SystemClock().now()));
}

void checkService(const Settings& settings, Checks& checks) {
  const ListenAddress& listen = settings.listen;
  Check check{"service", CheckVerdict::kOk, "listens on any free port: not looked for"};
  if (listen.port != 0) {
    std::string host = listen.host == "0.0.0.0" || listen.host == "::" ? "127.0.0.1" : listen.host;
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    ApiClient api(fmt::format("{}://{}:{}", urlScheme(settings), host, listen.port), "",
                  {{.ca = settings.tls_cert}});
    const auto answer = api.send({.path = "/healthz", .timeout = Seconds(3)});
    check.detail = !answer ? fmt::format("does not run: nothing answers at {} ({})", api.url(),
                                         answer.error().what)
                   : answer->ok() ? "runs at " + api.url()
                                  : fmt::format("{} answers at {}/healthz; is that Muster?",
                                                answer->status, api.url());
  }
  checks.push_back(std::move(check));
}

int show(const Checks& checks, int exit_code, Terminal& terminal) {
  terminal.out << (terminal.json ? doctorJson(checks) + "\n" : doctorText(checks, terminal.color));
  return exit_code;
}

}  // namespace

int run(const DoctorCommand& command, const Environment& env, Terminal& terminal) {
  const auto settings = loadSettings(command.overrides, env);
  if (!settings) return show(settingsFaults(settings.error()), kExitUsage, terminal);
  Checks checks;
  checkSettings(*settings, checks);
  checkTemplates(*settings, env, checks);
  checkStore(*settings, checks);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  checks.push_back(judgeOpenFiles(files.rlim_max));
  checkCertificate(*settings, checks);
  checkService(*settings, checks);
  return show(checks, doctorExit(checks), terminal);
}

}  // namespace muster
