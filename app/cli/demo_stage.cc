#include "app/cli/demo_stage.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <ostream>

#include "app/cli/progress_bar.h"
#include "app/cli/table.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr int kPauseMs = 50;
constexpr Seconds kDemoPatience{60};
constexpr std::size_t kProgressBarWidth = 32;

}  // namespace

std::int64_t numberOf(JsonValue value, std::string_view name) {
  const std::string text = textOf(value, name);
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

DemoStage::DemoStage(ApiClient& api, Terminal& terminal, std::string pool)
    : api_(api),
      terminal_(terminal),
      story_(terminal.json ? terminal.err : terminal.out),
      pool_(std::move(pool)),
      signals_(wake_up_) {}

std::string DemoStage::poolPath(const std::string& tail) const {
  return apiPath({"v1", "pools", pool_}) + tail;
}

std::optional<Reply> DemoStage::ask(const HttpRequest& request) {
  if (exit_code_ != kExitOk) return std::nullopt;  // it was told already
  auto reply = call(api_, terminal_, request);
  if (reply) return *std::move(reply);
  if (exit_code_ == kExitOk) exit_code_ = reply.error();
  return std::nullopt;
}

std::optional<Reply> DemoStage::post(const std::string& path, const std::string& body) {
  return ask({.method = "POST", .path = path, .body = body});
}

void DemoStage::removeAll() {
  // One that has not ended is cancelled with its jobs, and goes when its time is over.
  for (const auto& flow : flows_) {
    api_.send({.method = "DELETE", .path = apiPath({"v1", "flows", flow})});
  }
  const auto answer = api_.send({.method = "DELETE", .path = poolPath() + "?force=true"});
  if (answer && answer->ok()) return;
  terminal_.err << fmt::format("the pool is still there: `muster pools rm {} --force` removes it\n",
                               pool_);
}

int DemoStage::statusOfPost(const std::string& path, const std::string& body) {
  const auto answer = api_.send({.method = "POST", .path = path, .body = body});
  return answer ? answer->status : 0;
}

bool DemoStage::until(const std::function<bool()>& condition) {
  const auto end = clock_.monotonic() + kDemoPatience;
  while (!isOver()) {
    if (condition()) return true;
    if (clock_.monotonic() >= end) return false;
    pollfd woken{wake_up_.fd(), POLLIN, 0};
    if (::poll(&woken, 1, kPauseMs) > 0) wake_up_.clear();
  }
  return false;
}

bool DemoStage::isOver() const { return exit_code_ != kExitOk || signals_.stopRequests() > 0; }

void DemoStage::beginStep(const std::string& title) {
  story_ << fmt::format("\n{}. {}\n", ++steps_, title) << std::flush;
  last_progress_.clear();
}

void DemoStage::say(const std::string& line) { story_ << "   " << line << std::endl; }

void DemoStage::note(const std::string& what, const std::string& expected, const std::string& seen,
                     bool ok) {
  story_ << fmt::format("   {} {}: {} (expected {})\n",
                        tinted(ok ? "✓" : "✗", ok ? Tint::kGood : Tint::kBad, terminal_.color),
                        what, printable(seen), expected)
         << std::flush;
  findings_.push_back({what, expected, seen, ok});
}

void DemoStage::skip(const std::string& why) { say("– not shown: " + why); }

void DemoStage::showProgress(std::size_t done, std::size_t total, const std::string& more) {
  const bool on_screen = terminal_.width > 0 && !terminal_.json;
  const std::string line = fmt::format("{}/{} done, {}", done, total, more);
  if (line == last_progress_) return;
  last_progress_ = line;
  if (on_screen) {
    story_ << "\r   " << progressBar(done, total, kProgressBarWidth) << " " << line << "\x1b[K"
           << (done >= total ? "\n" : "") << std::flush;
  } else {
    say(line);
  }
}

int DemoStage::finish() {
  const auto bad =
      std::count_if(findings_.begin(), findings_.end(), [](const auto& f) { return !f.ok; });
  if (signals_.stopRequests() > 0) story_ << "\ninterrupted\n";
  if (terminal_.json) {
    JsonWriter json;
    json.beginObject().field("pool_id", pool_).field("ok", bad == 0 && !isOver());
    json.key("findings").beginArray();
    for (const auto& finding : findings_) {
      json.beginObject().field("what", finding.what).field("expected", finding.expected);
      json.field("seen", finding.seen).field("ok", finding.ok).endObject();
    }
    terminal_.out << json.endArray().endObject().take() << "\n";
  } else if (!isOver()) {
    story_ << (bad == 0 ? fmt::format("\nAll {} as expected.\n", findings_.size())
                        : fmt::format("\n{} of {} not as expected.\n", bad, findings_.size()));
  }
  if (exit_code_ != kExitOk) return exit_code_;
  return bad == 0 && !isOver() ? kExitOk : kExitFailed;
}

}  // namespace muster
