// Full durability: nobody hears of a change before the disk has it.
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// A disk whose flushes end when the test says so.
class Disk {
 public:
  int flush() {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    errno = EIO;
    return fails_ ? -1 : 0;
  }
  void hold() {
    set([this] { held_ = true; });
  }
  void letGo() {
    set([this] { held_ = false; });
  }
  void fail() {
    set([this] { fails_ = true; });
  }
  void waitForFlush() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_ > 0; });
  }

 private:
  template <class Change>
  void set(Change change) {
    const std::lock_guard lock(mutex_);
    change();
    begun_ = 0;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int begun_ = 0;
  bool held_ = false, fails_ = false;
};

class SqliteFlushTest : public testing::Test {
 protected:
  SqliteFlushTest() {
    StorageOptions options;
    options.url = "sqlite:" + folder_.file("muster.db");
    options.flush = [this](int) { return disk_.flush(); };
    storage_ = openStorage(options, clock_).value();
    EXPECT_TRUE(
        storage_->writeAndWait([](Store& s) { s.pools().findOrCreate(PoolId("p")).value(); }));
  }
  ~SqliteFlushTest() override { disk_.letGo(); }

  Storage::Unit push() {
    return [](Store& s) { s.jobs().push(*s.pools().find(PoolId("p")), {.data = "1"}); };
  }
  Storage::Unit countEvents() {
    return [this](Store& s) { seen_ = s.events().list(0, {}, 10).value().events.size(); };
  }

  Folder folder_;
  FakeClock clock_;
  Disk disk_;
  std::unique_ptr<Storage> storage_;
  std::atomic<std::size_t> seen_ = 0;
};

TEST_F(SqliteFlushTest, aReadIsAnsweredOnlyWhenWhatItSawIsOnTheDisk) {
  constexpr int kReads = 8;  // more than there are readers, so the last runs after others ended
  std::atomic<int> ran = 0, answered = 0;
  std::atomic<bool> pushed = false;
  disk_.hold();
  storage_->write(push(), [&](const Status&) { pushed = true; });
  disk_.waitForFlush();  // committed, so readers see it
  for (int i = 0; i < kReads; ++i) {
    storage_->read(
        [&](Store& s) {
          EXPECT_EQ(s.events().list(0, {}, 10).value().events.size(), 2U);
          ++ran;
        },
        [&](const Status&) { ++answered; });
  }
  while (ran != kReads) std::this_thread::yield();
  EXPECT_FALSE(pushed);
  EXPECT_EQ(answered, 0);
  disk_.letGo();
  storage_->stop();
  EXPECT_TRUE(pushed);
  EXPECT_EQ(answered, kReads);
}

TEST_F(SqliteFlushTest, whatIsToBeDoneWithTheCommitDoesNotWaitForTheDisk) {
  std::atomic<bool> begun = false, answered = false;
  disk_.hold();
  storage_->write(
      [&](Store& s) {
        push()(s);
        s.session.afterCommit([&] { begun = true; });
      },
      [&](const Status&) { answered = true; });
  disk_.waitForFlush();
  EXPECT_TRUE(begun);
  EXPECT_FALSE(answered);
  disk_.letGo();
  storage_->stop();
  EXPECT_TRUE(answered);
}

class SqliteNotesTest : public SqliteFlushTest {
 protected:
  // With the disk held, and answered all the same.
  void noteAPush() {
    disk_.hold();
    std::atomic<bool> noted = false;
    storage_->note(push(), [&](const Status& status) { noted = status.has_value(); });
    while (!noted) std::this_thread::yield();
  }
  // Whoever sees what was noted is answered after the disk has it.
  template <class Ask>
  void expectToWait(const Ask& ask) {
    std::atomic<bool> answered = false;
    ask([&](const Status&) { answered = true; });
    disk_.waitForFlush();
    EXPECT_FALSE(answered);
    disk_.letGo();
    storage_->stop();
    EXPECT_TRUE(answered);
  }
};

TEST_F(SqliteNotesTest, areKeptFromReadersUntilTheDiskHasThem) {
  noteAPush();
  expectToWait([&](auto done) { storage_->read(countEvents(), done); });
  EXPECT_EQ(seen_, 2U);
}

TEST_F(SqliteNotesTest, areKeptFromWritersThatChangeNothing) {
  noteAPush();
  expectToWait([&](auto done) { storage_->write(countEvents(), done); });
  EXPECT_EQ(seen_, 2U);
}

TEST_F(SqliteNotesTest, areFlushedAtTheStop) {
  noteAPush();
  disk_.letGo();
  storage_->stop();
  disk_.waitForFlush();
}

TEST_F(SqliteNotesTest, areAnsweredAfterTheWritersBeforeThem) {
  std::atomic<int> answers = 0, write_was = 0, note_was = 0;
  disk_.hold();
  storage_->write(push(), [&](const Status&) { write_was = ++answers; });
  disk_.waitForFlush();
  storage_->note(push(), [&](const Status&) { note_was = ++answers; });
  disk_.letGo();
  storage_->stop();
  EXPECT_EQ(write_was, 1);
  EXPECT_EQ(note_was, 2);
}

TEST_F(SqliteFlushTest, aReadDoesNotFlushWhenNothingIsOutstanding) {
  disk_.hold();
  EXPECT_TRUE(storage_->readAndWait(countEvents()));
  EXPECT_EQ(seen_, 1U);
}

TEST_F(SqliteFlushTest, aDiskThatFailsEndsEveryPromise) {
  disk_.fail();
  const Status lost = storage_->writeAndWait(push());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kStoreUnavailable);
  EXPECT_NE(lost.error().detail.find("Input/output error"), std::string::npos);
  EXPECT_FALSE(storage_->writeAndWait(push()));
  EXPECT_FALSE(storage_->readAndWait(countEvents())) << "it would tell of the lost job";
}

}  // namespace
}  // namespace muster::test
