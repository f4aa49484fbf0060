#include "app/cli/command_grammar.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/cli/command_examples.h"
#include "app/cli/flow_options.h"
#include "app/cli/grammar_parts.h"
#include "app/cli/pool_bulk_options.h"
#include "app/cli/push_options.h"
#include "app/cli/resource_options.h"
#include "app/cli/scaling_options.h"
#include "app/cli/simulate_options.h"
#include "app/cli/worker_options.h"
#include "app/config/setting_table.h"

namespace muster {
namespace {

// Shows of an option its name and the kind of its value, and leaves the rules to the words.
class ShortFormatter : public CLI::Formatter {
 public:
  ShortFormatter() {
    label("SUBCOMMAND", "COMMAND");
    label("Positionals", "Arguments");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->nonpositional()) return "";
    std::string type = option->get_type_name();
    type.erase(std::min(type.find(':'), type.size()));
    return type.empty() ? "" : " " + type;
  }
};

class Grammar : private GrammarParts {
 public:
  Grammar(CLI::App& root, CommandLine& line) : GrammarParts(line), root_(root) {}

  void build(const std::string& first) {
    root_.formatter(std::make_shared<ShortFormatter>());
    root_.set_help_flag("-h,--help", "show this help");
    root_.set_version_flag("--version", "muster " MUSTER_VERSION, "show the version");
    root_.footer(kRootFooter);
    root_.require_subcommand(1);
    root_.add_option("--url", line_.service.url, "service to talk to; also MUSTER_URL")
        ->type_name("URL");
    root_.add_option("--token", line_.service.token, "access token; better in MUSTER_TOKEN")
        ->type_name("TOKEN");
    root_
        .add_option("--ca", line_.service.trust.files.ca,
                    "certificates (PEM) to trust in place of this machine's; also MUSTER_CA")
        ->type_name("FILE");
    root_
        .add_option_function<std::string>(
            "-o,--output", [&line = line_](const std::string& form) { line.json = form == "json"; },
            "table for people, json for scripts")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"table", "json"}));
    root_.add_flag("--no-color", line_.no_color, "no colours; also NO_COLOR");
    const auto named = std::find_if(kGroups.begin(), kGroups.end(), [&first](const Group& group) {
      return std::find(group.names.begin(), group.names.end(), first) != group.names.end();
    });
    const bool all = named == kGroups.end();
    for (const Group& group : kGroups) {
      if (all || &group == &*named) (this->*group.add)();
    }
  }

 private:
  struct Group {
    std::vector<std::string_view> names;
    void (Grammar::*add)();
  };
  static const std::vector<Group> kGroups;

  // A command whose options are added elsewhere.
  template <class Options>
  void addWith(void (*add_options)(CLI::App&, Options&), const char* name, const char* help,
               const char* footer) {
    CLI::App* app = add(root_, name, help, footer);
    add_options(*app, *command<Options>(app));
  }

  CLI::App* addGroup(const char* name, const char* help, const char* footer) {
    CLI::App* app = add(root_, name, help, footer);
    app->require_subcommand(1);
    return app;
  }

  static void addConfig(CLI::App* app, const std::shared_ptr<Overrides>& overrides) {
    app->add_option("--config", overrides->config_file,
                    "settings; muster.yml in this folder when it is there")
        ->type_name("FILE");
  }

  static void addSetting(CLI::App* app, const SettingRow& row,
                         std::map<std::string, std::string>& values, const char* group) {
    const std::string standard = row.show(Settings{});
    CLI::Option* option = app->add_option_function<std::string>(
        row.flag(),
        [&values, name = std::string(row.name)](const std::string& text) { values[name] = text; },
        fmt::format("{}{}", row.help, standard.empty() ? "" : " (" + standard + ")"));
    option->type_name(row.is_switch ? "[on|off]" : "VALUE")->group(group);
    if (row.is_switch) option->expected(0, 1)->default_str("on");
  }

  void addServe() {
    CLI::App* app = add(root_, "serve", "start the service", kServeFooter);
    auto options = command<ServeCommand>(app);
    addConfig(app, std::shared_ptr<Overrides>(options, &options->overrides));
    constexpr std::size_t kFirstOnes = 4;
    std::size_t count = 0;
    for (const auto& row : settingTable()) {
      addSetting(app, row, options->overrides.values,
                 count++ < kFirstOnes ? "Options" : "Settings");
    }
  }

  void addMigrate() {
    CLI::App* app =
        add(root_, "migrate", "bring the store to this version's layout", kMigrateFooter);
    auto options = command<MigrateCommand>(app);
    addConfig(app, std::shared_ptr<Overrides>(options, &options->overrides));
    addSetting(app, *findSetting("store"), options->overrides.values, "Options");
    app->add_flag("--dry-run", options->dry_run, "only say what would be done");
  }

  void addCopy() {
    CLI::App* app = add(root_, "copy", "move from SQLite to PostgreSQL", kCopyFooter);
    auto options = command<CopyCommand>(app);
    app->add_option("--from", options->from, "the store as it is, sqlite:PATH")
        ->type_name("URL")
        ->required();
    app->add_option("--to", options->to, "an empty database, postgresql://HOST/DATABASE")
        ->type_name("URL")
        ->required();
  }

  void addDoctor() {
    CLI::App* app =
        add(root_, "doctor", "what is wrong with machine, settings and store?", kDoctorFooter);
    auto options = command<DoctorCommand>(app);
    addConfig(app, std::shared_ptr<Overrides>(options, &options->overrides));
    addSetting(app, *findSetting("store"), options->overrides.values, "Options");
  }

  void addPush() { addWith(addPushOptions, "push", "push jobs into a pool", kPushFooter); }

  template <class Options>
  void addJobChange(CLI::App& parent, const char* name, const char* help, Options change) {
    CLI::App* app = add(parent, name, help, kJobsFooter);
    auto options = command<JobChangeCommand>(app);
    options->change = change;
    app->add_option("ID", options->ids, "ids of jobs")->required();
  }

  void addJobs() {
    CLI::App* jobs = addGroup("jobs", "look at jobs and change them", kJobsFooter);
    {
      CLI::App* app = add(*jobs, "list", "jobs of a pool", kJobsFooter);
      auto options = command<JobListCommand>(app);
      app->add_option("POOL", options->pool, "name of the pool")->required();
      addJobStatus(app, options->status);
      app->add_option("--tenant", options->tenant, "only jobs of this tenant")->type_name("NAME");
      addLimit(app, options->limit);
    }
    addAbout(*jobs, "show", "everything about a job", kJobsFooter, "ID", &JobShowCommand::id,
             "id of the job");
    addAbout(*jobs, "attempts", "how each try of a job went", kJobsFooter, "ID",
             &JobAttemptsCommand::id, "id of the job");
    addJobChange(*jobs, "cancel", "cancel jobs", JobChangeCommand::Change::kCancel);
    addJobChange(*jobs, "retry", "make poisoned or cancelled jobs pending again",
                 JobChangeCommand::Change::kRetry);
    addJobChange(*jobs, "rm", "remove jobs", JobChangeCommand::Change::kRemove);
  }

  void addFlows() { addFlowCommands(root_, line_); }
  void addArtifacts() { addArtifactCommands(root_, line_); }
  void addResources() { addResourceCommands(root_, line_); }

  template <class Options>
  std::shared_ptr<Options> addPoolCommand(CLI::App& parent, const char* name, const char* help) {
    return addAbout(parent, name, help, kPoolsFooter, "POOL", &Options::pool, "name of the pool");
  }

  void addPools() {
    CLI::App* pools = addGroup("pools", "look at pools and change them", kPoolsFooter);
    CLI::App* all = add(*pools, "list", "all pools", kPoolsFooter);
    addLimit(all, command<PoolListCommand>(all)->limit);
    addPoolCommand<PoolShowCommand>(*pools, "show", "settings of a pool");
    addPoolCommand<PoolStatsCommand>(*pools, "stats", "numbers of a pool");
    auto set =
        addPoolCommand<PoolSetCommand>(*pools, "set", "change settings of a pool, or create it");
    pools->get_subcommand("set")
        ->add_option("SETTING", set->assignments,
                     "settings to change, like max_workers=4; max_workers= unsets it")
        ->required();
    using Change = PoolChangeCommand::Change;
    addPoolCommand<PoolChangeCommand>(*pools, "pause", "give out no jobs of a pool")->change =
        Change::kPause;
    addPoolCommand<PoolChangeCommand>(*pools, "resume", "give out jobs again")->change =
        Change::kResume;
    addPoolBulk(*pools, "retry", "make poisoned or cancelled jobs of a pool pending again",
                PoolBulkCommand::Bulk::kRetry);
    addPoolBulk(*pools, "purge", "remove finished jobs of a pool", PoolBulkCommand::Bulk::kPurge);
    auto remove = addPoolCommand<PoolChangeCommand>(*pools, "rm", "remove a pool");
    remove->change = Change::kRemove;
    pools->get_subcommand("rm")->add_flag("--force", remove->force, "together with its jobs");
  }

  void addPoolBulk(CLI::App& pools, const char* name, const char* help,
                   PoolBulkCommand::Bulk bulk) {
    auto options = addPoolCommand<PoolBulkCommand>(pools, name, help);
    options->bulk = bulk;
    addPoolBulkOptions(*pools.get_subcommand(name), *options);
  }

  void addWorkers() {
    CLI::App* workers = addGroup("workers", "look at workers and stop them", kWorkersFooter);
    CLI::App* all = add(*workers, "list", "workers and what they do", kWorkersFooter);
    auto options = command<WorkerListCommand>(all);
    all->add_option("--pool", options->pool, "only workers of this pool")->type_name("POOL");
    all->add_option("--status", options->statuses,
                    "active, starting, terminating, terminated or lost")
        ->type_name("STATUS")
        ->delimiter(',');
    all->add_option("--capability", options->capability, "only workers that have it")
        ->type_name("NAME");
    addLimit(all, options->limit);
    addWorkerById<WorkerShowCommand>(*workers, "show", "everything about a worker");
    addWorkerById<WorkerOutputCommand>(*workers, "output", "what a launched worker printed");
    addWorkerById<WorkerStopCommand>(*workers, "stop", "have a worker finish its job and end");
  }

  template <class Options>
  void addWorkerById(CLI::App& parent, const char* name, const char* help) {
    addAbout(parent, name, help, kWorkersFooter, "ID", &Options::id, "id of the worker");
  }

  void addWorker() {
    CLI::App* app = add(root_, "worker", "run the jobs of a pool with a command", kWorkerFooter);
    addWorkerOptions(*app, *command<WorkerCommand>(app));
  }

  void addTriggers() {
    CLI::App* triggers =
        add(root_, "triggers", "what wakes the checker and the reaper", kTriggersFooter);
    orElse<TriggerListCommand>(triggers);
    CLI::App* all = add(*triggers, "list", "all triggers, as without a command", kTriggersFooter);
    addLimit(all, command<TriggerListCommand>(all)->limit);
    CLI::App* one = add(*triggers, "show", "everything about a trigger", kTriggersFooter);
    one->add_option("NAME", command<TriggerShowCommand>(one)->name, "name of the trigger")
        ->required();
    CLI::App* fire = add(*triggers, "fire", "fire a trigger now", kTriggersFooter);
    auto options = command<TriggerFireCommand>(fire);
    fire->add_option("NAME", options->name, "name of the trigger")->required();
    fire->add_option("--pool", options->pool, "for this pool, unless the trigger names one")
        ->type_name("POOL");
  }

  void addWebhooks() {
    CLI::App* webhooks = add(root_, "webhooks", "who is told of events", kWebhooksFooter);
    orElse<WebhookListCommand>(webhooks);
    CLI::App* all = add(*webhooks, "list", "all webhooks, as without a command", kWebhooksFooter);
    addLimit(all, command<WebhookListCommand>(all)->limit);
    CLI::App* made = add(*webhooks, "add", "have events sent to a URL", kWebhooksFooter);
    addWebhookOptions(*made, *command<WebhookAddCommand>(made));
    addWebhookById<WebhookShowCommand>(*webhooks, "show", "everything about a webhook");
    addWebhookById<WebhookTestCommand>(*webhooks, "test", "call it now, and see what comes of it");
    addWebhookById<WebhookRotateCommand>(*webhooks, "rotate", "give it a new secret");
    auto sent = addWebhookById<WebhookDeliveriesCommand>(*webhooks, "deliveries",
                                                         "what was sent, and how it went");
    addDeliveryOptions(*webhooks->get_subcommand("deliveries"), *sent);
    addLimit(webhooks->get_subcommand("deliveries"), sent->limit);
    using Change = WebhookChangeCommand::Change;
    addWebhookById<WebhookChangeCommand>(*webhooks, "enable", "go on where it stopped")->change =
        Change::kEnable;
    addWebhookById<WebhookChangeCommand>(*webhooks, "disable", "send nothing for now")->change =
        Change::kDisable;
    addWebhookById<WebhookChangeCommand>(*webhooks, "rm", "remove a webhook")->change =
        Change::kRemove;
  }

  template <class Options>
  std::shared_ptr<Options> addWebhookById(CLI::App& parent, const char* name, const char* help) {
    return addAbout(parent, name, help, kWebhooksFooter, "ID", &Options::id, "id of the webhook");
  }

  void addScaling() {
    addWith(addCheckOptions, "check", "launch the workers that are needed", kCheckFooter);
    addWith(addReapOptions, "reap", "write off workers that fell silent", kReapFooter);
    addWith(addScaleOptions, "scale", "show or set how many workers a pool has", kScaleFooter);
    addWith(addExplainOptions, "explain", "what would be decided about given figures",
            kExplainFooter);
    addWith(addDecisionsOptions, "decisions", "what checks decided, and why", kDecisionsFooter);
    addWith(addTimelineOptions, "timeline", "what a pool did over time", kTimelineFooter);
    addWith(addSimulateOptions, "simulate", "what would another policy have done?",
            kSimulateFooter);
    addWith(addTopOptions, "top", "watch pools and workers", kTopFooter);
  }

  void addCluster() {
    CLI::App* cluster = add(root_, "cluster", "the nodes, and which of them leads", kClusterFooter);
    orElse<ClusterCommand>(cluster);
    command<ClusterResignCommand>(
        add(*cluster, "resign", "have the leader hand over to another node", kClusterFooter));
  }

  void addEvents() {
    CLI::App* app = add(root_, "events", "what happened, and what happens", kEventsFooter);
    auto options = command<EventsCommand>(app);
    app->add_flag("-f,--follow", options->follow, "wait for new events and show them");
    app->add_option("--types", options->types, "only these types, separated by commas")
        ->type_name("TYPES");
    app->add_option("--pool", options->pool, "only events of this pool")->type_name("POOL");
    app->add_option("--job", options->job, "only events of this job")->type_name("ID");
    app->add_option("--worker", options->worker, "only events of this worker")->type_name("ID");
    app->add_option("--after", options->after, "from here on, oldest first, in place of the latest")
        ->type_name("SEQ");
    addLimit(app, options->limit);
  }

  void addDemo() {
    CLI::App* app = add(root_, "demo", "see it work: jobs, workers, crashes", kDemoFooter);
    app->add_flag("--keep", command<DemoCommand>(app)->keep, "do not remove the pool at the end");
  }

  void addSmallOnes() {
    command<HealthCommand>(
        add(root_, "health", "is the service ready? exit 0 or 1", kHealthFooter));
    command<VersionCommand>(add(root_, "version", "version of this program", kVersionFooter));
  }

  void addToken() {
    CLI::App* token =
        add(root_, "token", "make an access token, or ask about those in use", kTokenFooter);
    token->require_subcommand(0, 1);
    auto options = std::make_shared<TokenCommand>();
    token->callback([&line = line_, token, options] {
      if (token->get_subcommands().empty()) line.command = *options;
    });
    token->add_option("--name", options->name, "name to know it by")->type_name("NAME");
    token
        ->add_option("--scopes", options->scopes,
                     "read, produce, work, admin, also as produce:POOL")
        ->type_name("SCOPES")
        ->delimiter(',');
    command<TokenListCommand>(
        add(*token, "list", "the tokens that the service knows", kTokenFooter));
    command<TokenCheckCommand>(add(
        *token, "check", "what the token in MUSTER_TOKEN allows; exit 1 if nothing", kTokenFooter));
    command<TokenRotateWorkersCommand>(
        add(*token, "rotate-workers", "end the tokens of all workers; they stop", kTokenFooter));
  }

  void addAudit() {
    CLI::App* app = add(root_, "audit", "who changed what", kAuditFooter);
    auto options = command<AuditCommand>(app);
    app->add_option("--by", options->by, "only changes with this token")->type_name("NAME");
    addLimit(app, options->limit);
  }

  CLI::App& root_;
};

