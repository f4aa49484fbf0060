#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "models/store/postgres/postgres_connection.h"
#include "models/store/units.h"

namespace muster {

// What the threads of a storage have in common.
struct PostgresShared {
  PostgresPlace place;
  StorageOptions options;
  const Clock& clock;
  std::int64_t origin;  // of the events written here

  std::mutex mutex = {};
  std::vector<int> backends = {};  // guarded by mutex: those of our own that write
};

// A thread's way to the database: a connection, made anew when it was lost, and the store on it.
class PostgresLink {
 public:
  PostgresLink(PostgresShared& shared, PostgresAccess access);
  ~PostgresLink();

  // Runs units in transactions and sets how each ended: all in one; when that fails, each in one of
  // its own, and those that came into conflict with others several times. What a unit did is either
  // committed or void, except after a connection that was lost at the commit: then the answer is
  // that nobody knows. Gives the events that were committed.
  std::vector<Event> write(std::span<WaitingUnit> units, Isolation isolation);
  void read(WaitingUnit& unit);

  // The connection, for what is no unit; throws StoreError.
  PostgresConnection& connection();
  void disconnect();

 private:
  struct Outcome {
    Status status;
    bool again = false;  // nothing happened, and another run may do better
  };
  Outcome runOnce(std::span<WaitingUnit> units, Isolation isolation, std::vector<Event>& committed);
  Outcome run(std::span<WaitingUnit> units, Isolation isolation, int runs,
              std::vector<Event>& committed);
  // On the connection there is.
  PostgresConnection::Begun begin(Isolation isolation, std::size_t units);
  Time now(const PostgresConnection::Begun& begun) const;

  PostgresShared& shared_;
  const PostgresAccess access_;
  std::unique_ptr<PostgresConnection> connection_;
  std::unique_ptr<Store> store_;
  std::optional<std::chrono::nanoseconds> failed_at_;  // the last try to connect
  std::chrono::nanoseconds planned_at_{0};             // what runs on the connection
};

}  // namespace muster
