#include <fmt/format.h>

#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>

#include "app/cli/flow_options.h"
#include "app/cli/flow_view.h"
#include "app/cli/new_job_json.h"
#include "app/cli/progress_bar.h"
#include "app/cli/relative_time.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr std::size_t kFlowBarWidth = 32;
// How long one look at a flow waits for its end: between two pictures of the bar, and between two
// lines where there is no screen.
constexpr int kSecondsOnScreen = 1, kSecondsElsewhere = 5;

// What a file holds, or standard input for "-"; an error was told already.
tl::expected<std::string, int> readInput(const std::string& name, Terminal& terminal) {
  if (name == "-") return std::string{std::istreambuf_iterator<char>(terminal.in), {}};
  std::ifstream file(name, std::ios::binary);
  if (!file) {
    terminal.err << fmt::format("{}: cannot be read\n", printable(name));
    return tl::unexpected(kExitUsage);
  }
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

int refuseJson(Terminal& terminal, std::string_view where, const Error& error) {
  terminal.err << fmt::format("{}: not JSON: {}\n", printable(where), printable(error.detail));
  return kExitUsage;
}

// Shows how far a flow is: a bar on a screen, else a line for each change.
class FlowProgress {
 public:
  explicit FlowProgress(Terminal& terminal)
      : terminal_(terminal), on_screen_(terminal.width > 0 && !terminal.json) {}

  bool onScreen() const { return on_screen_; }

  void show(JsonValue flow) {
    std::string line = flowProgress(flow);
    if (line == last_) return;
    if (on_screen_) {
      terminal_.out << "\r" << progressBar(endedJobsOf(flow), jobsOf(flow), kFlowBarWidth) << " "
                    << line << "\x1b[K" << std::flush;
    } else {
      terminal_.err << line << std::endl;
    }
    last_ = std::move(line);
  }

  // Leaves the line of the bar.
  void end() {
    if (on_screen_ && !last_.empty()) terminal_.out << "\n" << std::flush;
  }

 private:
  Terminal& terminal_;
  const bool on_screen_;
  std::string last_;
};

// Says how the flow ended and answers the exit code.
int reportEnd(Terminal& terminal, const Reply& reply) {
  const JsonValue flow = reply.json.root();
  if (terminal.json) terminal.out << reply.json.text() << "\n";
  const std::string status = textOf(flow, "status"), reason = textOf(flow, "reason");
  const auto created = timeOf(flow, "created_at"), ended = timeOf(flow, "ended_at");
  terminal.err << fmt::format("flow {} {}{}{}\n", printable(textOf(flow, "flow_id")),
                              printable(status), reason.empty() ? "" : ": " + printable(reason),
                              created && ended ? " after " + durationText(*ended - *created) : "");
  terminal.err << failedJobsText(flow);
  return status == "succeeded" ? kExitOk : kExitFailed;
}

int waitForEnd(const std::string& id, ApiClient& api, Terminal& terminal) {
  FlowProgress progress(terminal);
  const int seconds = progress.onScreen() ? kSecondsOnScreen : kSecondsElsewhere;
  const std::string path = apiPath({"v1", "flows", id});
  std::string wait = "0";  // the first look only shows where it stands
  while (true) {
    const auto reply =
        call(api, terminal,
             {.path = path + apiQuery({{"wait_seconds", wait}}), .timeout = Seconds(seconds + 30)});
    if (!reply) {
      progress.end();
      return reply.error();
    }
    progress.show(reply->json.root());
    if (!textOf(reply->json.root(), "ended_at").empty()) {
      progress.end();
      return reportEnd(terminal, *reply);
    }
    wait = std::to_string(seconds);
  }
}

}  // namespace

int run(const FlowCreateCommand& command, ApiClient& api, Terminal& terminal) {
  auto body = readInput(command.file, terminal);
  if (!body) return body.error();
  const std::string where = command.file == "-" ? "standard input" : command.file;
  if (const auto json = JsonDoc::parse(*body); !json) {
    return refuseJson(terminal, where, json.error());
  }
  const auto reply =
      call(api, terminal, {.method = "POST", .path = "/v1/flows", .body = *std::move(body)});
  if (!reply) return reply.error();
  const auto flow = member(reply->json.root(), "flow");
  const std::string id = flow ? textOf(*flow, "flow_id") : "";
  if (!terminal.json) {
    terminal.out << printable(id) << std::endl;
  } else if (!command.wait) {
    terminal.out << reply->json.text() << "\n";
  }
  return command.wait ? waitForEnd(id, api, terminal) : kExitOk;
}

int run(const FlowAddCommand& command, ApiClient& api, Terminal& terminal) {
  std::string data = command.data.value_or("");
  if (command.file) {
    auto read = readInput(*command.file, terminal);
    if (!read) return read.error();
    data = *std::move(read);
  }
  const auto job = newFlowJobJson(command, data);
  if (!job) {
    const int code = refuseJson(terminal, command.file.value_or("--data"), job.error());
    if (command.data) {
      terminal.err << "  a text needs its own quotes: --data '\"hello\"'\n";
    }
    return code;
  }
  const bool is_child = command.flow.empty();
  JsonWriter body;
  body.beginObject();
  if (is_child) body.field("lease_token", command.lease_token);
  body.key("jobs").beginArray().raw(*job).endArray().endObject();
  const auto reply = call(api, terminal,
                          {.method = "POST",
                           .path = is_child ? apiPath({"v1", "jobs", command.parent, "children"})
                                            : apiPath({"v1", "flows", command.flow, "jobs"}),
                           .body = body.take()});
  if (!reply) return reply.error();
  if (terminal.json) {
    terminal.out << reply->json.text() << "\n";
    return kExitOk;
  }
  for (const auto& added : itemsOf(reply->json.root(), "jobs")) {
    terminal.out << printable(textOf(added, "job_id")) << "\n";
  }
  return kExitOk;
}

}  // namespace muster
