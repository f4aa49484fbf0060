#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <thread>

#include "app/cli/commands.h"
#include "app/cli/event_stream.h"
#include "app/cli/problem_text.h"
#include "app/cli/service_call.h"
#include "app/cli/table.h"

namespace muster {
namespace {

constexpr Seconds kSilence{45};           // the service sends a ping every 15 s
constexpr std::size_t kMostLatest = 200;  // what the service gives at once
constexpr Millis kFirstPause{250};
constexpr Millis kLongestPause{10'000};

Tint tintOfEvent(std::string_view type) {
  for (const char* word : {"failed", "poisoned", "lost", "expired", "suspended", "dropped"}) {
    if (type.find(word) != std::string_view::npos) return Tint::kBad;
  }
  return type == "job.completed" ? Tint::kGood : Tint::kNone;
}

std::string aboutOf(JsonValue event) {
  std::string about;
  for (const auto& [label, name] : {std::pair{"job", "job_id"}, std::pair{"worker", "worker_id"},
                                    std::pair{"attempt", "attempt"}}) {
    const std::string value = textOf(event, name);
    if (!value.empty()) about += fmt::format("{}{}={}", about.empty() ? "" : " ", label, value);
  }
  const std::string details = textOf(event, "details");
  if (!details.empty() && details != "{}") about += (about.empty() ? "" : " ") + details;
  return about;
}

Table eventTable() {
  return Table({{.title = "SEQ", .is_number = true},
                {.title = "AT"},
                {.title = "TYPE"},
                {.title = "POOL"},
                {.title = "ABOUT", .can_shrink = true}});
}

std::string lineOf(const StreamedEvent& streamed, const Terminal& terminal) {
  if (terminal.json) return streamed.data + "\n";
  const auto event = JsonAnswer::parse(streamed.data);
  if (!event) return printable(streamed.data) + "\n";
  const JsonValue root = event->root();
  const std::string line =
      fmt::format("{}  {:<18}  {}  {}", textOf(root, "at"), textOf(root, "type"),
                  textOf(root, "pool_id"), aboutOf(root));
  std::string shown = printable(line);
  shown.erase(shown.find_last_not_of(' ') + 1);
  return (terminal.width > 0 ? fitted(shown, terminal.width) : shown) + "\n";
}

QueryParameters filterOf(const EventsCommand& command) {
  return {{"types", command.types},
          {"pool_id", command.pool},
          {"job_id", command.job},
          {"worker_id", command.worker},
          {"after", command.after ? std::to_string(*command.after) : ""}};
}

// Follows until the reader of our output goes away, or the service refuses.
class Follower {
 public:
  Follower(const EventsCommand& command, ApiClient& api, Terminal& terminal)
      : command_(command), api_(api), terminal_(terminal) {}

  int run() {
    while (true) {
      const auto answer = connect();
      if (!terminal_.out) return kExitOk;
      if (answer && !answer->ok() && !isTemporary(*answer)) {
        terminal_.err << problemText(*answer);
        return kExitFailed;
      }
      if (!answer && !was_connected_) {
        terminal_.err << unreachableText(api_.url(), answer.error());
        return kExitUnreachable;
      }
      // A service that cannot stream ends each answer well, and is asked again.
      if (!answer || !answer->ok()) pause();
    }
  }

 private:
  static bool isTemporary(const HttpAnswer& answer) {
    return answer.status == 503 || answer.status == 429;
  }

  tl::expected<HttpAnswer, Unreachable> connect() {
    EventsCommand from_here = command_;
    if (!last_id_.empty()) from_here.after = std::nullopt;
    HttpRequest request{.path = "/v1/events/stream" + apiQuery(filterOf(from_here)),
                        .headers = {{"Accept", "text/event-stream"}}};
    if (!last_id_.empty()) request.headers.emplace_back("Last-Event-ID", last_id_);
    EventStreamParser parser;
    return api_.stream(request, kSilence, [this, &parser](std::string_view bytes) {
      was_connected_ = true;
      pause_ = kFirstPause;
      const bool more = parser.feed(bytes, [this](const auto& event) { return show(event); });
      if (!parser.lastId().empty()) last_id_ = parser.lastId();
      return more;
    });
  }

  bool show(const StreamedEvent& event) {
    terminal_.out << lineOf(event, terminal_) << std::flush;
    return static_cast<bool>(terminal_.out);
  }

  void pause() {
    terminal_.err << fmt::format("connection to {} ended, trying again\n", api_.url());
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
  }

  const EventsCommand& command_;
  ApiClient& api_;
  Terminal& terminal_;
  std::string last_id_;
  bool was_connected_ = false;
  Millis pause_ = kFirstPause;
};

tl::expected<Listing, int> latest(const EventsCommand& command, ApiClient& api,
                                  Terminal& terminal) {
  auto parameters = filterOf(command);
  parameters.emplace_back("last", std::to_string(std::min(command.limit, kMostLatest)));
  auto reply = call(api, terminal, {.path = "/v1/events" + apiQuery(parameters)});
  if (!reply) return tl::unexpected(reply.error());
  Listing listing;
  listing.now = reply->now;
  listing.items = itemsOf(listing.pages.emplace_back(std::move(reply->json)).root(), "items");
  if (command.limit > kMostLatest && listing.items.size() == kMostLatest) {
    terminal.err << fmt::format("the latest {}; --after 0 --limit {} begins with the oldest\n",
                                kMostLatest, command.limit);
  }
  return listing;
}

}  // namespace

int run(const EventsCommand& command, ApiClient& api, Terminal& terminal) {
  if (command.follow) return Follower(command, api, terminal).run();
  const auto events = command.after
                          ? list(api, terminal, "/v1/events", filterOf(command), command.limit)
                          : latest(command, api, terminal);
  if (!events) return events.error();
  if (terminal.json) {
    printItems(terminal, *events);
    return kExitOk;
  }
  Table table = eventTable();
  for (const auto& event : events->items) {
    const std::string type = textOf(event, "type");
    table.add({textOf(event, "seq"), textOf(event, "at"), Cell(type, tintOfEvent(type)),
               textOf(event, "pool_id"), aboutOf(event)});
  }
  if (table.empty()) {
    terminal.err << "no events\n";
  } else {
    terminal.out << table.render(terminal.width, terminal.color);
  }
  if (events->has_more && !events->items.empty()) {
    terminal.err << fmt::format("more with --after {}\n", textOf(events->items.back(), "seq"));
  }
  return kExitOk;
}

}  // namespace muster
