#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>

#include "app/cli/commands.h"
#include "app/cli/new_job_json.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"
#include "app/log/system_clock.h"

namespace muster {
namespace {

constexpr std::size_t kBatchItems = 1000;
constexpr std::size_t kBatchBytes = 4U << 20;  // well below the largest body

int refuseData(Terminal& terminal, std::string_view where, const Error& error) {
  terminal.err << fmt::format("{}: not JSON: {}\n", where, printable(error.detail));
  if (where == "--data") terminal.err << "  a text needs its own quotes: --data '\"hello\"'\n";
  return kExitUsage;
}

bool isFinished(std::string_view status) {
  return status == "done" || status == "poisoned" || status == "cancelled";
}

// Prints what became of the job and answers the exit code.
int reportOutcome(Terminal& terminal, const Reply& reply) {
  const JsonValue job = reply.json.root();
  const std::string status = textOf(job, "status");
  if (terminal.json) {
    terminal.out << reply.json.text() << "\n";
  } else if (status == "done") {
    const auto result = member(job, "result");
    terminal.out << (result ? printableLines(result->raw()) : "null") << "\n";
  }
  if (status == "done") return kExitOk;
  const std::string error = textOf(job, "error");
  terminal.err << fmt::format("job {} is {}{}{}\n", printable(textOf(job, "id")),
                              isFinished(status) ? "" : "still ", printable(status),
                              error.empty() ? "" : ": " + printable(error));
  return kExitFailed;
}

int waitForOutcome(const std::string& id, int seconds, ApiClient& api, Terminal& terminal) {
  constexpr int kLongestWait = 30;
  while (true) {
    const int turn = std::min(seconds, kLongestWait);
    seconds -= turn;
    auto reply = call(
        api, terminal,
        {.path = apiPath({"v1", "jobs", id}) + apiQuery({{"wait_seconds", std::to_string(turn)}}),
         .timeout = Seconds(turn + 30)});
    if (!reply) return reply.error();
    if (isFinished(textOf(reply->json.root(), "status")) || seconds <= 0) {
      return reportOutcome(terminal, *reply);
    }
  }
}

int pushOne(const PushCommand& command, std::string_view data, std::string_view where,
            ApiClient& api, Terminal& terminal) {
  const auto body = newJobJson(command, data);
  if (!body) return refuseData(terminal, where, body.error());
  const auto reply = call(
      api, terminal,
      {.method = "POST", .path = apiPath({"v1", "pools", command.pool, "jobs"}), .body = *body});
  if (!reply) return reply.error();
  const std::string id = textOf(reply->json.root(), "id");
  if (command.wait_seconds) {
    terminal.err << fmt::format("pushed {}\n", printable(id));
    return waitForOutcome(id, *command.wait_seconds, api, terminal);
  }
  terminal.out << (terminal.json ? std::string(reply->json.text()) : printable(id)) << "\n";
  return kExitOk;
}

// Collects jobs and sends them a thousand at a time.
class Batch {
 public:
  Batch(const PushCommand& command, ApiClient& api, Terminal& terminal)
      : path_(apiPath({"v1", "pools", command.pool, "jobs", "batch"})),
        keeps_ids_(command.wait_seconds.has_value()),
        api_(api),
        terminal_(terminal) {}

  int add(const std::string& job) {
    if (count_ > 0 && body_.size() + job.size() > kBatchBytes) {
      if (const int code = send(); code != kExitOk) return code;
    }
    body_ += (count_++ == 0 ? "" : ",") + job;
    return count_ == kBatchItems ? send() : kExitOk;
  }

