#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/cli/command_line.h"

namespace muster {

// Of what the commands of a grammar are put together. The options of a command are kept in an
// object that its callbacks share; what was parsed goes into `line`.
class GrammarParts {
 public:
  explicit GrammarParts(CommandLine& line) : line_(line) {}

  CLI::App* add(CLI::App& parent, const char* name, const char* help,
                const char* footer = nullptr) {
    CLI::App* app = parent.add_subcommand(name, help);
    app->fallthrough()->group("Commands");
    if (footer != nullptr) app->footer(footer);
    return app;
  }

  // A command that is complete with `app`; its options are bound to the object that comes back.
  template <class Options>
  std::shared_ptr<Options> command(CLI::App* app) {
    auto options = std::make_shared<Options>();
    app->callback([&line = line_, options] { line.command = *options; });
    return options;
  }

  // A group that is a command by itself when none of its own is named.
  template <class Options>
  void orElse(CLI::App* group) {
    group->require_subcommand(0, 1);
    group->callback([&line = line_, group] {
      if (group->get_subcommands().empty()) line.command = Options{};
    });
  }

  // A command about one thing, which its first argument names.
  template <class Options>
  std::shared_ptr<Options> addAbout(CLI::App& parent, const char* name, const char* help,
                                    const char* footer, const char* argument,
                                    std::string Options::*member, const char* what) {
    CLI::App* app = add(parent, name, help, footer);
    auto options = command<Options>(app);
    app->add_option(argument, (*options).*member, what)->required();
    return options;
  }

  static void addLimit(CLI::App* app, std::size_t& limit) {
    app->add_option("-n,--limit", limit, "most lines to show")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
  }

  static void addJobStatus(CLI::App* app, std::string& status) {
    app->add_option("--status", status, "blocked, pending, claimed, done, poisoned or cancelled")
        ->type_name("STATUS")
        ->check(CLI::IsMember({"blocked", "pending", "claimed", "done", "poisoned", "cancelled"}));
  }

 protected:
  CommandLine& line_;
};

}  // namespace muster
