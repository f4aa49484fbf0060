#include "bench/raw_sqlite.h"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

#include "models/store/sqlite/sqlite_file.h"

namespace muster::bench {
namespace {

constexpr std::string_view kPool = "bench";
constexpr std::string_view kWorker = "bench-0";
constexpr std::int64_t kLane = 1;
constexpr std::int64_t kLeaseMs = 3'600'000;

// Settings of a connection that the service chooses, as statements that tell them.
constexpr std::array kSettings{"PRAGMA synchronous", "PRAGMA cache_size",
                               "PRAGMA temp_store",  "PRAGMA wal_autocheckpoint",
                               "PRAGMA mmap_size",   "PRAGMA journal_size_limit"};

// What the service would run, in the order of RawSqlite::Statement.
constexpr std::array kTexts{
    "BEGIN IMMEDIATE",
    "COMMIT",
    "INSERT INTO jobs (id, lane_id, pool_id, status, delayed, priority, attempts, max_retries, "
    "crashes, version, available_at, created_at, cancel_requested) "
    "VALUES (?1, ?2, ?3, 'pending', 0, 0, 0, 3, 0, 1, ?4, ?4, 0)",
    "INSERT INTO job_payloads (seq, data) VALUES (?1, ?2)",
    "INSERT INTO events (at, type, pool_id, job_id, worker_id, attempt, job_seq) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    "INSERT INTO lane_counts (lane_id, writer, pending, claimed, done, poisoned, cancelled) "
    "VALUES (?1, 0, ?2, ?3, ?4, 0, 0) ON CONFLICT (lane_id, writer) DO UPDATE SET "
    "pending = pending + excluded.pending, claimed = claimed + excluded.claimed, "
    "done = done + excluded.done",
    "SELECT j.seq, j.id, p.data FROM jobs j JOIN job_payloads p ON p.seq = j.seq "
    "WHERE j.lane_id = ?1 AND j.status = 'pending' AND j.delayed = 0 "
    "ORDER BY j.priority DESC, j.seq LIMIT ?2",
    "UPDATE jobs SET status = 'claimed', attempts = attempts + 1, claimed_by = ?2, "
    "claimed_at = ?3, lease_token = ?4, lease_expires_at = ?5, version = version + 1 "
    "WHERE seq = ?1 AND status = 'pending'",
    "UPDATE jobs SET status = 'done', finished_at = ?3, lease_expires_at = NULL, "
    "version = version + 1 WHERE seq = ?1 AND status = 'claimed' AND lease_token = ?2"};

void bind(sqlite3_stmt* statement, int at, std::int64_t value) {
  sqlite3_bind_int64(statement, at, value);
}
void bind(sqlite3_stmt* statement, int at, std::string_view value) {
  sqlite3_bind_text(statement, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
}
template <class... Values>
void bindAll(sqlite3_stmt* statement, const Values&... values) {
  int at = 0;
  (bind(statement, ++at, values), ...);
}

std::int64_t millisNow() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// Makes the database as the service does; returns the settings of the service's connection.
std::string prepareDatabase(const std::string& path, Durability durability) {
  auto opened = openSqlite(path, durability, fromMillis(millisNow()), false);
  if (!opened) throw std::runtime_error(opened.error());
  std::string settings;
  for (const char* text : kSettings) {
    auto rows = opened->connection->query(Sql{text});
    if (rows.next()) settings += fmt::format("{} = {};", text, rows->integer(0));
  }
  return settings;
}

}  // namespace

RawSqlite::RawSqlite(const std::string& path, Durability durability, std::string data)
    : ids_([this](std::uint8_t* out, std::size_t size) { random_.bytes(out, size); }),
      data_(std::move(data)) {
  static_assert(kTexts.size() == kStatements);
  const std::string settings = prepareDatabase(path, durability);
  if (sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr) !=
          SQLITE_OK ||
      sqlite3_exec(db_, settings.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error(sqlite3_errmsg(db_));
  }
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    if (sqlite3_prepare_v3(db_, kTexts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements_[i],
                           nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(db_));
    }
  }
}

RawSqlite::~RawSqlite() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

void RawSqlite::run(Statement statement) {
  if (sqlite3_step(statements_[statement]) != SQLITE_DONE) {
    throw std::runtime_error(sqlite3_errmsg(db_));
  }
  sqlite3_reset(statements_[statement]);
}

void RawSqlite::begin() {
  run(kBegin);
  now_ = millisNow();
}

void RawSqlite::event(std::string_view type, std::int64_t seq, std::string_view job, bool claimed) {
  sqlite3_stmt* statement = statements_[kInsertEvent];
  bindAll(statement, now_, type, kPool, job);
  if (claimed) {
    bind(statement, 5, kWorker);
    bind(statement, 6, 1);
  } else {
    sqlite3_bind_null(statement, 5);
    sqlite3_bind_null(statement, 6);
  }
  bind(statement, 7, seq);
  run(kInsertEvent);
}

void RawSqlite::count(std::int64_t pending, std::int64_t claimed, std::int64_t done) {
  bindAll(statements_[kCount], kLane, pending, claimed, done);
  run(kCount);
}

void RawSqlite::insert(int jobs) {
  begin();
  for (int i = 0; i < jobs; ++i) {
    const std::string id = ids_.next(fromMillis(now_));
    bindAll(statements_[kInsertJob], std::string_view(id), kLane, kPool, now_);
    run(kInsertJob);
    const std::int64_t seq = sqlite3_last_insert_rowid(db_);
    bindAll(statements_[kInsertPayload], seq, std::string_view(data_));
    run(kInsertPayload);
    event("job.created", seq, id, false);
  }
  count(jobs, 0, 0);
  run(kCommit);
}

void RawSqlite::completeAndClaim(int jobs) {
  begin();
  const auto done = static_cast<std::int64_t>(held_.size());
  for (const Held& held : held_) {
    bindAll(statements_[kComplete], held.seq, std::string_view(token_), now_);
    run(kComplete);
    if (sqlite3_changes(db_) != 1) throw std::runtime_error("a job was not held");
    event("job.completed", held.seq, held.id, true);
  }
  held_.clear();

  sqlite3_stmt* head = statements_[kHead];
  bindAll(head, kLane, std::int64_t{jobs});
  while (sqlite3_step(head) == SQLITE_ROW) {
    held_.push_back({sqlite3_column_int64(head, 0),
                     reinterpret_cast<const char*>(sqlite3_column_text(head, 1)),
                     reinterpret_cast<const char*>(sqlite3_column_text(head, 2))});
  }
  sqlite3_reset(head);
  token_ = random_.token();
  for (const Held& held : held_) {
    bindAll(statements_[kTake], held.seq, kWorker, now_, std::string_view(token_), now_ + kLeaseMs);
    run(kTake);
    event("job.claimed", held.seq, held.id, true);
  }
  const auto claimed = static_cast<std::int64_t>(held_.size());
  count(-claimed, claimed - done, done);
  run(kCommit);
}

}  // namespace muster::bench
