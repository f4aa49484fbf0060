#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "app/webhooks/webhook_call.h"
#include "models/clock.h"
#include "models/webhook.h"

namespace muster {

// A call that was made.
struct WebhookOutcome {
  WebhookDelivery delivery;
  WebhookTry made;
};

// Calls the receivers of webhooks, a few at a time. Each webhook is a lane: its deliveries go one
// after the other, and it is left alone for a while after a failure. Lanes that are slow, or fail,
// never have all threads, so that the others go on. Thread-safe.
class WebhookCallers {
 public:
  struct Options {
    Millis retry_base = Seconds(5);
    std::function<void()> on_outcome = [] {};  // there are outcomes to be taken
  };
  WebhookCallers(WebhookConnect connect, Options options, const Clock& clock);
  ~WebhookCallers();

  // The webhooks that are to be called from now on, as they are now. What waits for others is
  // dropped; calls that are being made come to their end.
  void setWebhooks(std::span<const Webhook> webhooks);

  // How many deliveries to the webhook are here, and how many more can be taken. Those that are
  // here stay known until they are forgotten, so that none is made twice.
  std::size_t known(const WebhookId& webhook) const;
  std::size_t room(const WebhookId& webhook) const;
  void add(const WebhookId& webhook, std::vector<WebhookDelivery> deliveries);

  std::vector<WebhookOutcome> takeOutcomes();
  bool hasOutcomes() const;
  void forget(std::span<const WebhookOutcome> outcomes);

  // Calls once, before what waits; `done` runs on a thread of the callers. False when too many
  // such calls wait already.
  using TestDone = std::function<void(const WebhookTry& made)>;
  bool test(const Webhook& webhook, WebhookMessage message, TestDone done);

  // No call begins any more. Those that are being made are cut short by stop(), which waits for
  // them; nothing is known of their outcome then.
  void retire();
  void stop();

 private:
  using Moment = std::chrono::nanoseconds;  // of the monotonic clock
  struct Lane {
    std::string url;
    std::vector<std::string> secrets;
    std::deque<WebhookDelivery> waiting;
    std::set<std::int64_t> known;  // numbers of events: waiting, being called, or not forgotten
    WebhookPost post;              // empty: no connection
    bool is_called = false;        // a thread is at it
    bool is_wanted = true;         // false: its webhook is not to be called any more
    bool is_slow = false;
    int failures = 0;  // in a row
    Moment alone_until{0};
  };
  struct Test {
    std::string url;
    WebhookMessage message;
    TestDone done;
  };
  using Lanes = std::map<WebhookId, Lane>;

  void startThreads();
  void work(const std::stop_token& stop);
  Lanes::iterator pick(Moment now);
  Moment nextMoment(Moment now) const;
  void callLane(std::unique_lock<std::mutex>& lock, Lanes::iterator place,
                const std::stop_token& stop);
  void callTest(std::unique_lock<std::mutex>& lock, const std::stop_token& stop);
  static void dropWaiting(Lane& lane);
  void tidy(Lanes::iterator lane);

  const WebhookConnect connect_;
  const Options options_;
  const Clock& clock_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  Lanes lanes_;                           // guarded by mutex_
  WebhookId last_picked_;                 // guarded by mutex_; lanes take turns
  std::size_t slow_calls_ = 0;            // being made to slow lanes; guarded by mutex_
  std::deque<Test> tests_;                // guarded by mutex_
  std::vector<WebhookOutcome> outcomes_;  // guarded by mutex_
  bool retired_ = false;                  // guarded by mutex_
  std::stop_source stop_;
  std::vector<std::jthread> threads_;  // none until they are needed; guarded by mutex_
};

}  // namespace muster
