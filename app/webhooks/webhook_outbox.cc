#include "app/webhooks/webhook_outbox.h"

#include <algorithm>
#include <array>
#include <set>

#include "models/json/webhook_json.h"
#include "models/store/sql/event_slice.h"

namespace muster {
namespace {

using std::chrono::steady_clock;

constexpr int kEventsAtOnce = 500;           // read behind one cursor
constexpr std::int64_t kMostPending = 1000;  // deliveries of a webhook; it reads no further then
constexpr Millis kGatherWindow{10};          // what comes in it is looked at together
constexpr Millis kSaveEach = Seconds(1);     // positions behind which nothing was found
constexpr int kLookEachTicks = 5;
constexpr Millis kAfterFailure = Seconds(1);

std::string_view wordFor(DeliveryVerdict::Kind kind) {
  constexpr std::array<std::string_view, 3> kWords = {"delivered", "retried", "failed"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace

WebhookOutbox::WebhookOutbox(Storage& storage, WebhookConnect connect, Options options,
                             const Clock& clock, const Log& log)
    : storage_(storage),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      callers_(std::move(connect), {options_.rules.retry_base, [this] { look(); }}, clock) {
  thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
}

WebhookOutbox::~WebhookOutbox() { stop(); }

void WebhookOutbox::look() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_wanted_, true)) return;
  wanted_.notify_all();
}

void WebhookOutbox::tick() {
  const bool leads = options_.lease().has_value();
  if (std::exchange(leads_, leads) != leads) return look();
  if (++ticks_ % kLookEachTicks == 0) wake();
}

bool WebhookOutbox::test(const Webhook& webhook, TestDone done) {
  const Time now = clock_.now();
  // No event has this number.
  const std::string id = webhook.id.str() + ".test-" + std::to_string(toMillis(now));
  return callers_.test(webhook, {id, writeTestBody(webhook.id, now), secretsOf(webhook, now)},
                       [id, done = std::move(done)](const WebhookTry& made) { done(made, id); });
}

void WebhookOutbox::retire() { callers_.retire(); }

void WebhookOutbox::stop() {
  callers_.stop();
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
  // What has been delivered meanwhile need not be delivered again.
  if (const auto lease = options_.lease()) record(*lease);
}

void WebhookOutbox::loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      const auto ready = [this] { return is_wanted_; };
      if (again_at_) {
        wanted_.wait_until(lock, stop, *again_at_, ready);
      } else {
        wanted_.wait(lock, stop, ready);
      }
      is_wanted_ = false;
    }
    if (stop.stop_requested()) return;
    const Moment began = steady_clock::now();
    round();
    std::unique_lock lock(mutex_);
    wanted_.wait_until(lock, stop, began + kGatherWindow, [] { return false; });
  }
}

// Another node delivers now. What is being called comes to its end, and is not noted.
void WebhookOutbox::standBy() {
  serves_ = false;
  callers_.setWebhooks({});
  callers_.forget(callers_.takeOutcomes());
  callers_.forget(unrecorded_);
  unrecorded_.clear();
  positions_.clear();
  again_at_.reset();
}

void WebhookOutbox::round() {
  const auto lease = options_.lease();
  if (!lease) return standBy();
  again_at_ = steady_clock::now() + kAfterFailure;  // unless all goes well
  if (!record(*lease)) return;
  View view;
  const Status seen = storage_.readAndWait([&](Store& store) { view = viewOf(store); });
  if (!seen) {
    log_.error("webhooks were not looked at", {{"detail", seen.error().detail}});
    return;
  }
  serves_ = !view.readers.empty();
  std::vector<Webhook> webhooks;
  for (const Webhooks::Reader& reader : view.readers) webhooks.push_back(reader.webhook);
  callers_.setWebhooks(webhooks);
  for (auto& [webhook, deliveries] : view.due) callers_.add(webhook, std::move(deliveries));
  if (!view.found.empty() && !advance(*lease, view.found)) return;
  planNext(view);
}

bool WebhookOutbox::run(const LeaderLease& lease, const std::function<void(Store&)>& work) {
  bool leads = false;
  const Status done = storage_.writeAndWait(
      [&](Store& store) {
        leads = store.cluster().holds(lease);
        if (leads) work(store);
      },
      Isolation::kShared);
  if (!done) log_.error("deliveries were not noted", {{"detail", done.error().detail}});
  if (done && !leads) standBy();
  return done && leads;
}

