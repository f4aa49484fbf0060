#include "app/cli/command_line.h"

#include <gtest/gtest.h>

#include "app/config/setting_table.h"

namespace muster {
namespace {

template <class Wanted>
Wanted parsed(const std::vector<std::string>& args) {
  const auto line = parseCommandLine(args, {});
  if (!line) throw std::runtime_error(line.error().text);
  return std::get<Wanted>(line->command);
}

NothingToRun refused(const std::vector<std::string>& args) {
  const auto line = parseCommandLine(args, {});
  if (line) throw std::runtime_error("was accepted");
  return line.error();
}

TEST(CommandLine, pushTakesAJobAndItsSettings) {
  const auto push = parsed<PushCommand>(
      {"push",           "emails", "--data",         "-5", "--priority",      "-3",
       "--delay",        "1.5",    "--max-retries",  "0",  "--tenant",        "t",
       "--unique-key",   "k",      "--wait",         "30", "--retry-base-ms", "50",
       "--retry-cap-ms", "900",    "--retry-jitter", "0.5"});
  EXPECT_EQ(push.pool, "emails");
  EXPECT_EQ(push.data, "-5");
  EXPECT_EQ(push.priority, -3);
  EXPECT_EQ(push.delay_seconds, 1.5);
  EXPECT_EQ(push.max_retries, 0);
  EXPECT_EQ(push.retry_base_ms, 50);
  EXPECT_EQ(push.retry_cap_ms, 900);
  EXPECT_EQ(push.retry_jitter, 0.5);
  EXPECT_EQ(push.tenant, "t");
  EXPECT_EQ(push.unique_key, "k");
  EXPECT_EQ(push.wait_seconds, 30);
  EXPECT_FALSE(push.file);
  EXPECT_TRUE(parsed<PushCommand>({"push", "p", "--lines", "--file", "-"}).lines);
}

TEST(CommandLine, flowsAreMadeShownAndChanged) {
  const auto made = parsed<FlowCreateCommand>({"flows", "create", "-f", "-", "--wait"});
  EXPECT_EQ(made.file, "-");
  EXPECT_TRUE(made.wait);
  const auto added = parsed<FlowAddCommand>({"flows",
                                             "add",
                                             "merge",
                                             "--pool",
                                             "cpu",
                                             "--data",
                                             "{}",
                                             "--after",
                                             "left",
                                             "--after",
                                             "right",
                                             "--after-failure",
                                             "x",
                                             "--after-any",
                                             "y",
                                             "--may-fail",
                                             "--flow",
                                             "f",
                                             "--max-retries",
                                             "2"});
  EXPECT_EQ(added.name, "merge");
  EXPECT_EQ(added.pool, "cpu");
  EXPECT_EQ(added.after, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(added.after_failure, (std::vector<std::string>{"x"}));
  EXPECT_EQ(added.after_any, (std::vector<std::string>{"y"}));
  EXPECT_TRUE(added.may_fail);
  EXPECT_EQ(added.flow, "f");
  EXPECT_EQ(added.max_retries, 2);
  EXPECT_EQ(parsed<FlowListCommand>({"flows", "list", "--status", "failed"}).status, "failed");
  EXPECT_EQ(parsed<FlowShowCommand>({"flows", "show", "f", "-n", "7"}).limit, 7U);
  EXPECT_EQ(parsed<FlowJobsCommand>({"flows", "jobs", "f", "--status", "blocked"}).status,
            "blocked");
  EXPECT_EQ(parsed<FlowCancelCommand>({"flows", "cancel", "f", "--reason", "late"}).reason, "late");
  const auto retried = parsed<FlowRetryCommand>(
      {"flows", "retry", "f", "--job", "a", "--job", "b", "--deadline", "60"});
  EXPECT_EQ(retried.jobs, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(retried.deadline_seconds, 60);
  EXPECT_EQ(parsed<FlowCloseCommand>({"flows", "close", "f"}).id, "f");
  EXPECT_EQ(parsed<FlowDeleteCommand>({"flows", "delete", "f"}).id, "f");
  EXPECT_EQ(refused({"flows", "create"}).exit_code, 2);
  EXPECT_EQ(refused({"flows", "list", "--status", "lost"}).exit_code, 2);
  EXPECT_EQ(refused({"flows", "add", "a", "--pool", "p", "--flow", "f"}).exit_code, 2) << "no data";
}

TEST(CommandLine, aChildOfAJobIsAddedInTheNameOfTheJob) {
  const std::vector<std::string> args = {"flows", "add", "--pool", "p", "--data", "1"};
  const auto alone = refused(args);
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_NE(alone.text.find("--flow is required"), std::string::npos) << alone.text;

  const Environment env = {{"MUSTER_JOB_ID", "j"},
                           {"MUSTER_LEASE_TOKEN", "l"},
                           {"MUSTER_TOKEN", "mine"},
                           {"MUSTER_WORKER_TOKEN", "workers"}};
  const auto line = parseCommandLine(args, env);
  ASSERT_TRUE(line) << line.error().text;
  const auto& child = std::get<FlowAddCommand>(line->command);
  EXPECT_EQ(child.parent, "j");
  EXPECT_EQ(child.lease_token, "l");
  EXPECT_EQ(line->service.token, "workers");

  auto into_flow = args;
  into_flow.insert(into_flow.end(), {"--flow", "f"});
  const auto other = parseCommandLine(into_flow, env);
  ASSERT_TRUE(other) << other.error().text;
  EXPECT_EQ(std::get<FlowAddCommand>(other->command).parent, "");
  EXPECT_EQ(other->service.token, "mine") << "a worker's token may not produce";
}

TEST(CommandLine, webhooksAreListedMadeAndChanged) {
  parsed<WebhookListCommand>({"webhooks"});
  const auto made = parsed<WebhookAddCommand>(
      {"webhooks", "add", "http://a", "--types", "job.*,pool.created", "--pool", "p"});
  EXPECT_EQ(made.url, "http://a");
  EXPECT_EQ(made.types, (std::vector<std::string>{"job.*", "pool.created"}));
  EXPECT_EQ(made.pool, "p");
  using Change = WebhookChangeCommand::Change;
  EXPECT_EQ(parsed<WebhookChangeCommand>({"webhooks", "disable", "w"}).change, Change::kDisable);
  EXPECT_EQ(parsed<WebhookChangeCommand>({"webhooks", "rm", "w"}).change, Change::kRemove);
  EXPECT_EQ(parsed<WebhookDeliveriesCommand>({"webhooks", "deliveries", "w", "-n", "5"}).limit, 5U);
  EXPECT_EQ(refused({"webhooks", "deliveries", "w", "--status", "lost"}).exit_code, 2);
  EXPECT_EQ(refused({"webhooks", "test"}).exit_code, 2);
}

TEST(CommandLine, triggersAreListedShownAndFired) {
  parsed<TriggerListCommand>({"triggers"});
  EXPECT_EQ(parsed<TriggerListCommand>({"triggers", "list", "-n", "7"}).limit, 7U);
  EXPECT_EQ(parsed<TriggerShowCommand>({"triggers", "show", "t"}).name, "t");
  const auto fire = parsed<TriggerFireCommand>({"triggers", "fire", "t", "--pool", "p"});
  EXPECT_EQ(fire.name, "t");
  EXPECT_EQ(fire.pool, "p");
  EXPECT_EQ(refused({"triggers", "nonsense"}).exit_code, 2);
}

TEST(CommandLine, theClusterIsShownOrItsLeaderResigns) {
  parsed<ClusterCommand>({"cluster"});
  parsed<ClusterResignCommand>({"cluster", "resign"});
  EXPECT_EQ(refused({"cluster", "nonsense"}).exit_code, 2);
}

TEST(CommandLine, serveTakesEverySettingAsAFlag) {
  for (const auto& row : settingTable()) {
    const auto serve = parsed<ServeCommand>({"serve", row.flag(), "7"});
    EXPECT_EQ(serve.overrides.values.at(std::string(row.name)), "7") << row.name;
  }
}

TEST(CommandLine, switchesNeedNoValue) {
  const auto values =
      parsed<ServeCommand>({"serve", "--insecure", "--ticker=off", "--listen", "h:1"})
          .overrides.values;
  EXPECT_EQ(values.at("insecure"), "on");
  EXPECT_EQ(values.at("ticker"), "off");
  EXPECT_EQ(values.at("listen"), "h:1");
}

TEST(CommandLine, serveTakesAFile) {
  EXPECT_EQ(parsed<ServeCommand>({"serve", "--config", "a.yml"}).overrides.config_file, "a.yml");
  EXPECT_FALSE(parsed<ServeCommand>({"serve"}).overrides.config_file);
}

TEST(CommandLine, commandsOfJobsPoolsWorkersAndEvents) {
  EXPECT_EQ(parsed<JobListCommand>({"jobs", "list", "p", "--status", "done", "-n", "500"}).limit,
            500u);
  EXPECT_EQ(parsed<JobShowCommand>({"jobs", "show", "j1"}).id, "j1");
  EXPECT_EQ(parsed<JobAttemptsCommand>({"jobs", "attempts", "j1"}).id, "j1");
  const auto retry = parsed<JobChangeCommand>({"jobs", "retry", "j1", "j2"});
  EXPECT_EQ(retry.change, JobChangeCommand::Change::kRetry);
  EXPECT_EQ(retry.ids, (std::vector<std::string>{"j1", "j2"}));
  EXPECT_EQ(parsed<JobChangeCommand>({"jobs", "rm", "j1"}).change,
            JobChangeCommand::Change::kRemove);
  EXPECT_EQ(parsed<PoolSetCommand>({"pools", "set", "p", "a=1", "b=2"}).assignments.size(), 2u);
  EXPECT_TRUE(parsed<PoolChangeCommand>({"pools", "rm", "p", "--force"}).force);
  EXPECT_EQ(parsed<PoolChangeCommand>({"pools", "resume", "p"}).change,
            PoolChangeCommand::Change::kResume);
  EXPECT_EQ(parsed<PoolStatsCommand>({"pools", "stats", "p"}).pool, "p");
  const auto again = parsed<PoolBulkCommand>(
      {"pools", "retry", "p", "--error-class", "HTTP #", "--status", "poisoned,cancelled",
       "--tenant", "acme", "--error-contains", "503", "--created-after", "a", "--created-before",
       "b", "--failed-after", "c", "--limit", "7"});
  EXPECT_EQ(again.bulk, PoolBulkCommand::Bulk::kRetry);
  EXPECT_EQ(again.pool, "p");
  EXPECT_EQ(again.error_class, "HTTP #");
  EXPECT_EQ(again.statuses, (std::vector<std::string>{"poisoned", "cancelled"}));
  EXPECT_EQ(again.tenant, "acme");
  EXPECT_EQ(again.error_contains, "503");
  EXPECT_EQ(again.created_after + again.created_before + again.failed_after, "abc");
  EXPECT_EQ(again.limit, 7);
  const auto purge = parsed<PoolBulkCommand>({"pools", "purge", "p", "--older-than", "60"});
  EXPECT_EQ(purge.bulk, PoolBulkCommand::Bulk::kPurge);
  EXPECT_EQ(purge.older_than_seconds, 60);
  EXPECT_EQ(parsed<WorkerListCommand>({"workers", "list", "--status", "active,lost"}).statuses,
            (std::vector<std::string>{"active", "lost"}));
  const auto events = parsed<EventsCommand>({"events", "-f", "--after", "12", "--types", "a,b"});
  EXPECT_TRUE(events.follow);
  EXPECT_EQ(events.after, 12);
  EXPECT_EQ(events.types, "a,b");
  EXPECT_TRUE(parsed<MigrateCommand>({"migrate", "--dry-run", "--store", "memory:"}).dry_run);
  EXPECT_EQ(parsed<TokenCommand>({"token", "--scopes", "admin"}).scopes,
            std::vector<std::string>{"admin"});
  parsed<HealthCommand>({"health"});
  parsed<VersionCommand>({"version"});
}

TEST(CommandLine, commandsThatLookAfterWorkers) {
  EXPECT_TRUE(parsed<CheckCommand>({"check"}).pool.empty());
  const auto check =
      parsed<CheckCommand>({"check", "--pool", "p", "--explain", "--max-workers", "0"});
  EXPECT_EQ(check.pool, "p");
  EXPECT_TRUE(check.explain);
  EXPECT_EQ(check.max_workers, 0);
  const auto reap = parsed<ReapCommand>({"reap", "--dry-run", "--stale-threshold-seconds", "0.5"});
  EXPECT_TRUE(reap.dry_run);
  EXPECT_EQ(reap.stale_threshold_seconds, 0.5);
  EXPECT_FALSE(parsed<ScaleCommand>({"scale", "--pool", "p"}).target_workers);
  EXPECT_EQ(parsed<ScaleCommand>({"scale", "--pool", "p", "--target-workers", "0"}).target_workers,
            0);
  EXPECT_EQ(parsed<DecisionsCommand>({"decisions", "--pool", "p", "-n", "3"}).limit, 3u);
  const auto timeline = parsed<TimelineCommand>(
      {"timeline", "p", "--from", "2026-01-15T00:00:00Z", "--buckets", "500"});
  EXPECT_EQ(timeline.pool, "p");
  EXPECT_EQ(timeline.from, "2026-01-15T00:00:00Z");
  EXPECT_EQ(timeline.buckets, 500);
  EXPECT_EQ(parsed<WorkerOutputCommand>({"workers", "output", "w"}).id, "w");
  EXPECT_EQ(parsed<WorkerStopCommand>({"workers", "stop", "w"}).id, "w");
  EXPECT_EQ(parsed<PushCommand>({"push", "p", "--data", "1", "--count", "3"}).count, 3);
  const auto top = parsed<TopCommand>({"top", "--pool", "p", "--interval-seconds", "0.5"});
  EXPECT_EQ(top.pool, "p");
  EXPECT_EQ(top.interval_seconds, 0.5);
  EXPECT_FALSE(top.once);
  EXPECT_FALSE(parsed<DemoCommand>({"demo"}).keep);
  EXPECT_TRUE(parsed<DemoCommand>({"demo", "--keep"}).keep);
}

TEST(CommandLine, globalOptionsMayStandAnywhere) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--url", "http://h:1", "-o", "json", "jobs", "show", "j"},
        std::vector<std::string>{"jobs", "show", "j", "--url", "http://h:1", "-o", "json"}}) {
    const auto line = parseCommandLine(args, {{"MUSTER_URL", "http://other"}});
    ASSERT_TRUE(line);
    EXPECT_EQ(line->service.url, "http://h:1");
    EXPECT_TRUE(line->json);
  }
}

TEST(CommandLine, environmentGivesWhatFlagsDoNot) {
  const auto line = parseCommandLine(
      {"health"}, {{"MUSTER_URL", "http://h"}, {"MUSTER_TOKEN", " t\n"}, {"NO_COLOR", "1"}});
  ASSERT_TRUE(line);
  EXPECT_EQ(line->service.url, "http://h");
  EXPECT_EQ(line->service.token, "t");
  EXPECT_TRUE(line->no_color);
  EXPECT_EQ(parseCommandLine({"health"}, {})->service.url, "http://127.0.0.1:8080");
}

TEST(CommandLine, whom_to_trust_comes_from_the_environment) {
  const Environment env = {{"MUSTER_CA", "ca.pem"},
                           {"MUSTER_CLIENT_CERT", "c.pem"},
                           {"MUSTER_CLIENT_KEY", "c.key"},
                           {"MUSTER_NODES", "https://b"}};
  const ServiceTrust trust = parseCommandLine({"health"}, env)->service.trust;
  EXPECT_EQ(trust.files.ca, "ca.pem");
  EXPECT_EQ(trust.files.certificate, "c.pem");
  EXPECT_EQ(trust.files.key, "c.key");
  EXPECT_EQ(trust.nodes, "https://b");
  EXPECT_EQ(parseCommandLine({"--ca", "f.pem", "health"}, env)->service.trust.files.ca, "f.pem");
  EXPECT_EQ(parseCommandLine({"health"}, {})->service.trust.files.ca, "");
}

TEST(CommandLine, aWorkersCommandIsTakenAsItStands) {
  const auto worker =
      parsed<WorkerCommand>({"worker", "--pool", "p", "--loop", "--capability", "a", "--capability",
                             "b,c", "--", "sh", "--pool", "[1,2]", "", "--", "worker"});
  EXPECT_EQ(worker.pool, "p");
  EXPECT_TRUE(worker.loop);
  EXPECT_EQ(worker.capabilities, (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(worker.command,
            (std::vector<std::string>{"sh", "--pool", "[1,2]", "", "--", "worker"}));
  EXPECT_EQ(parsed<WorkerCommand>({"worker", "--pool", "p", "--builtin", "echo"}).builtin, "echo");
}

TEST(CommandLine, aLaunchedWorkerIsToldByItsEnvironment) {
  const Environment env = {{"MUSTER_POOL_ID", "p"},
                           {"MUSTER_TOKEN", "t"},
                           {"MUSTER_WORKER_TOKEN", "w"},
                           {"MUSTER_URL", "http://h"}};
  const auto line = parseCommandLine({"worker", "--", "cat"}, env);
  ASSERT_TRUE(line);
  EXPECT_EQ(std::get<WorkerCommand>(line->command).pool, "p");
  EXPECT_EQ(line->service.token, "w");
  EXPECT_EQ(parseCommandLine({"--token", "f", "worker", "--", "cat"}, env)->service.token, "f");
  EXPECT_EQ(parseCommandLine({"health"}, env)->service.token, "t");
}

struct Refusal {
  std::vector<std::string> args;
  std::string start;
};

TEST(CommandLine, saysWhatIsWrongAndWhatWasProbablyMeant) {
  const std::vector<Refusal> cases = {
      {{"psuh", "x"}, "muster: unknown command \"psuh\", did you mean \"push\"?\n"},
      {{"frobnicate"}, "muster: unknown command \"frobnicate\"\n"},
      {{"jobs", "lst"}, "muster jobs: unknown command \"lst\", did you mean \"list\"?\n"},
      {{"push"}, "muster push: POOL is required\n"},
      {{"push", "p", "--prioritty", "1"},
       "muster push: unknown option \"--prioritty\", did you mean \"--priority\"?\n"},
      {{"push", "p", "q"}, "muster push: unexpected argument \"q\"\n"},
      {{"push", "p", "--priority", "x"}, "muster push: "},
      {{"push", "p", "--data", "1", "--lines"}, "muster push: "},
      {{"push", "p", "--count", "2", "--lines"}, "muster push: "},
      {{"push", "p", "--count", "0"}, "muster push: "},
      {{"check", "--max-workers", "-1"}, "muster check: "},
      {{"reap", "--stale-threshold-seconds", "0"}, "muster reap: "},
      {{"scale", "--target-workers", "1"}, "muster scale: --pool is required\n"},
      {{"top", "--interval-seconds", "0"}, "muster top: "},
      {{"decisions"}, "muster decisions: --pool is required\n"},
      {{"jobs", "list", "p", "--status", "x"}, "muster jobs list: "},
      {{"events", "--limit", "0"}, "muster events: "},
      {{"health", "-o", "xml"}, "muster health: "},
      {{"worker", "--", "cat"}, "muster worker: --pool is required"},
      {{"worker", "--pool", "a b", "--", "cat"}, "muster worker: --pool: expected"},
      {{"worker", "--pool", "p"}, "muster worker: give either a command after --"},
      {{"worker", "--pool", "p", "--"}, "muster worker: give either a command after --"},
      {{"worker", "--pool", "p", "--builtin", "echo", "--", "cat"}, "muster worker: give either"},
      {{"worker", "--pool", "p", "cat"}, "muster worker: unexpected argument \"cat\"\n"},
      {{"worker", "--pool", "p", "--lop", "--", "cat"},
       "muster worker: unknown option \"--lop\", did you mean \"--loop\"?\n"},
  };
  for (const auto& [args, start] : cases) {
    const auto refusal = refused(args);
    EXPECT_EQ(refusal.exit_code, kExitUsage);
    EXPECT_TRUE(refusal.text.starts_with(start)) << refusal.text;
  }
}

TEST(CommandLine, aloneItShowsItsHelpAndFails) {
  EXPECT_EQ(refused({}).exit_code, kExitUsage);
  EXPECT_NE(refused({}).text.find("serve"), std::string::npos);
  EXPECT_EQ(refused({"jobs"}).exit_code, kExitUsage);
  EXPECT_NE(refused({"jobs"}).text.find("attempts"), std::string::npos);
}

TEST(CommandLine, everyHelpHasTwoExamples) {
  std::vector<std::vector<std::string>> commands = {
      {"jobs", "list"}, {"pools", "set"}, {"workers", "show"}, {"workers", "output"}};
  for (const char* name :
       {"serve", "migrate", "doctor", "push", "jobs", "pools", "workers", "check", "reap", "scale",
        "decisions", "timeline", "events", "top", "demo", "health", "version", "token"}) {
    commands.push_back({name});
  }
  for (auto args : commands) {
    args.push_back("--help");
    const auto help = refused(args);
    EXPECT_EQ(help.exit_code, kExitOk);
    const auto examples = help.text.find("Examples:");
    ASSERT_NE(examples, std::string::npos) << args.front();
    EXPECT_NE(help.text.find('\n', help.text.find('\n', examples) + 1), std::string::npos);
    EXPECT_NE(help.text.find("muster " + args.front(), examples), std::string::npos);
    EXPECT_NE(help.text.find("Usage: muster " + args.front()), std::string::npos);
  }
  EXPECT_EQ(refused({"help", "push"}).text, refused({"push", "--help"}).text);
  EXPECT_EQ(refused({"--version"}).text, "muster " MUSTER_VERSION "\n");
}

}  // namespace
}  // namespace muster
