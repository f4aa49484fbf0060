#include <fmt/format.h>

#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/problem_text.h"
#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {

// Monitors know healthy and not healthy only, so a service that cannot be reached is 1 here.
int run(const HealthCommand&, ApiClient& api, Terminal& terminal) {
  const auto answer = api.send({.path = "/readyz", .timeout = Seconds(5)});
  if (!answer) {
    terminal.err << unreachableText(api.url(), answer.error());
    return kExitFailed;
  }
  const auto json = JsonAnswer::parse(answer->body);
  if (!answer->ok() || !json) {
    terminal.err << problemText(*answer);
    return kExitFailed;
  }
  if (terminal.json) {
    terminal.out << json->text() << "\n";
  } else {
    terminal.out << fmt::format("{} at {}, store {}\n", printable(textOf(json->root(), "status")),
                                api.url(), printable(textOf(json->root(), "store")));
  }
  return kExitOk;
}

}  // namespace muster
