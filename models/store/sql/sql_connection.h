#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/ids.h"
#include "models/time.h"

namespace muster {

// A statement, written once for every database with $1-style parameters. Where databases differ,
// the text holds a marker that each connection replaces when it prepares the statement (T is the
// name of a table there):
//   /*for_update T*/    lock the rows found, waiting for those another transaction holds
//   /*skip_locked T*/   the same, passing over those another transaction holds
//   /*lock_by T.C*/     the last of a SELECT: the same in the order of the column C of T, so that
//                       those who lock several rows do not wait in a circle
//   /*rows $N K*/       a JSON array of arrays of K whole numbers, as a table with columns c0, c1 …
//   /*numbers $N*/      a JSON array of whole numbers, as a table with the column c0
//   /*texts $N*/        the same of texts
// The text must be a literal: connections keep the prepared statement under its address.
struct Sql {
  const char* text;
};

// The store cannot be used now; the transaction is void and may be tried again.
class StoreError : public std::runtime_error {
 public:
  enum class Kind {
    kBusy,
    kConflict,  // with another transaction: another run may do better
    kLost,      // the connection; nothing is known of a commit that was under way
    kFull,
    kReadOnly,
    kCorrupt,
    kOther
  };
  StoreError(Kind what_kind, const std::string& what) : std::runtime_error(what), kind(what_kind) {}
  const Kind kind;
};

using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string_view>;

inline SqlValue sqlValue(std::int64_t value) { return value; }
inline SqlValue sqlValue(int value) { return static_cast<std::int64_t>(value); }
inline SqlValue sqlValue(bool value) { return static_cast<std::int64_t>(value); }
inline SqlValue sqlValue(double value) { return value; }
inline SqlValue sqlValue(std::string_view value) { return value; }
inline SqlValue sqlValue(const std::string& value) { return std::string_view(value); }
inline SqlValue sqlValue(const char* value) { return std::string_view(value); }
inline SqlValue sqlValue(Time value) { return toMillis(value); }
template <class Tag>
SqlValue sqlValue(const Id<Tag>& id) {
  return std::string_view(id.str());
}
template <class T>
SqlValue sqlValue(const std::optional<T>& value) {
  return value ? sqlValue(*value) : SqlValue{};
}
// Text that is stored as NULL when it is empty.
inline SqlValue orNull(std::string_view value) {
  return value.empty() ? SqlValue{} : SqlValue(value);
}
inline SqlValue sqlValue(SqlValue value) { return value; }

// The rows of a running statement. Texts are valid until the next call of next().
class SqlRows {
 public:
  virtual bool next() = 0;
  virtual bool isNull(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string_view text(int column) const = 0;
  virtual void close() = 0;

  std::string string(int column) const { return std::string(text(column)); }
  Time time(int column) const { return fromMillis(integer(column)); }
  std::optional<Time> maybeTime(int column) const {
    return isNull(column) ? std::nullopt : std::optional(time(column));
  }
  std::optional<std::int64_t> maybeInteger(int column) const {
    return isNull(column) ? std::nullopt : std::optional(integer(column));
  }

 protected:
  ~SqlRows() = default;
};

// Frees the statement when it goes out of scope.
class SqlCursor {
 public:
  explicit SqlCursor(SqlRows& rows) : rows_(&rows) {}
  SqlCursor(const SqlCursor&) = delete;
  SqlCursor& operator=(const SqlCursor&) = delete;
  ~SqlCursor() { rows_->close(); }
  bool next() { return rows_->next(); }
  const SqlRows* operator->() const { return rows_; }
  const SqlRows& operator*() const { return *rows_; }

 private:
  SqlRows* rows_;
};

// One connection to a database. Not thread-safe. Every method throws StoreError.
class SqlConnection {
 public:
  virtual ~SqlConnection() = default;

  // A statement must not be run again while its cursor is open.
  template <class... Args>
  SqlCursor query(Sql sql, const Args&... args) {
    const std::array<SqlValue, sizeof...(Args)> values{sqlValue(args)...};
    return SqlCursor(start(sql, values));
  }
  // How many rows were changed.
  template <class... Args>
  std::int64_t execute(Sql sql, const Args&... args) {
    const std::array<SqlValue, sizeof...(Args)> values{sqlValue(args)...};
    return run(sql, values);
  }
  // Runs it in its turn without waiting for the outcome; what goes wrong shows at the next
  // statement that is waited for, or at the commit.
  template <class... Args>
  void post(Sql sql, const Args&... args) {
    const std::array<SqlValue, sizeof...(Args)> values{sqlValue(args)...};
    runLater(sql, values);
  }
  // The same with values whose number is known when it runs.
  void postRow(Sql sql, std::span<const SqlValue> values) { runLater(sql, values); }

  // Inserts one row and gives the number the database chose for it, which rises: $1 in the
  // statement, so that `args` begin with $2. Does not wait for the outcome either.
  template <class... Args>
  std::int64_t insert(Sql sql, const Args&... args) {
    std::array<SqlValue, sizeof...(Args) + 1> values{SqlValue{}, sqlValue(args)...};
    return runInsert(sql, values);
  }

  // Statements without parameters, several at once, not kept.
  virtual void script(const std::string& sql) = 0;
  virtual bool hasTable(const std::string& name) = 0;

  // Other connections write to the same database at the same time.
  virtual bool hasPeers() const = 0;
  // So many numbers for rows, rising, higher than any before. Only where there are peers: elsewhere
  // the number of a row is known when it is there.
  virtual std::vector<std::int64_t> reserveNumbers(std::size_t count) = 0;

 private:
  virtual SqlRows& start(Sql sql, std::span<const SqlValue> values) = 0;
  virtual std::int64_t run(Sql sql, std::span<const SqlValue> values) = 0;
  virtual void runLater(Sql sql, std::span<const SqlValue> values) = 0;
  // Sets values[0].
  virtual std::int64_t runInsert(Sql sql, std::span<SqlValue> values) = 0;
};

}  // namespace muster
