#include "app/webhooks/webhook_outbox.h"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <set>

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 60s;

// Receivers that take what they are sent, refuse it, or keep the caller waiting.
class Receivers {
 public:
  enum class Manner { kTake, kRefuse, kHold };

  ~Receivers() { letAllGo(); }

  void set(const std::string& url, Manner manner) {
    const std::lock_guard lock(mutex_);
    manners_[url] = manner;
    changed_.notify_all();
  }
  void letAllGo() {
    const std::lock_guard lock(mutex_);
    for (auto& [url, manner] : manners_) manner = Manner::kTake;
    changed_.notify_all();
  }
  WebhookConnect connect() {
    return [this](const std::string& url) -> WebhookPost {
      return [this, url](const WebhookMessage& message, const std::stop_token& stop) {
        return call(url, message, stop);
      };
    };
  }
  // Until the receiver was called so often.
  bool wasCalled(const std::string& url, std::size_t times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return calls_[url].size() >= times; });
  }
  std::vector<std::string> calls(const std::string& url) {
    const std::lock_guard lock(mutex_);
    return calls_[url];
  }

 private:
  WebhookTry call(const std::string& url, const WebhookMessage& message,
                  const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    calls_[url].push_back(message.id);
    changed_.notify_all();
    changed_.wait(lock, stop, [&] { return manners_[url] != Manner::kHold; });
    WebhookTry made;
    made.status = manners_[url] == Manner::kTake ? 204 : 500;
    if (!made.delivered()) made.error = "refused";
    return made;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Manner> manners_;                  // guarded by mutex_
  std::map<std::string, std::vector<std::string>> calls_;  // ids of messages; guarded by mutex_
};

class WebhookOutboxTest : public testing::Test {
 protected:
  using Manner = Receivers::Manner;

  WebhookOutboxTest() {
    StorageOptions options;
    options.url = "memory:";
    options.on_commit = [this](std::span<const Event>) {
      const std::lock_guard lock(mutex);
      for (const auto& outbox : outboxes) outbox->wake();
    };
    storage = openStorage(options, clock).value();
  }
  ~WebhookOutboxTest() override {
    receivers.letAllGo();
    for (const auto& outbox : outboxes) outbox->stop();
    storage->stop();
  }

  WebhookOutbox& open(std::optional<LeaderLease> lease = LeaderLease{}) {
    held.push_back(std::make_shared<std::optional<LeaderLease>>(std::move(lease)));
    WebhookOutbox::Options options;
    options.rules.retry_base = 0s;
    options.lease = [this, mine = held.back()] {
      const std::lock_guard lock(mutex);
      return *mine;
    };
    auto outbox =
        std::make_unique<WebhookOutbox>(*storage, receivers.connect(), options, clock, log);
    outbox->look();
    const std::lock_guard lock(mutex);
    return *outboxes.emplace_back(std::move(outbox));
  }
  void setLease(std::size_t outbox, std::optional<LeaderLease> lease) {
    const std::lock_guard lock(mutex);
    *held[outbox] = std::move(lease);
  }
  template <class Work>
  void write(Work work) {
    ASSERT_TRUE(storage->writeAndWait(work));
  }
  Webhook create(const std::string& url) {
    Webhook made;
    write([&](Store& store) {
      made = store.webhooks().create({.url = url, .types = {"job.created"}}, {}).value();
    });
    for (const auto& outbox : outboxes) outbox->look();
    return made;
  }
  void push(int count) {
    write([&](Store& store) {
      const auto pool = store.pools().findOrCreate(PoolId("p")).value();
      for (int i = 0; i < count; ++i) store.jobs().push(*pool, {.data = "1"});
    });
  }
  Webhook find(const Webhook& webhook) {
    std::optional<Webhook> found;
    write([&](Store& store) { found = store.webhooks().find(webhook.id); });
    return found.value();
  }
  bool becomes(const Webhook& webhook, const std::function<bool(const Webhook&)>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition(find(webhook))) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  LeaderLease acquire(const std::string& node) {
    std::optional<LeaderLease> won;
    write([&](Store& store) { won = store.cluster().acquire(node, 30s); });
    return won.value();
  }

  FakeClock clock;
  Log log{clock, LogLevel::kError};
  Receivers receivers;
  std::mutex mutex;
  std::vector<std::shared_ptr<std::optional<LeaderLease>>> held;  // guarded by mutex
  std::unique_ptr<Storage> storage;
  std::vector<std::unique_ptr<WebhookOutbox>> outboxes;  // guarded by mutex
};

