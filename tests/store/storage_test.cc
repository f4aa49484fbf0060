#include "models/store/storage.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// Holds the writer inside a unit until it is opened, so that what is written meanwhile waits and
// then runs as one batch.
class Gate {
 public:
  explicit Gate(Storage& storage) {
    storage.write(
        [this](Store&) {
          entered_.store(true);
          entered_.notify_all();
          opened_.wait(false);
        },
        [this](const Status&) {
          passed_.store(true);
          passed_.notify_all();
        });
    entered_.wait(false);
  }
  ~Gate() {
    open();
    passed_.wait(false);
  }
  void open() {
    opened_.store(true);
    opened_.notify_all();
  }

 private:
  std::atomic<bool> entered_ = false, opened_ = false, passed_ = false;
};

// Counts the answers to units and lets the test wait for all of them.
class Answers {
 public:
  explicit Answers(std::size_t expected) : all_(expected), statuses_(expected) {}
  Storage::Done operator[](std::size_t index) {
    return [this, index](const Status& status) {
      {
        const std::lock_guard lock(mutex_);
        statuses_[index].push_back(codeOf(status));
      }
      all_.count_down();
    };
  }
  void wait() { all_.wait(); }
  // How the unit ended; fails when it was not answered exactly once.
  std::optional<ErrorCode> of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(statuses_[index].size(), 1U) << "answers to unit " << index;
    return statuses_[index].empty() ? ErrorCode::kInternal : statuses_[index][0];
  }

 private:
  std::latch all_;
  std::mutex mutex_;
  std::vector<std::vector<std::optional<ErrorCode>>> statuses_;
};

class StorageTest : public StoreTest {
 protected:
  static void pushIn(Store& store, const std::string& data = "1") {
    store.jobs().push(*store.pools().findOrCreate(PoolId("p")).value(), {.data = data});
  }
  Names data() {
    Names all;
    for (const Job& each : allJobs()) all.insert(all.begin(), each.data);
    return all;
  }
};
MUSTER_ON_EVERY_BACKEND(StorageTest);

TEST_P(StorageTest, unitsThatWaitAreCommittedTogether) {
  constexpr std::size_t kUnits = 50;
  Answers answers(kUnits);
  {
    Gate gate(*storage);
    for (std::size_t i = 0; i < kUnits; ++i) {
      storage->write([i](Store& s) { pushIn(s, std::to_string(i)); }, answers[i]);
    }
    storage->commits();
    gate.open();
    answers.wait();
  }
  const auto commits = storage->commits();
  EXPECT_LE(commits.count, 2) << "the gate's and theirs";
  Names expected;
  for (std::size_t i = 0; i < kUnits; ++i) {
    EXPECT_EQ(answers.of(i), std::nullopt);
    expected.push_back(std::to_string(i));
  }
  EXPECT_EQ(data(), expected) << "in the order they were handed in";
}

TEST_P(StorageTest, whatIsToBeDoneWithTheCommitIsDoneOnceAndOnlyIfThereIsOne) {
  constexpr std::size_t kUnits = 3;
  Answers answers(kUnits);
  std::atomic<int> done[kUnits] = {};
  {
    Gate gate(*storage);
    for (std::size_t i = 0; i < kUnits; ++i) {
      storage->write(
          [&done, i](Store& s) {
            pushIn(s, std::to_string(i));
            s.session.afterCommit([&done, i] { ++done[i]; });
            if (i == 1) throw std::runtime_error("bug");
          },
          answers[i]);
    }
    gate.open();
    answers.wait();
  }
  EXPECT_EQ(done[0], 1);
  EXPECT_EQ(done[1], 0);
  EXPECT_EQ(done[2], 1);
  EXPECT_EQ(data(), (Names{"0", "2"}));
}

struct Fault {
  std::string name;
  std::function<void()> raise;
  ErrorCode code;
};

const Fault kFaults[] = {
    {"a bug", [] { throw std::runtime_error("bug"); }, ErrorCode::kInternal},
    {"the database", [] { throw StoreError(StoreError::Kind::kOther, "broken"); },
     ErrorCode::kStoreUnavailable},
    {"a lock", [] { throw StoreError(StoreError::Kind::kBusy, "busy"); }, ErrorCode::kStoreBusy},
    {"a full disk", [] { throw StoreError(StoreError::Kind::kFull, "full"); },
     ErrorCode::kStoreUnavailable},
    {"no exception of ours", [] { throw 42; }, ErrorCode::kInternal},
};

TEST_P(StorageTest, aUnitThatThrowsIsUndoneAndAnswered) {
  for (const Fault& fault : kFaults) {
    const auto status = storage->writeAndWait([&](Store& s) {
      pushIn(s);
      fault.raise();
    });
    EXPECT_EQ(codeOf(status), fault.code) << fault.name;
    EXPECT_TRUE(allJobs().empty()) << fault.name;
    EXPECT_EQ(lastEvent(), 0) << fault.name;
  }
  push();
  EXPECT_EQ(stats().pending, 1);
}

