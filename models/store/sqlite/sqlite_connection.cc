#include "models/store/sqlite/sqlite_connection.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/store/sql/list_markers.h"

namespace muster {
namespace {

constexpr int kBusyTimeoutMs = 5000;

StoreError::Kind kindOf(int code) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return StoreError::Kind::kBusy;
    case SQLITE_FULL:
      return StoreError::Kind::kFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return StoreError::Kind::kReadOnly;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return StoreError::Kind::kCorrupt;
    default:
      return StoreError::Kind::kOther;
  }
}

// SQLite takes $1 for a name and numbers names by their first appearance; ?1 is the number.
std::string numbered(std::string_view sql) {
  std::string text = withListMarkers(sql, [](const ListMarker& list) {
    std::string columns = "value AS c0";
    if (list.kind == ListMarker::Kind::kRows) {
      columns = "value->>0 AS c0";
      for (int i = 1; i < list.columns; ++i) columns += fmt::format(", value->>{} AS c{}", i, i);
    }
    return fmt::format("(SELECT {} FROM json_each({}))", columns, list.parameter);
  });
  std::replace(text.begin(), text.end(), '$', '?');
  return text;
}

constexpr Sql kSqliteHasTable{"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1"};
constexpr Sql kSqliteBegin{"BEGIN IMMEDIATE"};
constexpr Sql kSqliteCommit{"COMMIT"};

// Before the first connection of the process. Counting memory takes a lock for each allocation.
void configureOnce() {
  static const int done = [] { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }();
  static_cast<void>(done);
}

}  // namespace

class SqliteConnection::Statement final : public SqlRows {
 public:
  Statement(const SqliteConnection& owner, Sql sql) : owner_(owner) {
    const std::string text = numbered(sql.text);
    if (sqlite3_prepare_v3(owner.db_, text.c_str(), static_cast<int>(text.size() + 1),
                           SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK) {
      owner.raise(fmt::format("preparing '{}'", sql.text));
    }
  }
  ~Statement() { sqlite3_finalize(statement_); }

  // `lasting` texts outlive the statement's run and need no copy.
  void bind(std::span<const SqlValue> values, bool lasting) {
    const auto lifetime = lasting ? SQLITE_STATIC : SQLITE_TRANSIENT;
    int index = 0;
    for (const SqlValue& value : values) {
      ++index;
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        sqlite3_bind_int64(statement_, index, *number);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        sqlite3_bind_text64(statement_, index, text->data() != nullptr ? text->data() : "",
                            text->size(), lifetime, SQLITE_UTF8);
      } else if (const auto* real = std::get_if<double>(&value)) {
        sqlite3_bind_double(statement_, index, *real);
      } else {
        sqlite3_bind_null(statement_, index);
      }
    }
  }

  bool next() override {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    owner_.raise("running a statement");
  }
  bool isNull(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  std::int64_t integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  double real(int column) const override { return sqlite3_column_double(statement_, column); }
  std::string_view text(int column) const override {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes != nullptr ? std::string_view(bytes, size) : std::string_view();
  }
  void close() override { sqlite3_reset(statement_); }

 private:
  const SqliteConnection& owner_;
  sqlite3_stmt* statement_ = nullptr;
};

SqliteConnection::SqliteConnection(const std::string& path, SqliteAccess access) {
  configureOnce();
  const int flags = SQLITE_OPEN_NOMUTEX |
                    (access == SqliteAccess::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                        : SQLITE_OPEN_READONLY);
  if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
    const std::string why = db_ != nullptr ? sqlite3_errmsg(db_) : "out of memory";
    const auto kind = kindOf(db_ != nullptr ? sqlite3_errcode(db_) : SQLITE_NOMEM);
    sqlite3_close(db_);
    throw StoreError(kind, fmt::format("cannot open {}: {}", path, why));
  }
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_LOOKASIDE, nullptr, 1024, 512);
  sqlite3_busy_timeout(db_, kBusyTimeoutMs);
}

std::int64_t SqliteConnection::changes() const { return sqlite3_total_changes64(db_); }

bool SqliteConnection::isReadOnly() const { return sqlite3_db_readonly(db_, "main") == 1; }

SqliteConnection::~SqliteConnection() {
  statements_.clear();
  sqlite3_close(db_);
}

void SqliteConnection::raise(const std::string& doing) const {
  const int code = sqlite3_extended_errcode(db_);
  throw StoreError(kindOf(code),
                   fmt::format("{}: {} (SQLite code {})", doing, sqlite3_errmsg(db_), code));
}

void SqliteConnection::script(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    raise("running a script");
  }
}

bool SqliteConnection::hasTable(const std::string& name) {
  return query(kSqliteHasTable, name).next();
}

SqliteConnection::Statement& SqliteConnection::prepare(Sql sql) {
  auto& statement = statements_[sql.text];
  if (!statement) statement = std::make_unique<Statement>(*this, sql);
  return *statement;
}

SqlRows& SqliteConnection::start(Sql sql, std::span<const SqlValue> values) {
  Statement& statement = prepare(sql);
  statement.bind(values, false);
  return statement;
}

std::int64_t SqliteConnection::run(Sql sql, std::span<const SqlValue> values) {
  Statement& statement = prepare(sql);
  statement.bind(values, true);
  SqlCursor cursor(statement);
  while (cursor.next()) {
  }
  return sqlite3_changes64(db_);
}

std::int64_t SqliteConnection::runInsert(Sql sql, std::span<SqlValue> values) {
  run(sql, values);  // with NULL for its number a row gets the next
  return sqlite3_last_insert_rowid(db_);
}

std::vector<std::int64_t> SqliteConnection::reserveNumbers(std::size_t) {
  throw StoreError(StoreError::Kind::kOther, "SQLite numbers rows when they are written");
}

void SqliteConnection::begin() { run(kSqliteBegin, {}); }
void SqliteConnection::commit() { run(kSqliteCommit, {}); }
void SqliteConnection::rollback() noexcept {
  sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}
}  // namespace muster
