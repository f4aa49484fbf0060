#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/store/random.h"
#include "models/store/storage.h"

namespace muster::bench {

// The yardstick for the store: the rows the service would write, straight into a database with its
// schema and settings, by prepared statements on one thread. No HTTP, no JSON, no checks.
class RawSqlite {
 public:
  RawSqlite(const std::string& path, Durability durability, std::string data);
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;
  ~RawSqlite();

  // Each is one transaction.
  void insert(int jobs);
  // Ends the jobs of the last call and takes the next ones.
  void completeAndClaim(int jobs);

 private:
  enum Statement : std::size_t {
    kBegin,
    kCommit,
    kInsertJob,
    kInsertPayload,
    kInsertEvent,
    kCount,
    kHead,
    kTake,
    kComplete,
    kStatements
  };
  struct Held {
    std::int64_t seq;
    std::string id;
    std::string data;
  };
  void run(Statement statement);
  void event(std::string_view type, std::int64_t seq, std::string_view job, bool claimed);
  void count(std::int64_t pending, std::int64_t claimed, std::int64_t done);
  void begin();

  sqlite3* db_ = nullptr;
  std::array<sqlite3_stmt*, kStatements> statements_{};
  Random random_;
  IdMaker ids_;
  const std::string data_;
  std::int64_t now_ = 0;
  std::string token_;
  std::vector<Held> held_;
};

}  // namespace muster::bench