bool WebhookOutbox::record(const LeaderLease& lease) {
  for (WebhookOutcome& outcome : callers_.takeOutcomes()) unrecorded_.push_back(std::move(outcome));
  if (unrecorded_.empty()) return true;
  std::vector<DeliveryVerdict::Kind> verdicts;
  const bool noted = run(lease, [&](Store& store) {
    verdicts.clear();
    for (const WebhookOutcome& outcome : unrecorded_) {
      verdicts.push_back(store.webhooks().record(outcome.delivery, outcome.made, options_.rules));
    }
  });
  if (!noted) return false;
  for (std::size_t i = 0; i < unrecorded_.size(); ++i) tellOf(unrecorded_[i], verdicts[i]);
  callers_.forget(unrecorded_);
  unrecorded_.clear();
  return true;
}

void WebhookOutbox::tellOf(const WebhookOutcome& outcome, DeliveryVerdict::Kind verdict) const {
  options_.on_try(wordFor(verdict));
  if (verdict == DeliveryVerdict::Kind::kDelivered) return;
  const bool is_last = verdict == DeliveryVerdict::Kind::kFailed;
  log_.write(is_last ? LogLevel::kWarn : LogLevel::kDebug, "webhook not delivered",
             {{"webhook", outcome.delivery.webhook.str()},
              {"delivery", outcome.delivery.id()},
              {"attempts", std::to_string(outcome.delivery.attempts + 1)},
              {"detail", outcome.made.error}});
}

WebhookOutbox::View WebhookOutbox::viewOf(Store& store) {
  View view;
  view.now = store.now();
  view.readers = store.webhooks().readers();
  for (const Webhooks::Reader& reader : view.readers) {
    const WebhookId& id = reader.webhook.id;
    const std::size_t room = callers_.room(id);
    if (!reader.first_due || *reader.first_due > view.now || room == 0) continue;
    // Those that are there already are among the first that are due.
    const auto limit = static_cast<int>(room + callers_.known(id));
    view.due.emplace_back(id, store.webhooks().due(id, limit));
  }
  readEvents(store, view);
  return view;
}

// Webhooks that stand at the same place, as they do unless one is behind, share a look at the
// events.
void WebhookOutbox::readEvents(Store& store, View& view) {
  std::map<std::int64_t, std::vector<const Webhook*>> places;
  for (const Webhooks::Reader& reader : view.readers) {
    const Webhook& webhook = reader.webhook;
    const auto known = positions_.find(webhook.id);
    const std::int64_t position =
        std::max(webhook.after_seq, known == positions_.end() ? 0 : known->second);
    if (webhook.pending < kMostPending) places[position].push_back(&webhook);
  }
  const bool saves = steady_clock::now() >= saved_at_ + kSaveEach;
  for (const auto& [place, webhooks] : places) {
    const EventSlice slice = sliceAfter(store, place, kEventsAtOnce);
    view.more = view.more || slice.more;
    for (const Webhook* webhook : webhooks) {
      Webhooks::Found found{webhook->id, webhook->after_seq, slice.read_to, slice.expired, {}};
      for (const Event& event : slice.events) {
        if (wants(webhook->spec, event)) found.events.push_back(event);
      }
      const bool is_saved = webhook->after_seq == slice.read_to;
      if (!found.events.empty() || slice.expired > 0 || (saves && !is_saved)) {
        view.found.push_back(std::move(found));
      } else {
        positions_[webhook->id] = slice.read_to;
      }
    }
  }
}

bool WebhookOutbox::advance(const LeaderLease& lease, const std::vector<Webhooks::Found>& found) {
  const bool done = run(lease, [&](Store& store) {
    for (const Webhooks::Found& one : found) store.webhooks().advance(one);
  });
  if (!done) return false;
  saved_at_ = steady_clock::now();
  const bool any =
      std::any_of(found.begin(), found.end(), [](const auto& one) { return !one.events.empty(); });
  if (any) look();  // at what is due now
  return true;
}

// When to look again though nobody asks.
void WebhookOutbox::planNext(const View& view) {
  again_at_.reset();
  const auto within = [this](Millis wait) {
    const Moment at = steady_clock::now() + std::max(wait, Millis(0));
    again_at_ = again_at_ ? std::min(*again_at_, at) : at;
  };
  bool is_behind = false;
  std::set<WebhookId> there;
  for (const Webhooks::Reader& reader : view.readers) {
    const Webhook& webhook = reader.webhook;
    there.insert(webhook.id);
    if (reader.next_due) within(*reader.next_due - view.now);
    const auto position = positions_.find(webhook.id);
    is_behind = is_behind || (position != positions_.end() && position->second > webhook.after_seq);
  }
  std::erase_if(positions_, [&there](const auto& known) { return !there.contains(known.first); });
  if (view.more) within(Millis(0));
  if (is_behind) within(kSaveEach);
}

}  // namespace muster
