#pragma once

#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/flow_options.h"
#include "app/cli/resource_options.h"
#include "app/cli/webhook_options.h"

namespace muster {

using Command = std::variant<
    ServeCommand, MigrateCommand, CopyCommand, DoctorCommand, VersionCommand, TokenCommand,
    PushCommand, JobListCommand, JobShowCommand, JobAttemptsCommand, JobChangeCommand,
    FlowCreateCommand, FlowAddCommand, FlowListCommand, FlowShowCommand, FlowJobsCommand,
    FlowCloseCommand, FlowCancelCommand, FlowRetryCommand, FlowDeleteCommand, PoolListCommand,
    PoolShowCommand, PoolStatsCommand, PoolSetCommand, PoolChangeCommand, PoolBulkCommand,
    WorkerListCommand, WorkerShowCommand, WorkerOutputCommand, WorkerStopCommand, WorkerCommand,
    CheckCommand, ReapCommand, ScaleCommand, ExplainCommand, DecisionsCommand, TimelineCommand,
    SimulateCommand, TriggerListCommand, TriggerShowCommand, TriggerFireCommand, WebhookListCommand,
    WebhookAddCommand, WebhookShowCommand, WebhookChangeCommand, WebhookRotateCommand,
    WebhookTestCommand, WebhookDeliveriesCommand, ClusterCommand, ClusterResignCommand,
    EventsCommand, TopCommand, DemoCommand, HealthCommand, TokenListCommand, TokenCheckCommand,
    TokenRotateWorkersCommand, AuditCommand, ArtifactPutCommand, ArtifactGetCommand,
    ArtifactListCommand, ResourceListCommand, ResourceShowCommand, ResourceLeaseCommand,
    ResourceReleaseCommand, ResourceTouchCommand, ResourceDeleteCommand, ResourceKeepCommand,
    ResourceGcCommand>;

struct CommandLine {
  ServiceAccess service;
  bool json = false;
  bool no_color = false;
  Command command;
};

// Nothing to run: help was asked for (exit code 0, text for stdout), or the arguments make no
// sense (exit code 2, text for stderr).
struct NothingToRun {
  int exit_code = 0;
  std::string text;
};

// `args` without the program's name.
tl::expected<CommandLine, NothingToRun> parseCommandLine(std::vector<std::string> args,
                                                         const Environment& env);

}  // namespace muster
