#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "models/store/sqlite/sqlite_connection.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store/storage.h"

namespace muster {

// Units of work on SQLite. One thread writes: it takes all units that wait, runs them in one
// transaction, a savepoint each, and commits once for all (group commit). Readers have connections
// of their own on a snapshot; a database in memory has one connection, so its reads queue with the
// writes.
class SqliteStorage : public Storage {
 public:
  SqliteStorage(SqliteFile file, std::unique_ptr<SqliteConnection> writer, StorageOptions options,
                const Clock& clock);
  ~SqliteStorage() override;

  void write(Unit unit, Done done, Executor* on) override;
  void read(Unit unit, Done done, Executor* on) override;
  void stop() override;
  Commits commits() override;

 private:
  struct Item {
    Unit unit;
    Done done;
    Executor* on;
    Status status = {};
  };
  // What waits for a kind of thread.
  struct Queue {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<Item> items;  // guarded by mutex
    bool closed = false;     // guarded by mutex
  };

  void enqueue(Queue& queue, Item item);
  void writeLoop();
  void readLoop();
  void runBatch(std::vector<Item>& batch);
  void runTransaction(std::span<Item> items);
  void runUnit(Item& item, bool alone);
  void finish(std::vector<Item>& batch);

  const SqliteFile file_;
  const StorageOptions options_;
  const Clock& clock_;
  std::unique_ptr<SqliteConnection> connection_;  // the writer thread's
  Store store_;                                   // the writer thread's

  Queue writes_;
  Queue reads_;
  std::mutex commits_mutex_;
  Commits commits_;  // guarded by commits_mutex_
  std::vector<std::jthread> threads_;
};

}  // namespace muster
