#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/event.h"
#include "models/job.h"
#include "models/pool.h"
#include "models/store/random.h"
#include "models/store/sql/sql_connection.h"

namespace muster {

// The jobs of a pool that are alike to the claim.
struct Lane {
  std::int64_t id;
  std::string tenant;     // empty: none
  std::string placement;  // JSON, empty: anywhere
  Placement rules;        // the same, decoded
};

// What the service decides about its store as a whole.
struct StoreRules {
  PoolSettings pool_defaults = PoolSettings::builtIn();
  bool auto_create_pools = true;
  bool strict_workers = false;
  std::string region = "default";  // of workers that name none
  std::string host;                // where this node launches workers
  std::string node;                // its id; empty: the only node of this store
  // The templates of the configuration with their versions; a pool can name no other.
  std::map<std::string, std::string> templates;
};

// What the parts of a Store share while a unit of work runs: the connection, the time, the events
// and the counters that are written with it.
class Session {
 public:
  Session(SqlConnection& connection, const StoreRules& store_rules)
      : db(connection),
        rules(store_rules),
        ids([this](std::uint8_t* out, std::size_t size) { random.bytes(out, size); }) {}

  SqlConnection& db;
  const StoreRules& rules;
  Random random;
  IdMaker ids;
  Time now;
  Time due_until;  // jobs due or expired by then are already promoted or ended

  // Writes the event; it reaches subscribers after the commit.
  void emit(Event event);

  // A job of the lane came into being, moved between states, or was removed.
  void countNew(std::int64_t lane, JobStatus status) { delta(lane)[index(status)] += 1; }
  void countMove(std::int64_t lane, JobStatus from, JobStatus to) {
    delta(lane)[index(from)] -= 1;
    delta(lane)[index(to)] += 1;
  }
  void countGone(std::int64_t lane, JobStatus status) { delta(lane)[index(status)] -= 1; }

  // Writes the counters; before reading them and before the commit.
  void flushCounts();

  // After a rollback: what was emitted and counted did not happen.
  void forget();
  std::vector<Event> takeEvents();

  // Pools as they were last decoded, with the text they were decoded from; good while text and
  // version in the store are the same.
  struct CachedPool {
    std::string settings;
    std::shared_ptr<const Pool> pool;
  };
  std::unordered_map<std::string, CachedPool> pool_cache;
  // The lanes of pools as the one session that writes knows them; a session that reads, or one of
  // several that write, must not use them.
  std::unordered_map<std::string, std::vector<Lane>> lanes;

 private:
  struct Delta {
    std::int64_t lane;
    std::array<std::int64_t, kJobStatuses> by_status{};
  };
  static std::size_t index(JobStatus status) { return static_cast<std::size_t>(status); }
  std::array<std::int64_t, kJobStatuses>& delta(std::int64_t lane);

  std::vector<Delta> deltas_;  // not written yet
  std::vector<Event> events_;  // of this transaction
};

}  // namespace muster
