#include "app/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <type_traits>

#include "app/cli/command_grammar.h"
#include "app/cli/worker_options.h"
#include "app/config/closest_name.h"

namespace muster {
namespace {

constexpr const char* kDefaultUrl = "http://127.0.0.1:8080";

// The innermost command that was named.
const CLI::App* namedCommand(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string fullName(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* above = app->get_parent(); above != nullptr; above = above->get_parent()) {
    name = above->get_name() + " " + name;
  }
  return name;
}

std::vector<std::string> namesIn(const CLI::App* app, bool flags) {
  std::vector<std::string> names;
  if (!flags) {
    for (const CLI::App* sub : app->get_subcommands({})) names.push_back(sub->get_name());
    return names;
  }
  for (; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::string helpOf(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  if (parent == nullptr) return app->help();
  const bool talks =
      app->get_name() != "serve" && app->get_name() != "migrate" && app->get_name() != "copy";
  return app->help(fullName(parent)) +
         (talks ? "\nAlso --url, --token, --ca, -o json and --no-color: see `muster --help`.\n"
                : "");
}

NothingToRun usageFault(const CLI::App* app, const std::string& what) {
  const std::string name = fullName(app);
  return {kExitUsage, fmt::format("{}: {}\n  `{} --help` shows how\n", name, what, name)};
}

NothingToRun usageError(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* app = namedCommand(root);
  std::string what = error.what();
  const auto extras = root.remaining(true);
  const bool needs_command = app->get_require_subcommand_min() > 0;
  if (!extras.empty() && dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) {
    const std::string& extra = extras.front();
    const bool is_flag = extra.starts_with("-");
    what = fmt::format("{} \"{}\"{}",
                       is_flag         ? "unknown option"
                       : needs_command ? "unknown command"
                                       : "unexpected argument",
                       extra, suggestion(extra, namesIn(app, is_flag)));
  } else if (needs_command && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return {kExitUsage, helpOf(app)};
  }
  return usageFault(app, what);
}

std::string environmentOr(const Environment& env, const std::string& name,
                          const std::string& otherwise) {
  const auto found = env.find(name);
  return found == env.end() || found->second.empty() ? otherwise : found->second;
}

// A token read from a file often ends in a newline.
std::string trimmed(std::string text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  text.erase(last == std::string::npos ? 0 : last + 1);
  text.erase(0, text.find_first_not_of(" \t\r\n"));
  return text;
}

}  // namespace

tl::expected<CommandLine, NothingToRun> parseCommandLine(std::vector<std::string> args,
                                                         const Environment& env) {
  CommandLine line;
  line.service.url = environmentOr(env, "MUSTER_URL", kDefaultUrl);
  line.service.token = environmentOr(env, "MUSTER_TOKEN", "");
  line.service.trust = {
      {environmentOr(env, "MUSTER_CA", ""), environmentOr(env, "MUSTER_CLIENT_CERT", ""),
       environmentOr(env, "MUSTER_CLIENT_KEY", "")},
      environmentOr(env, "MUSTER_NODES", "")};
  line.no_color = !environmentOr(env, "NO_COLOR", "").empty();
  const auto grammar = commandGrammar(line, args.empty() ? "" : args.front());
  CLI::App& root = *grammar;
  if (args.empty()) return tl::unexpected(NothingToRun{kExitUsage, root.help()});
  if (args.front() == "help") {
    args.erase(args.begin());
    args.push_back("--help");
  }
  std::vector<std::string> command = takeWorkerCommand(args);
  try {
    std::reverse(args.begin(), args.end());  // the parser takes them from the back
    root.parse(args);
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected(NothingToRun{kExitOk, helpOf(namedCommand(root))});
  } catch (const CLI::CallForVersion& version) {
    return tl::unexpected(NothingToRun{kExitOk, std::string(version.what()) + "\n"});
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(usageError(root, error));
  }
  if (auto* worker = std::get_if<WorkerCommand>(&line.command)) {
    worker->command = std::move(command);
    if (worker->pool.empty()) worker->pool = environmentOr(env, "MUSTER_POOL_ID", "");
    if (root.count("--token") == 0) {
      line.service.token = environmentOr(env, "MUSTER_WORKER_TOKEN", line.service.token);
    }
    auto fault = readWorkerEnvironment(env, *worker);
    if (fault.empty()) fault = workerFault(*worker);
    if (!fault.empty()) {
      return tl::unexpected(usageFault(namedCommand(root), fault));
    }
  }
  if (auto* add = std::get_if<FlowAddCommand>(&line.command)) {
    if (add->flow.empty()) {
      add->parent = environmentOr(env, "MUSTER_JOB_ID", "");
      add->lease_token = environmentOr(env, "MUSTER_LEASE_TOKEN", "");
      if (root.count("--token") == 0) {
        line.service.token = environmentOr(env, "MUSTER_WORKER_TOKEN", line.service.token);
      }
    }
    if (auto fault = flowAddFault(*add); !fault.empty()) {
      return tl::unexpected(usageFault(namedCommand(root), fault));
    }
  }
  const std::string open_end = std::visit(
      [&](auto& named) -> std::string {
        using Named = std::remove_reference_t<decltype(named)>;
        // In the command of a job what is done about files is done by its worker.
        if constexpr (std::is_base_of_v<AboutResources, Named>) {
          if (root.count("--token") == 0) {
            line.service.token = environmentOr(env, "MUSTER_WORKER_TOKEN", line.service.token);
          }
        }
        if constexpr (requires { completeFromJob(env, named); }) {
          return completeFromJob(env, named);
        }
        return "";
      },
      line.command);
  if (!open_end.empty()) return tl::unexpected(usageFault(namedCommand(root), open_end));
  line.service.token = trimmed(line.service.token);
  return line;
}

}  // namespace muster
