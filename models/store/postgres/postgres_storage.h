#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "models/store/migrator.h"
#include "models/store/postgres/postgres_link.h"
#include "models/store/units.h"

namespace muster {

// Units of work on PostgreSQL, by threads with a connection each. A thread takes the units that
// wait and runs them in one transaction (group commit). Units that must be alone have a thread, and
// in the database a lock that keeps out all others; the shared ones have another thread, on each of
// the services. Two threads for them would do less: they would wait for each other at the log of
// events, and what units of one batch have in common is done for all of them at once.
// While the database cannot be reached units are answered with kStoreUnavailable.
//
// Another thread hears of what other services commit to the same database.
class PostgresStorage : public Storage {
 public:
  PostgresStorage(PostgresPlace place, StorageOptions options, const Clock& clock);
  ~PostgresStorage() override;

  void write(Unit unit, Done done, Executor* on, Isolation isolation, Wish wish) override;
  void note(Unit unit, Done done) override;
  void read(Unit unit, Done done, Executor* on) override;
  void stop() override;
  Commits commits() override;

 private:
  void writeLoop(WorkQueue<WaitingUnit>& queue, Isolation isolation);
  void readLoop();
  void listenLoop();
  // The events of others after `seen`, which moves on.
  bool hear(PostgresConnection& db, std::int64_t& seen);
  bool stopsWithin(int milliseconds) const;

  PostgresShared shared_;
  const int stopping_;  // an eventfd: readable when the listener is to end
  WorkQueue<WaitingUnit> alone_;
  WorkQueue<WaitingUnit> shared_units_;
  WorkQueue<WaitingUnit> reads_;
  std::atomic<std::chrono::nanoseconds> others_wrote_{std::chrono::nanoseconds::min() / 2};
  std::mutex listener_mutex_;  // on_commit is told of one commit at a time
  std::mutex commits_mutex_;
  Commits commits_;  // guarded by commits_mutex_
  std::vector<std::jthread> threads_;
};

tl::expected<std::unique_ptr<Storage>, std::string> openPostgresStorage(
    const StorageOptions& options, const Clock& clock);

// What was (or with `dry_run` would be) applied. The error is for a person.
tl::expected<MigrationPlan, std::string> migratePostgres(const std::string& url, Time now,
                                                         bool dry_run);

}  // namespace muster
