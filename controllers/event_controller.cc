#include "controllers/event_controller.h"

#include <fmt/format.h>
#include <trantor/net/EventLoop.h>

#include <charconv>
#include <limits>
#include <utility>

#include "controllers/long_wait.h"
#include "models/json/event_json.h"

namespace muster {
namespace {

constexpr int kStreamPage = 500;
constexpr auto kPingEvery = Seconds(15);
constexpr int kMostLatest = 200;
constexpr double kGatherSeconds = 0.02;  // a busy service sends many commits in one go
// What a client has not taken is kept up to so many bytes and one page; then it is waited for.
constexpr std::size_t kMostUnsent = 256U << 10;
constexpr double kUnsentLookSeconds = 0.1;
constexpr int kMostIdleLooks = 300;
constexpr std::int64_t kMaxSeq = std::numeric_limits<std::int64_t>::max();

EventFilter readFilter(QueryReader& query) {
  EventFilter filter;
  filter.types = query.texts("types");
  filter.pool = query.id("pool_id");
  filter.job = query.id("job_id");
  filter.worker = query.id("worker_id");
  return filter;
}

Result<std::optional<std::int64_t>> lastEventId(const Request& request) {
  const std::string& text = request.header("last-event-id");
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t seq = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seq);
  if (fault == std::errc() && end == text.data() + text.size() && seq >= 0)
    return std::optional(seq);
  return tl::unexpected(Error{ErrorCode::kInvalidHeader,
                              "Last-Event-ID must be a number of an event",
                              {{"Last-Event-ID", "format", "must be a number of an event"}}});
}

Reply eventsReply(const std::vector<Event>& events, const std::string& next_cursor) {
  JsonWriter out;
  out.beginObject().key("items").beginArray();
  for (const Event& event : events) writeEvent(out, event);
  out.endArray();
  if (!next_cursor.empty()) out.field("next_cursor", next_cursor);
  out.endObject();
  return Reply::json(200, std::move(out));
}

std::string asServerSentEvent(const Event& event) {
  JsonWriter data;
  writeEvent(data, event);
  return fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.seq, event.type, data.take());
}

}  // namespace

void EventController::addRoutes(Router& router) {
  router.add("GET", "/v1/events", Scope::kRead,
             {.read = [this](const Request& request) { return list(request); },
              .pool_rule = PoolRule::kQuery});
  router.add("GET", "/v1/events/stream", Scope::kRead,
             {.read = [this](const Request& request) { return stream(request); },
              .pool_rule = PoolRule::kQuery});
}

Result<Work> EventController::list(const Request& request) {
  QueryReader query(request);
  const EventFilter filter = readFilter(query);
  const auto after = query.integer("after", 0, kMaxSeq);
  const auto cursor = query.integer("cursor", 0, kMaxSeq);
  const int limit = query.limit();
  const auto latest = query.integer("last", 1, kMostLatest);
  if (latest && (after || cursor)) {
    query.fault("last", "cannot stand beside after or cursor, which begin at a place");
  }
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  if (latest) {
    return [filter, count = static_cast<int>(*latest)](Store& store) -> Outcome {
      return eventsReply(store.events().latest(filter, count), "");
    };
  }
  return [filter, position = cursor.value_or(after.value_or(0)), limit](Store& store) -> Outcome {
    const auto page = store.events().list(position, filter, limit);
    if (!page) return tl::unexpected(page.error());
    return eventsReply(page->events, page->more ? std::to_string(page->read_to) : "");
  };
}

// A client that listens. Everything happens on the event loop of its connection.
struct EventController::Stream {
  TextStreamPtr out;
  EventFilter filter;
  std::int64_t position = 0;
  std::size_t unsent = 0;  // at the last look, while the client is waited for
  int idle_looks = 0;      // since it last took something
};

Result<Work> EventController::stream(const Request& request) {
  QueryReader query(request);
  const EventFilter filter = readFilter(query);
  auto after = query.integer("after", 0, kMaxSeq);
  if (auto ok = query.finish(); !ok) return tl::unexpected(std::move(ok).error());
  const auto resumed = lastEventId(request);
  if (!resumed) return tl::unexpected(resumed.error());
  if (*resumed) after = *resumed;
  return [this, filter, after](Store& store) -> Outcome {
    auto stream = std::make_shared<Stream>();
    stream->filter = filter;
    stream->position = after.value_or(store.events().last());
    if (auto reachable = store.events().list(stream->position, filter, 1); !reachable) {
      return tl::unexpected(std::move(reachable).error());
    }
    Reply reply;
    reply.content_type = "text/event-stream";
    reply.with("X-Accel-Buffering", "no");
    reply.stream = [this, stream](TextStreamPtr out) {
      stream->out = std::move(out);
      // The position, so that a client that comes again before the first event misses none.
      stream->out->open(fmt::format(": listening\nretry: 1000\nid: {}\n\n", stream->position));
      pump(stream);
    };
    return reply;
  };
}

void EventController::pump(const std::shared_ptr<Stream>& stream) {
  if (gateway_.draining()) {
    stream->out->close();
    return;
  }
  if (stream->out->unsent() > kMostUnsent) return awaitClient(stream);
  stream->idle_looks = 0;
  const auto generation = waits_.generation("");
  auto page = std::make_shared<Result<EventPage>>();
  storage_.read(
      [stream, page](Store& store) {
        *page = store.events().list(stream->position, stream->filter, kStreamPage);
      },
      [this, stream, page, generation](const Status& status) {
        send(stream, status ? *page : Result<EventPage>(tl::unexpected(status.error())),
             generation);
      },
      &currentLoop());
}

// A client that takes nothing for half a minute comes again by Last-Event-ID, if it is there at
// all.
void EventController::awaitClient(const std::shared_ptr<Stream>& stream) {
  const std::size_t unsent = stream->out->unsent();
  stream->idle_looks = unsent < std::exchange(stream->unsent, unsent) ? 0 : stream->idle_looks + 1;
  if (stream->idle_looks > kMostIdleLooks) {
    stream->out->abort();
    return;
  }
  auto* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  loop->runAfter(kUnsentLookSeconds, [this, stream] { pump(stream); });
}

void EventController::send(const std::shared_ptr<Stream>& stream, const Result<EventPage>& page,
                           std::uint64_t generation) {
  if (!page) {
    stream->out->close();  // the client reconnects and is told
    return;
  }
  std::string text;
  for (const Event& event : page->events) text += asServerSentEvent(event);
  const bool quiet = text.empty() && page->read_to == stream->position;
  stream->position =
      page->events.empty() ? page->read_to : std::max(page->read_to, page->events.back().seq);
  if (!text.empty() && !stream->out->send(text)) return;
  if (page->more) return pump(stream);
  waitOnLoop(waits_, "", generation, kPingEvery, [this, stream, quiet, generation] {
    const bool woken = waits_.generation("") != generation;
    if (quiet && !woken && !stream->out->send(": ping\n\n")) return;
    auto* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
    loop->runAfter(kGatherSeconds, [this, stream] { pump(stream); });
  });
}

}  // namespace muster