TEST_P(StorageTest, aUnitThatThrowsHarmsNoOtherOfItsBatch) {
  for (const Fault& fault : kFaults) {
    const auto before = data().size();
    Answers answers(5);
    {
      Gate gate(*storage);
      const auto good = [](Store& s) { pushIn(s, "\"good\""); };
      const auto bad = [&fault](Store& s) {
        pushIn(s, "\"bad\"");
        s.pools().stats(PoolId("p"));  // writes the counters on the way
        fault.raise();
      };
      storage->write(good, answers[0]);
      storage->write(bad, answers[1]);
      storage->write(good, answers[2]);
      storage->write(bad, answers[3]);
      storage->write(good, answers[4]);
      gate.open();
      answers.wait();
    }
    for (const std::size_t i : {0U, 2U, 4U}) EXPECT_EQ(answers.of(i), std::nullopt) << fault.name;
    for (const std::size_t i : {1U, 3U}) EXPECT_EQ(answers.of(i), fault.code) << fault.name;
    const Names now = data();
    EXPECT_EQ(now.size(), before + 3) << fault.name;
    EXPECT_EQ(std::count(now.begin(), now.end(), "\"bad\""), 0) << fault.name;
    expectCountersEqualARecount();
  }
}

TEST_P(StorageTest, aFailureOfAnyKindBesideAnotherKindCountsNothingTwice) {
  Answers answers(4);
  {
    Gate gate(*storage);
    storage->write([](Store& s) { pushIn(s); }, answers[0]);
    storage->write([](Store& s) { pushIn(s), throw std::runtime_error("bug"); }, answers[1]);
    storage->write([](Store& s) { pushIn(s), throw StoreError(StoreError::Kind::kFull, "full"); },
                   answers[2]);
    storage->write([](Store& s) { pushIn(s); }, answers[3]);
    gate.open();
    answers.wait();
  }
  EXPECT_EQ(stats().pending, 2);
  EXPECT_EQ(eventTypesAfter(0), (Names{"pool.created", "job.created", "job.created"}));
}

TEST_P(StorageTest, theAnswerComesAfterTheCommitOfTheWholeBatch) {
  Answers answers(2);
  std::atomic<bool> first_answered = false, answered_early = false;
  {
    Gate gate(*storage);
    storage->write([](Store& s) { pushIn(s); },
                   [&, done = answers[0]](const Status& status) {
                     first_answered = true;
                     done(status);
                   });
    storage->write([&](Store&) { answered_early = first_answered.load(); }, answers[1]);
    gate.open();
    answers.wait();
  }
  EXPECT_TRUE(first_answered);
  EXPECT_FALSE(answered_early) << "the second unit of the same transaction had not run yet";
}

TEST_P(StorageTest, whoWasAnsweredIsSeenByEveryReader) {
  for (int i = 0; i < 50; ++i) {
    std::promise<std::size_t> seen;
    storage->write(
        [](Store& s) { pushIn(s); },
        [&](const Status&) {
          auto count = std::make_shared<std::int64_t>(0);
          storage->read(
              [count](Store& s) { *count = s.pools().stats(PoolId("p")).pending; },
              [&seen, count](const Status&) { seen.set_value(static_cast<std::size_t>(*count)); });
        });
    ASSERT_EQ(seen.get_future().get(), static_cast<std::size_t>(i) + 1);
  }
}

TEST_P(StorageTest, aReadThatThrowsIsAnsweredAndTheNextOneWorks) {
  for (int i = 0; i < 5; ++i) {
    for (const Fault& fault : kFaults) {
      EXPECT_EQ(codeOf(storage->readAndWait([&](Store&) { fault.raise(); })), fault.code);
    }
  }
  EXPECT_EQ(stats().pending, 0);
}

class Collected : public Executor {
 public:
  void post(std::vector<Task> tasks) override {
    const std::lock_guard lock(mutex_);
    ++posts_;
    for (Task& task : tasks) tasks_.push_back(std::move(task));
    filled_.notify_all();
  }
  std::vector<Task> take(std::size_t count) {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return tasks_.size() >= count; });
    return std::exchange(tasks_, {});
  }
  int posts() {
    const std::lock_guard lock(mutex_);
    return posts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Task> tasks_;
  int posts_ = 0;
};

TEST_P(StorageTest, answersRunWhereTheyWereAskedFor) {
  Collected here, there;
  int answered = 0;
  {
    Gate gate(*storage);
    for (int i = 0; i < 10; ++i) {
      storage->write([](Store& s) { pushIn(s); }, [&](const Status&) { ++answered; },
                     i % 2 == 0 ? &here : &there);
    }
    gate.open();
    for (const auto& task : here.take(5)) task();
    EXPECT_EQ(answered, 5);
    for (const auto& task : there.take(5)) task();
  }
  EXPECT_EQ(answered, 10);
  EXPECT_EQ(here.posts(), 1) << "those of one batch together";
  EXPECT_EQ(there.posts(), 1);
}

