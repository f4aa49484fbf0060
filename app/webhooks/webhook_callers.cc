#include "app/webhooks/webhook_callers.h"

#include <algorithm>

#include "models/policy/webhook_retry.h"

namespace muster {
namespace {

constexpr std::size_t kThreads = 4;
constexpr std::size_t kMostWaiting = 100;  // of a lane
constexpr std::size_t kMostTests = 16;
constexpr Millis kSlow = Seconds(1);
constexpr auto kLongestSleep = std::chrono::seconds(60);

}  // namespace

WebhookCallers::WebhookCallers(WebhookConnect connect, Options options, const Clock& clock)
    : connect_(std::move(connect)), options_(std::move(options)), clock_(clock) {}

WebhookCallers::~WebhookCallers() { stop(); }

void WebhookCallers::dropWaiting(Lane& lane) {
  for (const WebhookDelivery& delivery : lane.waiting) lane.known.erase(delivery.event_seq);
  lane.waiting.clear();
}

// A lane that nobody wants goes away when nothing is left of it.
void WebhookCallers::tidy(Lanes::iterator lane) {
  if (!lane->second.is_wanted && !lane->second.is_called && lane->second.known.empty()) {
    lanes_.erase(lane);
  }
}

void WebhookCallers::setWebhooks(std::span<const Webhook> webhooks) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, lane] : lanes_) lane.is_wanted = false;
  for (const Webhook& webhook : webhooks) {
    Lane& lane = lanes_[webhook.id];
    lane.is_wanted = true;
    lane.secrets = secretsOf(webhook, clock_.now());
    if (lane.url == webhook.spec.url) continue;
    lane.url = webhook.spec.url;
    lane.post = {};
    lane.failures = 0;
    lane.alone_until = {};
  }
  for (auto at = lanes_.begin(); at != lanes_.end();) {
    const auto lane = at++;
    if (lane->second.is_wanted) continue;
    dropWaiting(lane->second);
    tidy(lane);
  }
}

std::size_t WebhookCallers::known(const WebhookId& webhook) const {
  const std::lock_guard lock(mutex_);
  const auto lane = lanes_.find(webhook);
  return lane == lanes_.end() ? 0 : lane->second.known.size();
}

std::size_t WebhookCallers::room(const WebhookId& webhook) const {
  const std::lock_guard lock(mutex_);
  const auto lane = lanes_.find(webhook);
  if (retired_) return 0;
  if (lane == lanes_.end()) return kMostWaiting;  // it has not been told of the webhook yet
  return kMostWaiting - std::min(lane->second.waiting.size(), kMostWaiting);
}

void WebhookCallers::add(const WebhookId& webhook, std::vector<WebhookDelivery> deliveries) {
  const std::lock_guard lock(mutex_);
  const auto lane = lanes_.find(webhook);
  if (lane == lanes_.end() || !lane->second.is_wanted || retired_) return;
  for (WebhookDelivery& delivery : deliveries) {
    if (!lane->second.known.insert(delivery.event_seq).second) continue;
    lane->second.waiting.push_back(std::move(delivery));
  }
  if (lane->second.waiting.empty()) return;
  startThreads();
  changed_.notify_all();
}

std::vector<WebhookOutcome> WebhookCallers::takeOutcomes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

bool WebhookCallers::hasOutcomes() const {
  const std::lock_guard lock(mutex_);
  return !outcomes_.empty();
}

void WebhookCallers::forget(std::span<const WebhookOutcome> outcomes) {
  const std::lock_guard lock(mutex_);
  for (const WebhookOutcome& outcome : outcomes) {
    const auto lane = lanes_.find(outcome.delivery.webhook);
    if (lane == lanes_.end()) continue;
    lane->second.known.erase(outcome.delivery.event_seq);
    tidy(lane);
  }
}

bool WebhookCallers::test(const Webhook& webhook, WebhookMessage message, TestDone done) {
  const std::lock_guard lock(mutex_);
  if (retired_ || tests_.size() >= kMostTests) return false;
  tests_.push_back({webhook.spec.url, std::move(message), std::move(done)});
  startThreads();
  changed_.notify_all();
  return true;
}

