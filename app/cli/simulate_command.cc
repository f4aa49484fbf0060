#include <fmt/format.h>

#include <optional>
#include <ostream>
#include <sstream>

#include "app/cli/commands.h"
#include "app/cli/pool_assignments.h"
#include "app/cli/service_call.h"
#include "app/cli/simulate_view.h"
#include "app/cli/table.h"
#include "models/json/json_doc.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr Seconds kSimulationPatience{120};

struct Policy {
  std::string title;
  std::string json;  // a body of pool settings
};

// Says what is wrong with the arguments and gives nothing.
std::optional<Policy> readPolicy(const std::vector<std::string>& assignments, Terminal& terminal) {
  const auto made = readPoolAssignments(assignments);
  if (!made) {
    for (const auto& fault : made.error().fields) {
      terminal.err << fmt::format("{}: {}\n", printable(fault.pointer), fault.detail);
    }
    return std::nullopt;
  }
  if (!made->unset.empty()) {
    terminal.err << fmt::format("{}=: a simulation needs a value\n",
                                printable(made->unset.front()));
    return std::nullopt;
  }
  std::string title;
  for (const std::string& each : assignments) title += (title.empty() ? "" : " ") + each;
  return Policy{title.empty() ? "AS IT IS" : title, made->json};
}

std::optional<std::vector<Policy>> readPolicies(const SimulateCommand& command,
                                                Terminal& terminal) {
  std::vector<std::vector<std::string>> all = {command.assignments};
  for (const std::string& text : command.compare) {
    std::istringstream words(text);
    auto& assignments = all.emplace_back();
    for (std::string word; words >> word;) assignments.push_back(word);
  }
  std::vector<Policy> policies;
  for (const auto& assignments : all) {
    auto policy = readPolicy(assignments, terminal);
    if (!policy) return std::nullopt;
    policies.push_back(*std::move(policy));
  }
  return policies;
}

// The settings, and the time, in one object.
std::string bodyOf(const Policy& policy, const std::string& from, const std::string& to) {
  JsonWriter body;
  body.beginObject();
  const auto settings = JsonDoc::parse(policy.json);
  for (auto it = settings->root().begin(); !(it == settings->root().end()); ++it) {
    body.key(it.key()).raw((*it).raw());
  }
  if (!from.empty()) body.field("from", from);
  if (!to.empty()) body.field("to", to);
  return body.endObject().take();
}

}  // namespace

int run(const SimulateCommand& command, ApiClient& api, Terminal& terminal) {
  const auto policies = readPolicies(command, terminal);
  if (!policies) return kExitUsage;
  Listing answers;
  std::vector<TriedPolicy> tried;
  std::string to = command.to;
  for (const Policy& policy : *policies) {
    auto reply = call(api, terminal,
                      {.method = "POST",
                       .path = apiPath({"v1", "pools", command.pool, "simulate"}),
                       .body = bodyOf(policy, command.from, to),
                       .timeout = kSimulationPatience});
    if (!reply) return reply.error();
    answers.items.push_back(answers.pages.emplace_back(std::move(reply->json)).root());
    tried.push_back({policy.title, answers.items.back()});
    to = textOf(answers.items.back(), "to");  // the same load for all
  }
  if (terminal.json) {
    printItems(terminal, answers);
  } else {
    terminal.out << simulationText(tried, terminal.width, terminal.color);
  }
  return kExitOk;
}

}  // namespace muster
