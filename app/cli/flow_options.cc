#include "app/cli/flow_options.h"

#include <CLI/CLI.hpp>

#include "app/cli/command_examples.h"
#include "app/cli/grammar_parts.h"
#include "app/cli/push_options.h"

namespace muster {
namespace {

void addFlowAddOptions(CLI::App& app, FlowAddCommand& options) {
  app.add_option("NAME", options.name,
                 "name of the job in its flow, or among its siblings; without it a hash of pool "
                 "and data");
  app.add_option("--pool", options.pool, "pool of the job")->type_name("POOL")->required();
  auto* data = app.add_option("--data", options.data, "the job's data")->type_name("JSON");
  app.add_option("--file", options.file, "read the data from a file; - is stdin")
      ->type_name("FILE")
      ->excludes(data);
  const auto addEdges = [&app](const char* name, std::vector<std::string>& names,
                               const char* help) {
    app.add_option(name, names, help)->type_name("NAME")->allow_extra_args(false);
  };
  addEdges("--after", options.after, "run when this job has succeeded; may be repeated");
  addEdges("--after-failure", options.after_failure, "run when it has failed");
  addEdges("--after-any", options.after_any, "run when it has ended, however");
  app.add_flag("--may-fail", options.may_fail, "its failure is not that of the flow");
  app.add_option("--flow", options.flow,
                 "add to this flow, which must be open; without it the job becomes a child of "
                 "the job that runs this command")
      ->type_name("ID");
  addNewJobOptions(app, options);
}

class FlowGrammar : private GrammarParts {
 public:
  using GrammarParts::GrammarParts;

  void build(CLI::App& root) {
    CLI::App* flows = add(root, "flows", "jobs that wait for jobs", kFlowsFooter);
    flows->require_subcommand(1);
    addCreate(*flows);
    CLI::App* job = add(*flows, "add", "add a job to a flow, or a child to a job", kFlowsFooter);
    addFlowAddOptions(*job, *command<FlowAddCommand>(job));
    addAboutFlow<FlowCloseCommand>(*flows, "close", "add no more jobs: it may end");
    addList(*flows);
    const auto shown = addAboutFlow<FlowShowCommand>(*flows, "show", "a flow and its jobs");
    addLimit(flows->get_subcommand("show"), shown->limit);
    addJobs(*flows);
    const auto cancelled = addAboutFlow<FlowCancelCommand>(*flows, "cancel", "cancel a flow");
    flows->get_subcommand("cancel")
        ->add_option("--reason", cancelled->reason, "why (requested)")
        ->type_name("TEXT");
    addRetry(*flows);
    addAboutFlow<FlowDeleteCommand>(*flows, "delete", "remove an ended flow and its jobs");
  }

 private:
  template <class Options>
  std::shared_ptr<Options> addAboutFlow(CLI::App& flows, const char* name, const char* help) {
    return addAbout(flows, name, help, kFlowsFooter, "ID", &Options::id, "id of the flow");
  }

  void addCreate(CLI::App& flows) {
    CLI::App* app = add(flows, "create", "create a flow", kFlowsFooter);
    auto options = command<FlowCreateCommand>(app);
    app->add_option("-f,--file", options->file, "the flow as JSON; - is stdin")
        ->type_name("FILE")
        ->required();
    app->add_flag("--wait", options->wait, "until it has ended; exit 1 unless it succeeded");
  }

  void addList(CLI::App& flows) {
    CLI::App* app = add(flows, "list", "flows, the newest first", kFlowsFooter);
    auto options = command<FlowListCommand>(app);
    app->add_option("--status", options->status,
                    "running, cancelling, succeeded, failed or cancelled")
        ->type_name("STATUS")
        ->check(CLI::IsMember({"running", "cancelling", "succeeded", "failed", "cancelled"}));
    app->add_option("--name", options->name, "only flows of this name")->type_name("NAME");
    app->add_option("--tenant", options->tenant, "only flows of this tenant")->type_name("NAME");
    addLimit(app, options->limit);
  }

  void addJobs(CLI::App& flows) {
    const auto options = addAboutFlow<FlowJobsCommand>(flows, "jobs", "jobs of a flow");
    CLI::App* app = flows.get_subcommand("jobs");
    addJobStatus(app, options->status);
    app->add_option("--parent", options->parent, "only children of this job")->type_name("ID");
    addLimit(app, options->limit);
  }

  void addRetry(CLI::App& flows) {
    const auto options = addAboutFlow<FlowRetryCommand>(
        flows, "retry", "put back the jobs that did not end well, and run the flow again");
    CLI::App* app = flows.get_subcommand("retry");
    app->add_option("--job", options->jobs,
                    "only this job and what is downstream of it; may be repeated")
        ->type_name("ID")
        ->allow_extra_args(false);
    app->add_option("--deadline", options->deadline_seconds,
                    "a new deadline, so long from now; without it there is none any more")
        ->type_name("SECONDS")
        ->check(CLI::PositiveNumber);
  }
};

}  // namespace

void addFlowCommands(CLI::App& root, CommandLine& line) { FlowGrammar(line).build(root); }

std::string flowAddFault(const FlowAddCommand& options) {
  if (!options.data && !options.file) return "give the job's data with --data or --file";
  if (options.flow.empty() && (options.parent.empty() || options.lease_token.empty())) {
    return "--flow is required, except in the command of a job, which finds MUSTER_JOB_ID and "
           "MUSTER_LEASE_TOKEN in its environment";
  }
  return "";
}

}  // namespace muster
