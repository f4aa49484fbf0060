#include "app/upkeep/flow_settler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "tests/component/flow_fan.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::completeNext;
using test::createFan;

// A storage whose notes can be held back, or made to fail.
class HeldNotes : public Storage {
 public:
  explicit HeldNotes(Storage& storage) : storage_(storage) {}

  void write(Unit unit, Done done, Executor* on, Isolation isolation, Wish wish) override {
    storage_.write(std::move(unit), std::move(done), on, isolation, std::move(wish));
  }
  void read(Unit unit, Done done, Executor* on) override {
    ++reads_;
    storage_.read(std::move(unit), std::move(done), on);
  }
  void note(Unit unit, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      ++notes_;
      if (++under_way_ > 1) overlapped_ = true;
      if (fails_ > 0) {
        --fails_;
        unit = [](Store&) { throw std::runtime_error("not now"); };
      }
      if (holds_) {
        held_.emplace_back(std::move(unit), std::move(done));
        return;
      }
    }
    pass(std::move(unit), std::move(done));
  }
  void stop() override { storage_.stop(); }
  Commits commits() override { return storage_.commits(); }

  void hold() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
  }
  // Lets those go that are held, and all that follow.
  void release() {
    std::vector<std::pair<Unit, Done>> held;
    {
      const std::lock_guard lock(mutex_);
      holds_ = false;
      held.swap(held_);
    }
    for (auto& [unit, done] : held) pass(std::move(unit), std::move(done));
  }
  void failNext(int notes) {
    const std::lock_guard lock(mutex_);
    fails_ = notes;
  }
  int notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }
  int underWay() const {
    const std::lock_guard lock(mutex_);
    return under_way_;
  }
  bool overlapped() const {
    const std::lock_guard lock(mutex_);
    return overlapped_;
  }
  int reads() const { return reads_; }

 private:
  void pass(Unit unit, Done done) {
    storage_.note(std::move(unit), [this, done = std::move(done)](const Status& status) {
      {
        const std::lock_guard lock(mutex_);
        --under_way_;
      }
      done(status);
    });
  }

  Storage& storage_;
  mutable std::mutex mutex_;
  std::vector<std::pair<Unit, Done>> held_;  // guarded by mutex_, like the rest
  int notes_ = 0, under_way_ = 0, fails_ = 0;
  bool holds_ = false, overlapped_ = false;
  std::atomic<int> reads_ = 0;
};

class FlowSettlerTest : public testing::Test {
 protected:
  FlowSettlerTest() {
    StorageOptions options;
    options.url = "memory:";
    options.rules.on_unsettled = [this] {
      ++told;
      if (listens) settler->request();
    };
    storage = openStorage(options, clock).value();
    held = std::make_unique<HeldNotes>(*storage);
    settler = std::make_unique<FlowSettler>(*held, clock, log);
  }
  ~FlowSettlerTest() override {
    held->release();
    settler->stop();
    storage->stop();
  }

  std::int64_t claimable() {
    PoolStats stats;
    EXPECT_TRUE(
        storage->writeAndWait([&](Store& store) { stats = store.pools().stats(PoolId("fan")); }));
    return stats.pending;
  }
  // All that was handed to the store so far is done, and what that handed over too.
  template <class Condition>
  bool becomes(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      EXPECT_TRUE(storage->writeAndWait([](Store&) {}));
    }
    return true;
  }
  bool isQuiet() {
    bool unsettled = true;
    EXPECT_TRUE(storage->writeAndWait(
        [&](Store& store) { unsettled = run(HasUnsettledFlows{}, store).value(); }));
    return !unsettled && held->underWay() == 0;
  }

  FakeClock clock;
  Log log{clock, LogLevel::kError};
  std::atomic<bool> listens = true;
  std::atomic<int> told = 0;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<HeldNotes> held;
  std::unique_ptr<FlowSettler> settler;
};

constexpr int kWide = 3500;  // more than are settled with the commit and in one unit

TEST_F(FlowSettlerTest, a_wide_fan_out_is_settled_piece_by_piece) {
  createFan(*storage, kWide);
  completeNext(*storage, "p");
  EXPECT_TRUE(becomes([this] { return isQuiet(); }));
  EXPECT_EQ(claimable(), kWide);
  EXPECT_GE(held->notes(), 3) << "1000 edges each";
  EXPECT_FALSE(held->overlapped()) << "one at a time";
}

TEST_F(FlowSettlerTest, others_come_between_the_pieces) {
  createFan(*storage, kWide);
  held->hold();
  completeNext(*storage, "p");
  ASSERT_TRUE(becomes([this] { return held->notes() == 1; }));
  const std::int64_t at_once = claimable();
  EXPECT_GT(at_once, 0);
  EXPECT_LT(at_once, kWide) << "the rest waits for its turn, and nobody for the rest";
  held->release();
  EXPECT_TRUE(becomes([this] { return isQuiet(); }));
  EXPECT_EQ(claimable(), kWide);
}

TEST_F(FlowSettlerTest, requests_that_come_meanwhile_are_served_together) {
  held->hold();
  for (int i = 0; i < 5; ++i) settler->request();
  EXPECT_EQ(held->notes(), 1);
  held->release();
  EXPECT_TRUE(becomes([this] { return held->underWay() == 0 && held->notes() == 2; }))
      << "what was left after the first was handed over";
  EXPECT_TRUE(becomes([this] { return held->underWay() == 0; }));
  EXPECT_EQ(held->notes(), 2);
}

TEST_F(FlowSettlerTest, what_a_crash_has_left_is_found_by_looking) {
  listens = false;
  createFan(*storage, kWide);
  completeNext(*storage, "p");
  EXPECT_TRUE(becomes([this] { return told > 0; }));
  EXPECT_LT(claimable(), kWide);
  listens = true;
  settler->look();
  EXPECT_TRUE(becomes([this] { return isQuiet(); }));
  EXPECT_EQ(claimable(), kWide);
}

TEST_F(FlowSettlerTest, a_look_that_finds_nothing_begins_nothing) {
  settler->look();
  EXPECT_TRUE(becomes([this] { return held->reads() == 1; }));
  EXPECT_TRUE(storage->readAndWait([](Store&) {}));
  EXPECT_EQ(held->notes(), 0);
}

TEST_F(FlowSettlerTest, after_an_error_the_next_look_goes_on) {
  createFan(*storage, kWide);
  held->failNext(1);
  completeNext(*storage, "p");
  EXPECT_TRUE(becomes([this] { return held->notes() == 1 && held->underWay() == 0; }));
  EXPECT_LT(claimable(), kWide);
  settler->look();
  EXPECT_TRUE(becomes([this] { return isQuiet(); }));
  EXPECT_EQ(claimable(), kWide);
}

TEST_F(FlowSettlerTest, nothing_begins_after_the_stop) {
  createFan(*storage, kWide);
  held->hold();
  completeNext(*storage, "p");
  ASSERT_TRUE(becomes([this] { return held->notes() == 1; }));
  settler->stop();
  held->release();
  EXPECT_TRUE(becomes([this] { return held->underWay() == 0; }));
  settler->request();
  settler->look();
  EXPECT_EQ(held->notes(), 1);
  EXPECT_EQ(held->reads(), 0);
  EXPECT_LT(claimable(), kWide) << "the next start finds it";
}

}  // namespace
}  // namespace muster