const std::vector<Grammar::Group> Grammar::kGroups = {
    {{"serve"}, &Grammar::addServe},
    {{"migrate"}, &Grammar::addMigrate},
    {{"copy"}, &Grammar::addCopy},
    {{"doctor"}, &Grammar::addDoctor},
    {{"push"}, &Grammar::addPush},
    {{"jobs"}, &Grammar::addJobs},
    {{"flows"}, &Grammar::addFlows},
    {{"artifacts"}, &Grammar::addArtifacts},
    {{"resources"}, &Grammar::addResources},
    {{"pools"}, &Grammar::addPools},
    {{"workers"}, &Grammar::addWorkers},
    {{"worker"}, &Grammar::addWorker},
    {{"triggers"}, &Grammar::addTriggers},
    {{"webhooks"}, &Grammar::addWebhooks},
    {{"check", "reap", "scale", "explain", "decisions", "timeline", "simulate", "top"},
     &Grammar::addScaling},
    {{"cluster"}, &Grammar::addCluster},
    {{"events"}, &Grammar::addEvents},
    {{"demo"}, &Grammar::addDemo},
    {{"token"}, &Grammar::addToken},
    {{"audit"}, &Grammar::addAudit},
    {{"health", "version"}, &Grammar::addSmallOnes},
};

}  // namespace

std::unique_ptr<CLI::App> commandGrammar(CommandLine& line, const std::string& first) {
  auto root = std::make_unique<CLI::App>("Pools of work and their workers.", "muster");
  Grammar(*root, line).build(first);
  return root;
}

}  // namespace muster