void WebhookCallers::retire() {
  const std::lock_guard lock(mutex_);
  retired_ = true;
  changed_.notify_all();
}

void WebhookCallers::stop() {
  retire();
  stop_.request_stop();
  std::vector<std::jthread> threads;
  std::deque<Test> tests;
  {
    const std::lock_guard lock(mutex_);
    threads.swap(threads_);
    tests.swap(tests_);
    changed_.notify_all();
  }
  threads.clear();
  WebhookTry unmade;
  unmade.error = "the service is stopping";
  for (const Test& test : tests) test.done(unmade);
}

void WebhookCallers::startThreads() {
  while (threads_.size() < kThreads && !stop_.stop_requested()) {
    threads_.emplace_back([this, stop = stop_.get_token()] { work(stop); });
  }
}

// The next lane in turn that can be called now.
WebhookCallers::Lanes::iterator WebhookCallers::pick(Moment now) {
  const auto can_go = [&](const Lane& lane) {
    return !lane.waiting.empty() && !lane.is_called && lane.alone_until <= now &&
           (!lane.is_slow || slow_calls_ + 1 < kThreads);
  };
  auto at = lanes_.upper_bound(last_picked_);
  for (std::size_t i = 0; i < lanes_.size(); ++i, ++at) {
    if (at == lanes_.end()) at = lanes_.begin();
    if (can_go(at->second)) return at;
  }
  return lanes_.end();
}

// When a lane may be called again that is left alone now.
WebhookCallers::Moment WebhookCallers::nextMoment(Moment now) const {
  Moment next = now + kLongestSleep;
  for (const auto& [id, lane] : lanes_) {
    if (!lane.waiting.empty() && !lane.is_called && lane.alone_until > now) {
      next = std::min(next, lane.alone_until);
    }
  }
  return next;
}

void WebhookCallers::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Moment now = clock_.monotonic();
    if (!retired_ && !tests_.empty()) {
      callTest(lock, stop);
      continue;
    }
    const auto lane = retired_ ? lanes_.end() : pick(now);
    if (lane == lanes_.end()) {
      changed_.wait_for(lock, nextMoment(now) - now);
      continue;
    }
    last_picked_ = lane->first;
    callLane(lock, lane, stop);
  }
}

// The lane stays where it is while it is called: see tidy().
void WebhookCallers::callLane(std::unique_lock<std::mutex>& lock, Lanes::iterator place,
                              const std::stop_token& stop) {
  Lane& lane = place->second;
  lane.is_called = true;
  const bool was_slow = lane.is_slow;
  if (was_slow) ++slow_calls_;
  WebhookOutcome outcome{std::move(lane.waiting.front()), {}};
  lane.waiting.pop_front();
  const std::string url = lane.url;
  const WebhookMessage message{outcome.delivery.id(), outcome.delivery.body, lane.secrets};
  WebhookPost post = std::move(lane.post);
  lane.post = {};

  lock.unlock();
  if (!post) post = connect_(url);
  outcome.made = post(message, stop);
  lock.lock();

  if (was_slow) --slow_calls_;
  lane.is_called = false;
  const bool ok = outcome.made.delivered();
  lane.is_slow = !ok || outcome.made.took > kSlow;
  lane.failures = ok ? 0 : lane.failures + 1;
  lane.alone_until =
      clock_.monotonic() + pauseAfterFailures(lane.failures, outcome.made, options_.retry_base);
  // A connection is kept for what waits, no longer.
  if (ok && !lane.waiting.empty() && lane.url == url) lane.post = std::move(post);
  if (isGone(outcome.made)) dropWaiting(lane);
  const bool is_cut_short = !ok && stop.stop_requested();
  if (is_cut_short) {
    lane.known.erase(outcome.delivery.event_seq);
  } else {
    outcomes_.push_back(std::move(outcome));
  }
  tidy(place);
  changed_.notify_all();
  lock.unlock();
  if (!is_cut_short) options_.on_outcome();
  lock.lock();
}

void WebhookCallers::callTest(std::unique_lock<std::mutex>& lock, const std::stop_token& stop) {
  const Test test = std::move(tests_.front());
  tests_.pop_front();
  lock.unlock();
  test.done(connect_(test.url)(test.message, stop));
  lock.lock();
}

}  // namespace muster
