#include "app/cli/resource_options.h"

#include <CLI/CLI.hpp>

#include "app/cli/command_examples.h"
#include "app/cli/grammar_parts.h"

namespace muster {
namespace {

void addTtl(CLI::App& app, std::optional<double>& seconds, const char* help) {
  app.add_option("--ttl-seconds", seconds, help)->type_name("S")->check(CLI::PositiveNumber);
}

class ResourceGrammar : private GrammarParts {
 public:
  using GrammarParts::GrammarParts;

  void buildArtifacts(CLI::App& root) {
    CLI::App* artifacts = add(root, "artifacts", "files that jobs hand back", kArtifactsFooter);
    artifacts->require_subcommand(1);
    CLI::App* put = add(*artifacts, "put", "hand back a file of the job that runs this command",
                        kArtifactsFooter);
    auto made = command<ArtifactPutCommand>(put);
    put->add_option("NAME", made->name, "name of the artifact")->required();
    put->add_option("FILE", made->file, "a file, a folder, or - for stdin, as without it");
    put->add_option("--type", made->type, "what it is (file; dir for a folder, as a tar)")
        ->type_name("TYPE");
    addTtl(*put, made->ttl_seconds, "how long it is kept after its last use");
    put->add_flag("--on-host", made->on_host,
                  "the file stays on this host: it is moved into its folder, and not uploaded");
    addHostFolderOptions(*put, made->folder);
    put->add_option("--job", made->job, "a job that you hold (MUSTER_JOB_ID)")->type_name("ID");
    CLI::App* get =
        add(*artifacts, "get", "fetch a file; goes on where it was cut off", kArtifactsFooter);
    auto got = command<ArtifactGetCommand>(get);
    get->add_option("ID", got->what, "id of a resource, or JOB/NAME of an artifact")->required();
    get->add_option("FILE", got->file, "where to; - is stdout, as without it");
    CLI::App* all = add(*artifacts, "list", "what a job handed back", kArtifactsFooter);
    all->add_option("JOB", command<ArtifactListCommand>(all)->job, "id of the job (MUSTER_JOB_ID)");
  }

  void buildResources(CLI::App& root) {
    CLI::App* resources =
        add(root, "resources", "what jobs make and use, and who holds it", kResourcesFooter);
    resources->require_subcommand(1);
    addList(*resources);
    addKeep(*resources);
    addOne<ResourceShowCommand>(*resources, "show", "everything about a resource");
    auto lease = addOne<ResourceLeaseCommand>(*resources, "lease", "keep a resource for a while");
    CLI::App* app = resources->get_subcommand("lease");
    addTtl(*app, lease->ttl_seconds, "how long at most (300)");
    app->add_option("--worker", lease->worker,
                    "ends with this worker; in the command of a job it ends with its try")
        ->type_name("ID");
    auto release = addOne<ResourceReleaseCommand>(*resources, "release", "end a lease");
    resources->get_subcommand("release")
        ->add_option("LEASE", release->lease, "what `lease` printed")
        ->required();
    auto touch = addOne<ResourceTouchCommand>(*resources, "touch", "count it as used now");
    addTtl(*resources->get_subcommand("touch"), touch->ttl_seconds,
           "how long it is kept from its last use on (as before)");
    CLI::App* remove = add(*resources, "delete", "remove resources", kResourcesFooter);
    auto removed = command<ResourceDeleteCommand>(remove);
    remove->add_option("ID", removed->ids, "ids of resources")->required();
    remove->add_flag("--force", removed->force, "also if jobs need it: these end");
    CLI::App* gc =
        add(*resources, "gc", "look after the folder of this host once", kResourcesFooter);
    addHostFolderOptions(*gc, command<ResourceGcCommand>(gc)->folder);
  }

 private:
  template <class Options>
  std::shared_ptr<Options> addOne(CLI::App& parent, const char* name, const char* help) {
    return addAbout(parent, name, help, kResourcesFooter, "ID", &Options::id, "id or uid");
  }

  void addKeep(CLI::App& resources) {
    CLI::App* app =
        add(resources, "keep", "keep a file or folder on this host for jobs", kResourcesFooter);
    auto options = command<ResourceKeepCommand>(app);
    app->add_option("PATH", options->path, "is moved into the folder of this host")->required();
    app->add_option("--id", options->id, "id of the resource")->type_name("ID")->required();
    app->add_option("--type", options->type, "what it is (file; dir for a folder)")
        ->type_name("TYPE");
    app->add_option("--scope", options->scope, "to be released together")->type_name("SCOPE");
    addTtl(*app, options->ttl_seconds, "how long it is kept after its last use");
    addHostFolderOptions(*app, options->folder);
  }

  void addList(CLI::App& resources) {
    CLI::App* app = add(resources, "list", "living resources", kResourcesFooter);
    auto options = command<ResourceListCommand>(app);
    app->add_option("--scope", options->scope, "only of this scope")->type_name("SCOPE");
    app->add_option("--type", options->type, "only of this type")->type_name("TYPE");
    app->add_option("--holder", options->holder, "store, external, host:NAME or worker:ID")
        ->type_name("HOLDER");
    app->add_option("--state", options->state,
                    "uploading, active, stale, evicting, evicted or lost")
        ->type_name("STATE")
        ->check(CLI::IsMember({"uploading", "active", "stale", "evicting", "evicted", "lost"}));
    app->add_option("--tenant", options->tenant, "only of this tenant")->type_name("NAME");
    app->add_option("--job", options->job, "only artifacts of this job")->type_name("ID");
    addLimit(app, options->limit);
  }
};

std::string jobVariable(const Environment& env, const char* name) {
  const auto found = env.find(name);
  return found == env.end() ? "" : found->second;
}

}  // namespace

void addArtifactCommands(CLI::App& root, CommandLine& line) {
  ResourceGrammar(line).buildArtifacts(root);
}

void addResourceCommands(CLI::App& root, CommandLine& line) {
  ResourceGrammar(line).buildResources(root);
}

std::string completeFromJob(const Environment& env, ArtifactPutCommand& options) {
  if (options.job.empty()) options.job = jobVariable(env, "MUSTER_JOB_ID");
  options.lease_token = jobVariable(env, "MUSTER_LEASE_TOKEN");
  if (options.on_host && options.file == "-") return "--on-host needs a file or a folder";
  if (options.on_host) {
    if (auto fault = readFolderEnvironment(env, options.folder); !fault.empty()) return fault;
  }
  if (!options.job.empty() && !options.lease_token.empty()) return "";
  return "a job hands back its own files: its command finds MUSTER_JOB_ID and MUSTER_LEASE_TOKEN "
         "in its environment";
}

std::string completeFromJob(const Environment& env, ArtifactListCommand& options) {
  if (options.job.empty()) options.job = jobVariable(env, "MUSTER_JOB_ID");
  return options.job.empty() ? "give the id of a job" : "";
}

std::string completeFromJob(const Environment& env, ResourceLeaseCommand& options) {
  if (!options.worker.empty()) return "";
  options.lease_token = jobVariable(env, "MUSTER_LEASE_TOKEN");
  if (!options.lease_token.empty()) options.job = jobVariable(env, "MUSTER_JOB_ID");
  return "";
}

std::string completeFromJob(const Environment& env, ResourceKeepCommand& options) {
  return readFolderEnvironment(env, options.folder);
}

std::string completeFromJob(const Environment& env, ResourceGcCommand& options) {
  return readFolderEnvironment(env, options.folder);
}

}  // namespace muster
