#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "app/log/log.h"
#include "app/webhooks/webhook_callers.h"
#include "models/clock.h"
#include "models/policy/webhook_retry.h"
#include "models/store/storage.h"

namespace muster {

// Delivers events to webhooks, each at least once.
//
// One thread reads the event table behind the cursor of each webhook. What a webhook wants becomes
// a delivery in the transaction that moves its cursor; deliveries that are due go to the callers,
// and what came of them is written down. So whatever is cut short is found again: an event that has
// no delivery yet behind the cursor, a delivery that was not noted as made in the table.
//
// This is the leader's duty. What is written begins with its lease; what is called meanwhile, by
// one that has just lost it, is called twice. Thread-safe.
class WebhookOutbox {
 public:
  struct Options {
    WebhookRules rules;
    // What entitles this node to deliver; nothing when another leads.
    std::function<std::optional<LeaderLease>()> lease = [] { return LeaderLease{}; };
    // Told of each try that was noted: delivered, retried or failed.
    std::function<void(std::string_view result)> on_try = [](std::string_view) {};
  };
  WebhookOutbox(Storage& storage, WebhookConnect connect, Options options, const Clock& clock,
                const Log& log);
  ~WebhookOutbox();

  // Webhooks were changed, here or elsewhere, or this node may have come to lead.
  void look();
  // Events were committed. Costs next to nothing where no webhook is to be served.
  void wake() {
    if (serves_.load(std::memory_order_relaxed)) look();
  }
  // Once a second: notices who leads, and now and then what nobody has told of.
  void tick();

  // Calls the webhook now with a message that is no event. False when too many wait.
  using TestDone = std::function<void(const WebhookTry& made, const std::string& id)>;
  bool test(const Webhook& webhook, TestDone done);

  // No delivery begins any more.
  void retire();
  void stop();

 private:
  // What one look at the store shows.
  struct View {
    std::vector<Webhooks::Reader> readers;
    std::vector<Webhooks::Found> found;
    std::vector<std::pair<WebhookId, std::vector<WebhookDelivery>>> due;
    Time now;
    bool more = false;  // there is more to read
  };
  using Moment = std::chrono::steady_clock::time_point;

  void loop(const std::stop_token& stop);
  void round();
  void standBy();
  bool record(const LeaderLease& lease);
  void tellOf(const WebhookOutcome& outcome, DeliveryVerdict::Kind verdict) const;
  View viewOf(Store& store);
  void readEvents(Store& store, View& view);
  // False when this node does not lead any more, or the store cannot be used.
  bool advance(const LeaderLease& lease, const std::vector<Webhooks::Found>& found);
  bool run(const LeaderLease& lease, const std::function<void(Store&)>& work);
  void planNext(const View& view);

  Storage& storage_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  std::atomic<bool> serves_ = false;  // this node leads, and there are webhooks
  bool leads_ = false;                // as of the last tick, like what follows
  int ticks_ = 0;

  std::mutex mutex_;
  std::condition_variable_any wanted_;
  bool is_wanted_ = false;  // guarded by mutex_

  // The thread's own. How far each webhook has read; the store may lag behind by events that the
  // webhook did not want.
  std::map<WebhookId, std::int64_t> positions_;
  std::vector<WebhookOutcome> unrecorded_;
  Moment saved_at_{};
  std::optional<Moment> again_at_;

  WebhookCallers callers_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace muster
