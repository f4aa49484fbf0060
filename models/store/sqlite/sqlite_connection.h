#pragma once

#include <sqlite3.h>

#include <array>
#include <memory>
#include <string>
#include <unordered_map>

#include "models/store/sql/sql_connection.h"

namespace muster {

enum class SqliteAccess { kReadWrite, kReadOnly };

// A connection to an SQLite file, or to a private database in memory when the path is ":memory:".
class SqliteConnection : public SqlConnection {
 public:
  SqliteConnection(const std::string& path, SqliteAccess access);
  ~SqliteConnection() override;

  void script(const std::string& sql) override;
  bool hasTable(const std::string& name) override;
  bool hasPeers() const override { return false; }
  std::vector<std::int64_t> reserveNumbers(std::size_t count) override;

  // How many rows were changed so far.
  std::int64_t changes() const;
  // Opened for writing, but the file does not allow it.
  bool isReadOnly() const;

  // Transactions of the group commit.
  void begin();
  void commit();
  // Never throws: what is left of the transaction is void in any case.
  void rollback() noexcept;

 private:
  class Statement;
  SqlRows& start(Sql sql, std::span<const SqlValue> values) override;
  std::int64_t run(Sql sql, std::span<const SqlValue> values) override;
  void runLater(Sql sql, std::span<const SqlValue> values) override { run(sql, values); }
  std::int64_t runInsert(Sql sql, std::span<SqlValue> values) override;
  Statement& prepare(Sql sql);
  [[noreturn]] void raise(const std::string& doing) const;

  sqlite3* db_ = nullptr;
  std::unordered_map<const char*, std::unique_ptr<Statement>> statements_;
};

}  // namespace muster