TEST_F(WebhookOutboxTest, whoeverComesToLeadDelivers) {
  WebhookOutbox& outbox = open(std::nullopt);
  const Webhook webhook = create("a");
  push(2);
  EXPECT_EQ(receivers.calls("a").size(), 0U);
  setLease(0, LeaderLease{});
  outbox.tick();
  EXPECT_TRUE(receivers.wasCalled("a", 2));
  EXPECT_TRUE(becomes(webhook, [](const Webhook& now) { return now.pending == 0; }));
}

TEST_F(WebhookOutboxTest, whatALeaderWasCalledAwayFromTheNextOneDelivers) {
  receivers.set("a", Manner::kHold);
  open(acquire("first"));
  const Webhook webhook = create("a");
  push(1);
  ASSERT_TRUE(receivers.wasCalled("a", 1));
  clock.advance(31s);  // it stands still, and does not know that it has lost the lead
  const LeaderLease second = acquire("second");
  receivers.set("a", Manner::kTake);
  open(second);
  ASSERT_TRUE(receivers.wasCalled("a", 2));
  EXPECT_TRUE(becomes(webhook, [](const Webhook& now) { return now.pending == 0; }));
  const auto calls = receivers.calls("a");
  EXPECT_EQ(std::set<std::string>(calls.begin(), calls.end()).size(), 1U) << "known by its id";
}

TEST_F(WebhookOutboxTest, thoseThatAreSlowNeverHaveAllThreads) {
  open();
  std::vector<Webhook> slow;
  for (const char* url : {"s1", "s2", "s3", "s4", "s5"}) {
    receivers.set(url, Manner::kRefuse);
    slow.push_back(create(url));
  }
  const Webhook quick = create("quick");
  push(1);
  for (const char* url : {"s1", "s2", "s3", "s4", "s5"}) {
    ASSERT_TRUE(receivers.wasCalled(url, 10)) << "they are known to fail";
  }
  for (const char* url : {"s1", "s2", "s3", "s4", "s5"}) receivers.set(url, Manner::kHold);
  push(5);
  EXPECT_TRUE(receivers.wasCalled("quick", 6));
  EXPECT_TRUE(becomes(quick, [](const Webhook& now) { return now.pending == 0; }));
}

TEST_F(WebhookOutboxTest, oneWithMuchToDeliverReadsNoFurther) {
  constexpr int kJobs = 2500;
  receivers.set("a", Manner::kHold);
  open();
  const Webhook webhook = create("a");
  push(kJobs);
  EXPECT_TRUE(becomes(webhook, [](const Webhook& now) { return now.pending >= 1000; }));
  ASSERT_TRUE(receivers.wasCalled("a", 1));
  EXPECT_LE(find(webhook).pending, 1500);
  receivers.set("a", Manner::kTake);
  EXPECT_TRUE(receivers.wasCalled("a", kJobs));
  EXPECT_TRUE(becomes(webhook, [](const Webhook& now) { return now.pending == 0; }));
  EXPECT_EQ(receivers.calls("a").size(), static_cast<std::size_t>(kJobs)) << "each once";
}

TEST_F(WebhookOutboxTest, oneThatFellBehindTooFarSaysSo) {
  WebhookOutbox& outbox = open();
  const Webhook webhook = create("a");
  write([&](Store& store) {
    WebhookChange change;
    change.enabled = false;
    store.webhooks().change(webhook.id, change).value();
  });
  push(5);
  clock.advance(1h);
  write([&](Store& store) { store.events().removeOld(store.now(), 100); });
  write([&](Store& store) {
    WebhookChange change;
    change.enabled = true;
    store.webhooks().change(webhook.id, change).value();
  });
  outbox.look();
  push(1);
  EXPECT_TRUE(becomes(webhook, [](const Webhook& now) { return now.events_expired >= 5; }));
  EXPECT_TRUE(receivers.wasCalled("a", 1)) << "it goes on with what is there";
}

TEST_F(WebhookOutboxTest, aTestIsCalledByAnyNode) {
  WebhookOutbox& outbox = open(std::nullopt);
  const Webhook webhook = create("a");
  std::promise<WebhookTry> made;
  ASSERT_TRUE(outbox.test(
      webhook, [&](const WebhookTry& result, const std::string&) { made.set_value(result); }));
  EXPECT_TRUE(made.get_future().get().delivered());
}

TEST_F(WebhookOutboxTest, aTestThatWaitsAtTheStopIsAnswered) {
  receivers.set("a", Manner::kHold);
  WebhookOutbox& outbox = open(std::nullopt);
  const Webhook webhook = create("a");
  std::atomic<int> answers = 0;
  int taken = 0;
  while (taken < 100 && outbox.test(webhook, [&](const auto&, const auto&) { ++answers; })) ++taken;
  EXPECT_LT(taken, 100) << "they are bounded";
  outbox.stop();
  EXPECT_EQ(answers, taken);
}

}  // namespace
}  // namespace muster