TEST_P(StorageTest, stopFinishesWhatWasAcceptedAndRefusesTheRest) {
  constexpr std::size_t kUnits = 200;
  Answers answers(kUnits);
  for (std::size_t i = 0; i < kUnits; ++i) {
    storage->write([](Store& s) { pushIn(s); }, answers[i]);
  }
  storage->stop();
  answers.wait();
  for (std::size_t i = 0; i < kUnits; ++i) EXPECT_EQ(answers.of(i), std::nullopt);
  EXPECT_EQ(codeOf(storage->writeAndWait([](Store& s) { pushIn(s); })), ErrorCode::kDraining);
  EXPECT_EQ(codeOf(storage->readAndWait([](Store&) {})), ErrorCode::kDraining);
  storage->stop();
  reopen();
}

TEST_P(StorageTest, tooManyWaitingUnitsAreRefusedAtOnce) {
  std::atomic<int> refused = 0, done = 0;
  {
    Gate gate(*storage);
    for (int i = 0; i < 20'010; ++i) {
      storage->write([](Store&) {},
                     [&](const Status& status) {
                       if (!status) {
                         EXPECT_EQ(status.error().code, ErrorCode::kStoreBusy);
                         EXPECT_TRUE(status.error().retry_after);
                         ++refused;
                       }
                       ++done;
                     });
    }
    EXPECT_EQ(refused.load(), 10);
  }
  storage->stop();
  EXPECT_EQ(done.load(), 20'010);
  reopen();
}

class CommitListenerTest : public StoreTest {
 protected:
  // The listener is part of the options, so this opens a store of its own.
  void listen() {
    storage.reset();
    place = GetParam().make();
    StorageOptions options;
    options.url = place->url();
    options.durability = GetParam().durability;
    options.rules = rules;
    options.own_clock = true;
    options.on_commit = [this](std::span<const Event> events) {
      const std::lock_guard lock(mutex);
      for (const Event& event : events) heard.push_back(event.type);
    };
    storage = openStorage(options, clock).value();
  }
  std::mutex mutex;
  Names heard;
};
MUSTER_ON_EVERY_BACKEND(CommitListenerTest);

TEST_P(CommitListenerTest, hearsOfEveryEventInTheOrderOfTheLog) {
  listen();
  const Job claimed = pushAndClaim();
  complete(claimed).value();
  EXPECT_FALSE(storage->writeAndWait([](Store& s) {
    s.jobs().push(*s.pools().find(PoolId("p")), {.data = "1"});
    throw std::runtime_error("undone");
  }));
  push();
  const Names logged = eventTypesAfter(0);
  storage->stop();
  EXPECT_EQ(heard, logged);
  reopen();
}

TEST_P(CommitListenerTest, hearsOfTheGoodUnitsOfABatchWithBadOnes) {
  listen();
  push();
  Answers answers(3);
  {
    Gate gate(*storage);
    const auto good = [](Store& s) { s.jobs().push(*s.pools().find(PoolId("p")), {.data = "1"}); };
    storage->write(good, answers[0]);
    storage->write([](Store&) { throw StoreError(StoreError::Kind::kFull, "full"); }, answers[1]);
    storage->write(good, answers[2]);
    gate.open();
    answers.wait();
  }
  const Names logged = eventTypesAfter(0);
  storage->stop();
  EXPECT_EQ(logged, (Names{"pool.created", "job.created", "job.created", "job.created"}));
  EXPECT_EQ(heard, logged);
  reopen();
}

class ConcurrentReadTest : public StoreTest {};
MUSTER_ON_BACKENDS(ConcurrentReadTest, backendsThat(&Backend::concurrent_reads));

TEST_P(ConcurrentReadTest, readsGoOnWhileAUnitIsWrittenAndSeeWhatWasCommitted) {
  push();
  std::promise<void> written, look;
  std::promise<Status> done;
  auto looked = look.get_future().share();
  storage->write(
      [&written, looked, first = true](Store& s) mutable {
        s.jobs().push(*s.pools().find(PoolId("p")), {.data = "2"});
        if (std::exchange(first, false)) written.set_value();
        looked.wait();
      },
      [&done](const Status& status) { done.set_value(status); });
  written.get_future().wait();
  EXPECT_EQ(allJobs().size(), 1U);
  EXPECT_EQ(stats().pending, 1);
  look.set_value();
  EXPECT_TRUE(done.get_future().get());
  EXPECT_EQ(allJobs().size(), 2U);
}

TEST_P(ConcurrentReadTest, aReadCannotWrite) {
  push();
  const auto status = storage->readAndWait(
      [](Store& s) { s.jobs().push(*s.pools().find(PoolId("p")), {.data = "1"}); });
  EXPECT_EQ(codeOf(status), ErrorCode::kStoreUnavailable);
  EXPECT_EQ(allJobs().size(), 1U);
}

}  // namespace
}  // namespace muster::test
