#include "models/store/sqlite/sqlite_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "models/store/sqlite/sqlite_privacy.h"

namespace muster {
namespace {

// What a person can do about a database that does not open.
std::string explain(const std::string& path, const StoreError& error) {
  switch (error.kind) {
    case StoreError::Kind::kCorrupt:
      return fmt::format(
          "{} is damaged or not an SQLite database ({}). Nothing was changed. Restore a backup, "
          "or move the file away to begin with an empty store",
          path, error.what());
    case StoreError::Kind::kReadOnly:
      return fmt::format(
          "{} cannot be written ({}). Check the owner and mode of the file and its "
          "folder",
          path, error.what());
    case StoreError::Kind::kFull:
      return fmt::format("the disk of {} is full ({})", path, error.what());
    case StoreError::Kind::kBusy:
      return fmt::format("{} is locked by another program ({})", path, error.what());
    case StoreError::Kind::kConflict:
    case StoreError::Kind::kLost:
    case StoreError::Kind::kOther:
      break;
  }
  return fmt::format("{} cannot be used: {}", path, error.what());
}

}  // namespace

tl::expected<SqliteFile, std::string> SqliteFile::open(const std::string& path) {
  if (path == ":memory:") return SqliteFile(path, -1);
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code fault;
  if (!folder.empty()) std::filesystem::create_directories(folder, fault);
  if (fault) {
    return tl::unexpected(
        fmt::format("cannot make the folder {}: {}", folder.string(), fault.message()));
  }
  if (const auto privacy = sqlitePrivacy(path); !privacy.refusal.empty()) {
    return tl::unexpected(fmt::format("{}; {}", privacy.refusal, privacy.remedy));
  }
  const std::string lock_path = path + "-lock";
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock < 0 && errno == ELOOP) {
    return tl::unexpected(fmt::format("{} is a link; remove it", lock_path));
  }
  if (lock < 0) {
    return tl::unexpected(fmt::format("cannot write {}: {}", lock_path, std::strerror(errno)));
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return tl::unexpected(fmt::format(
        "another Muster serves {}; one process serves an SQLite file. Stop it, or use another "
        "--store",
        path));
  }
  return SqliteFile(path, lock);
}

SqliteFile::SqliteFile(SqliteFile&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

SqliteFile::~SqliteFile() {
  if (lock_ >= 0) ::close(lock_);
}

tl::expected<OpenedSqlite, std::string> openSqlite(const std::string& path, Durability durability,
                                                   Time now, bool dry_run) {
  try {
    OpenedSqlite opened;
    const bool exists = path == ":memory:" || std::filesystem::exists(path);
    if (dry_run && !exists) {
      opened.connection = std::make_unique<SqliteConnection>(":memory:", SqliteAccess::kReadWrite);
    } else {
      opened.connection = std::make_unique<SqliteConnection>(
          path, dry_run ? SqliteAccess::kReadOnly : SqliteAccess::kReadWrite);
    }
    SqliteConnection& db = *opened.connection;
    if (!dry_run) {
      if (db.isReadOnly()) {
        throw StoreError(StoreError::Kind::kReadOnly, "the file is read-only");
      }
      db.script("PRAGMA journal_mode = WAL");
      db.script(durability == Durability::kFull ? "PRAGMA synchronous = FULL"
                                                : "PRAGMA synchronous = NORMAL");
      // Larger is slower: each commit may walk the whole cache (pcache1Truncate), and what is not
      // in it is in the system's.
      db.script("PRAGMA cache_size = -16384");
      db.script("PRAGMA temp_store = MEMORY");
      db.script("PRAGMA wal_autocheckpoint = 4000");
      db.script("PRAGMA journal_size_limit = 67108864");
    }
    auto plan = planMigrations(db, kSqliteMigrations);
    if (!plan) return tl::unexpected(fmt::format("{}: {}", path, plan.error()));
    opened.plan = *plan;
    if (!dry_run) applyMigrations(db, kSqliteMigrations, opened.plan, now);
    return opened;
  } catch (const StoreError& error) {
    return tl::unexpected(explain(path, error));
  }
}

}  // namespace muster
