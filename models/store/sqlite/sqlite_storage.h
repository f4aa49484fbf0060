#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "models/store/sqlite/sqlite_connection.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store/storage.h"
#include "models/store/units.h"

namespace muster {

// Units of work on SQLite. One thread writes: it takes all units that wait, runs them in one
// transaction and commits once for all (group commit). When that fails, each unit is run again in
// a transaction of its own, so that one that cannot be done harms no other; this is rare, while a
// savepoint for each unit would cost every one of them a copy of the pages it touches.
//
// Full durability: SQLite commits without waiting for the disk, and a second thread flushes the
// write-ahead log and only then lets the answers go. The next batch is worked on, and grows, while
// the disk is busy with the last one. A batch of nothing but notes waits for the flush of whoever
// comes next and sees it, or for the last one at the stop. Readers have connections of their own on
// a snapshot; what they saw may not be flushed yet, and then their answers wait for the flush too,
// so that nobody is told of something a power cut could still undo. A database in memory has one
// connection, so its reads queue with the writes.
class SqliteStorage : public Storage {
 public:
  SqliteStorage(SqliteFile file, std::unique_ptr<SqliteConnection> writer, StorageOptions options,
                const Clock& clock);
  ~SqliteStorage() override;

  void write(Unit unit, Done done, Executor* on, Isolation isolation, Wish wish) override;
  void read(Unit unit, Done done, Executor* on) override;
  void note(Unit unit, Done done) override;
  void stop() override;
  Commits commits() override;

 private:
  // A batch that is committed, with the events of its commits; or a read.
  struct Finished {
    std::vector<WaitingUnit> items;
    std::vector<Event> events;
    bool is_read = false;
  };
  void writeLoop();
  void syncLoop();
  void deliverFlushed(Finished finished);
  void readLoop();
  void runBatch(std::vector<WaitingUnit>& batch);
  bool needsSync(const Finished& finished, bool changed);
  bool flush();
  bool gatherMore(std::vector<WaitingUnit>& batch);
  void runTransaction(const std::function<void()>& work);
  void deliver(Finished finished);

  const SqliteFile file_;
  const StorageOptions options_;
  const Clock& clock_;
  std::unique_ptr<SqliteConnection> connection_;  // the writer thread's
  Store store_;                                   // the writer thread's
  std::vector<Event> committed_;                  // the writer thread's: not told to anybody yet

  WorkQueue<WaitingUnit> writes_;
  WorkQueue<WaitingUnit> reads_;
  WorkQueue<Finished> unsynced_;
  const int wal_ = -1;                     // the log to flush; -1: commits need no flush
  int syncing_ = 0;                        // batches at the disk; guarded by writes_.mutex
  std::atomic<std::int64_t> begun_ = 0;    // commits that readers may see
  std::atomic<std::int64_t> written_ = 0;  // commits that are in the log for sure
  std::atomic<std::int64_t> flushed_ = 0;  // commits that are on the disk
  std::atomic<bool> broken_ = false;       // the disk did not keep what it was given
  std::mutex commits_mutex_;
  Commits commits_;  // guarded by commits_mutex_
  std::jthread writer_;
  std::jthread syncer_;
  std::vector<std::jthread> readers_;
};

}  // namespace muster
