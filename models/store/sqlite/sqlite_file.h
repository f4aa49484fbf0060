#pragma once

#include <memory>
#include <string>

#include "models/store/migrator.h"
#include "models/store/sqlite/sqlite_connection.h"
#include "models/store/storage.h"

namespace muster {

// A database file that this process alone serves: a lock on PATH-lock, held while this lives.
class SqliteFile {
 public:
  // Makes missing folders. The error says what is wrong with the path, or who holds the file. A
  // link in place of the file or its lock is an error.
  static tl::expected<SqliteFile, std::string> open(const std::string& path);
  SqliteFile(SqliteFile&& other) noexcept;
  SqliteFile& operator=(SqliteFile&&) = delete;
  ~SqliteFile();

  const std::string& path() const { return path_; }

 private:
  SqliteFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;
};

// A connection for writing, set up and with the schema of this binary; with full durability each
// of its commits waits for the disk. With `dry_run` nothing is
// changed. The plan says what was (or would be) applied.
struct OpenedSqlite {
  std::unique_ptr<SqliteConnection> connection;
  MigrationPlan plan;
};
tl::expected<OpenedSqlite, std::string> openSqlite(const std::string& path, Durability durability,
                                                   Time now, bool dry_run);

}  // namespace muster
