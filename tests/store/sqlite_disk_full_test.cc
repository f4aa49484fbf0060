// A disk that is full: refused writes, nothing half-written, and all is well when there is room.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <latch>
#include <mutex>
#include <set>

#include "models/clock.h"
#include "models/store/sqlite/sqlite_connection.h"
#include "models/store/storage.h"
#include "tests/store/backend.h"

namespace muster::test {
namespace {

// While it lives, no file of this process grows beyond `bytes`, as if the disk were full then.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit tight{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class SqliteDiskFullTest : public testing::Test {
 protected:
  SqliteDiskFullTest() { open(); }
  void open() {
    storage.reset();
    StorageOptions options;
    options.url = "sqlite:" + file;
    storage = openStorage(options, clock).value();
  }
  Status push(std::size_t bytes, std::string& id) {
    return storage->writeAndWait([&](Store& s) {
      const auto pool = s.pools().findOrCreate(PoolId("p")).value();
      id = s.jobs().push(*pool, {.data = "\"" + std::string(bytes, 'x') + "\""}).job.id.str();
    });
  }
  std::uintmax_t logSize() const { return std::filesystem::file_size(file + "-wal"); }

  // The jobs that are there, and that everything else agrees with them.
  std::set<std::string> stored() {
    std::set<std::string> ids;
    EXPECT_TRUE(storage->readAndWait([&](Store& s) {
      ids.clear();
      std::string cursor;
      do {
        const auto page = s.jobs().list(PoolId("p"), {}, cursor, 100);
        for (const Job& job : page.jobs) ids.insert(job.id.str());
        cursor = page.next_cursor;
      } while (!cursor.empty());
      EXPECT_EQ(s.pools().stats(PoolId("p")).pending, static_cast<std::int64_t>(ids.size()));
      EventFilter created;
      created.types = {"job.created"};
      EXPECT_EQ(s.events().list(0, created, 10'000)->events.size(), ids.size());
    }));
    return ids;
  }
  void expectSoundFile() {
    storage.reset();
    {
      SqliteConnection db(file, SqliteAccess::kReadOnly);
      constexpr Sql kCheck{"PRAGMA integrity_check"};
      auto rows = db.query(kCheck);
      ASSERT_TRUE(rows.next());
      EXPECT_EQ(rows->string(0), "ok");
    }
    open();
  }

  Folder folder;
  FakeClock clock;
  const std::string file = folder.file("muster.db");
  std::unique_ptr<Storage> storage;
};

TEST_F(SqliteDiskFullTest, refusesWhatDoesNotFitAndWorksAgainWhenThereIsRoom) {
  std::set<std::string> acknowledged;
  std::string id;
  ASSERT_TRUE(push(10, id));
  acknowledged.insert(id);
  std::vector<ErrorCode> refusals;
  {
    const FullDisk full(logSize() + 200'000);
    for (int i = 0; i < 20; ++i) {
      const Status status = push(50'000, id);
      if (status) {
        acknowledged.insert(id);
      } else {
        refusals.push_back(status.error().code);
      }
    }
  }
  EXPECT_GE(refusals.size(), 10U);
  EXPECT_LT(refusals.size(), 20U) << "some room was left";
  for (const ErrorCode code : refusals) EXPECT_EQ(code, ErrorCode::kStoreUnavailable);
  EXPECT_EQ(stored(), acknowledged);

  ASSERT_TRUE(push(50'000, id));
  acknowledged.insert(id);
  EXPECT_EQ(stored(), acknowledged);
  expectSoundFile();
  EXPECT_EQ(stored(), acknowledged);
}

TEST_F(SqliteDiskFullTest, ofUnitsThatWaitTogetherThoseAnsweredWellAreThereAndNoOthers) {
  std::string id;
  ASSERT_TRUE(push(10, id));
  std::set<std::string> acknowledged{id};
  std::mutex mutex;
  int refused = 0;
  constexpr int kUnits = 60;
  {
    const FullDisk full(logSize() + 300'000);
    std::latch answered(kUnits);
    for (int i = 0; i < kUnits; ++i) {
      auto made = std::make_shared<std::string>();
      storage->write(
          [made, i](Store& s) {
            const std::size_t bytes = i % 3 == 0 ? 100'000 : 100;
            const NewJob job{.data = "\"" + std::string(bytes, 'x') + "\""};
            *made = s.jobs().push(*s.pools().find(PoolId("p")), job).job.id.str();
          },
          [&, made](const Status& status) {
            {
              const std::lock_guard lock(mutex);
              if (status) {
                acknowledged.insert(*made);
              } else {
                ++refused;
              }
            }
            answered.count_down();
          });
    }
    answered.wait();
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(stored(), acknowledged);
  expectSoundFile();
  EXPECT_EQ(stored(), acknowledged);
}

TEST_F(SqliteDiskFullTest, readsGoOn) {
  std::string id;
  ASSERT_TRUE(push(10, id));
  bool found = false;
  Status written, read;
  {
    const FullDisk full(0);
    written = push(10'000, id);
    read =
        storage->readAndWait([&](Store& s) { found = s.pools().stats(PoolId("p")).pending == 1; });
  }
  EXPECT_FALSE(written);
  EXPECT_TRUE(read);
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace muster::test
