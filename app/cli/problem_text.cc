#include "app/cli/problem_text.h"

#include <fmt/format.h>

#include "app/cli/table.h"
#include "app/client/json_fields.h"

namespace muster {
namespace {

std::string hintFor(const HttpAnswer& answer, JsonValue problem) {
  if (answer.status == 401) return "  give a token with --token or MUSTER_TOKEN\n";
  if (const std::string leader = textOf(problem, "leader_url"); !leader.empty()) {
    return fmt::format(
        "  your token goes to the service that you name, and nowhere else: --url {}, or allow it "
        "with MUSTER_NODES\n",
        printable(leader));
  }
  const auto wait = answer.headers.find("retry-after");
  if (wait == answer.headers.end()) return "";
  return fmt::format("  try again in {} s\n", printable(wait->second));
}

}  // namespace

std::string problemText(const HttpAnswer& answer) {
  const auto problem = JsonAnswer::parse(answer.body);
  const std::string title = problem ? printable(textOf(problem->root(), "title")) : "";
  if (title.empty()) {
    return fmt::format("the service answered {} without saying why; is this a Muster service?\n",
                       answer.status);
  }
  const JsonValue root = problem->root();
  const std::string detail = printable(textOf(root, "detail"));
  std::string text =
      detail.empty() || detail == title ? title + "\n" : fmt::format("{}: {}\n", title, detail);
  for (const auto& error : itemsOf(root, "errors")) {
    text += fmt::format("  {}: {}\n", printable(textOf(error, "pointer")),
                        printable(textOf(error, "detail")));
  }
  text += hintFor(answer, root);
  if (answer.status >= 500) {
    if (const std::string id = textOf(root, "request_id"); !id.empty()) {
      text += fmt::format("  request {}\n", printable(id));
    }
  }
  return text;
}

std::string unreachableText(const std::string& url, const Unreachable& reason) {
  std::string text = fmt::format("cannot reach the service at {}: {}\n", url, reason.what);
  if (reason.refused) {
    text += "  start one with `muster serve`, or name another with --url or MUSTER_URL\n";
  }
  return text;
}

}  // namespace muster