  int send() {
    if (count_ == 0) return kExitOk;
    const auto reply = call(
        api_, terminal_, {.method = "POST", .path = path_, .body = "{\"items\":[" + body_ + "]}"});
    if (!reply) return reply.error();
    for (const auto& job : itemsOf(reply->json.root(), "items")) {
      if (keeps_ids_) {
        ids_.push_back(textOf(job, "id"));
        continue;
      }
      terminal_.out << (terminal_.json ? std::string(job.raw()) : printable(textOf(job, "id")))
                    << "\n";
    }
    pushed_ += count_;
    count_ = 0;
    body_.clear();
    return kExitOk;
  }

  std::size_t pushed() const { return pushed_; }
  const std::vector<std::string>& ids() const { return ids_; }  // when results are waited for

 private:
  const std::string path_;
  const bool keeps_ids_;  // in place of printing them
  ApiClient& api_;
  Terminal& terminal_;
  std::string body_;
  std::size_t count_ = 0;
  std::size_t pushed_ = 0;
  std::vector<std::string> ids_;
};

// Prints the results in the order of the jobs; the time is for all of them together.
int waitForAll(const std::vector<std::string>& ids, int seconds, ApiClient& api,
               Terminal& terminal) {
  const SystemClock clock;
  const auto until = clock.monotonic() + Seconds(seconds);
  int exit_code = kExitOk;
  for (const auto& id : ids) {
    const auto left = std::chrono::ceil<Seconds>(until - clock.monotonic()).count();
    const int code =
        waitForOutcome(id, static_cast<int>(std::max<std::int64_t>(left, 0)), api, terminal);
    if (code == kExitUnreachable) return code;
    if (code != kExitOk) exit_code = code;
  }
  return exit_code;
}

int pushCopies(const PushCommand& command, std::string_view data, std::string_view where,
               ApiClient& api, Terminal& terminal) {
  const auto job = newJobJson(command, data);
  if (!job) return refuseData(terminal, where, job.error());
  Batch batch(command, api, terminal);
  int code = kExitOk;
  for (int i = 0; code == kExitOk && i < *command.count; ++i) code = batch.add(*job);
  if (code == kExitOk) code = batch.send();
  terminal.err << fmt::format("pushed {} jobs to {}\n", batch.pushed(), printable(command.pool));
  if (code != kExitOk || !command.wait_seconds) return code;
  return waitForAll(batch.ids(), *command.wait_seconds, api, terminal);
}

int pushData(const PushCommand& command, std::string_view data, std::string_view where,
             ApiClient& api, Terminal& terminal) {
  return command.count ? pushCopies(command, data, where, api, terminal)
                       : pushOne(command, data, where, api, terminal);
}

int pushLines(const PushCommand& command, std::istream& input, std::string_view where,
              ApiClient& api, Terminal& terminal) {
  Batch batch(command, api, terminal);
  int code = kExitOk;
  std::string line;
  for (std::size_t number = 1; code == kExitOk && std::getline(input, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto job = newJobJson(command, line);
    code = job ? batch.add(*job)
               : refuseData(terminal, fmt::format("{}:{}", where, number), job.error());
  }
  if (code == kExitOk) code = batch.send();
  terminal.err << fmt::format("pushed {} jobs to {}\n", batch.pushed(), printable(command.pool));
  return code;
}

int pushFrom(const PushCommand& command, std::istream& input, std::string_view where,
             ApiClient& api, Terminal& terminal) {
  if (command.lines) return pushLines(command, input, where, api, terminal);
  const std::string data{std::istreambuf_iterator<char>(input), {}};
  return pushData(command, data, where, api, terminal);
}

}  // namespace

int run(const PushCommand& command, ApiClient& api, Terminal& terminal) {
  if (command.data) return pushData(command, *command.data, "--data", api, terminal);
  if (!command.file || *command.file == "-") {
    return pushFrom(command, terminal.in, "standard input", api, terminal);
  }
  std::ifstream file(*command.file, std::ios::binary);
  if (!file) {
    terminal.err << fmt::format("{}: cannot be read\n", printable(*command.file));
    return kExitUsage;
  }
  return pushFrom(command, file, *command.file, api, terminal);
}

}  // namespace muster
