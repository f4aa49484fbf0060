#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "models/store/resource_probe.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store/sqlite/sqlite_privacy.h"
#include "models/store/store_probe.h"
#include "models/store/unsettled_probe.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

// A file beside the database that is gone at the end, also when somebody presses Ctrl-C meanwhile.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& folder) : path_((folder / ".muster-doctor-XXXXXX")) {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, number);
    ::pthread_sigmask(SIG_BLOCK, &ends, &before_);
    fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
    error_ = errno;
  }
  ~TemporaryFile() {
    if (fd_ >= 0) {
      ::unlink(path_.c_str());
      ::close(fd_);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool isOpen() const { return fd_ >= 0; }
  std::string error() const { return std::strerror(error_); }
  // Over the same place, as the log of a service that has run for a while.
  void writeThrough() {
    std::array<char, 4096> page{};
    if (::pwrite(fd_, page.data(), page.size(), 0) != static_cast<ssize_t>(page.size()) ||
        ::fdatasync(fd_) != 0) {
      throw StoreError(StoreError::Kind::kOther,
                       fmt::format("a write beside it fails: {}", std::strerror(errno)));
    }
  }

 private:
  std::string path_;
  sigset_t before_{};
  int fd_ = -1;
  int error_ = 0;
};

// Whether a service holds the lock. Asking means to hold it for a moment, shared with others who
// ask.
bool isServed(const std::string& path) {
  const int lock = ::open((path + "-lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (lock < 0) return false;
  const bool held = ::flock(lock, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(lock);
  return held;
}

// SqliteFile::open makes missing folders, where it can.
void probeMissingFolder(fs::path folder, StoreFindings& found) {
  const std::string wanted = folder.string();
  while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  found.store = fmt::format("the folder {} does not exist", wanted);
  if (fs::is_directory(folder) && ::faccessat(AT_FDCWD, folder.c_str(), W_OK, AT_EACCESS) == 0) {
    found.hint = "the service makes it at its start; if data should be there, correct `store`";
    return;
  }
  found.fault = fmt::format("{}, and cannot be made in {}", found.store, folder.string());
  found.remedy = "make it and give it to the service's user, or correct `store`";
}

}  // namespace

StoreFindings probeSqlite(const std::string& path, const Clock& clock,
                          const BlobFolderView* blobs) {
  StoreFindings found;
  if (path == ":memory:") {
    found.store = "in memory: nothing is left when the service stops";
    return found;
  }
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder)) {
    probeMissingFolder(folder, found);
    return found;
  }
  const SqlitePrivacy privacy = sqlitePrivacy(path);
  if (!privacy.refusal.empty()) {
    found.fault = privacy.refusal;
    found.remedy = privacy.remedy;
    return found;
  }
  found.exposure = privacy.exposure;
  found.exposure_remedy = privacy.remedy;
  try {
    TemporaryFile file(folder);
    if (!file.isOpen()) {
      found.fault =
          fmt::format("the folder {} cannot be written: {}", folder.string(), file.error());
      found.remedy = "give it to the service's user; SQLite writes beside the database too";
      return found;
    }
    found.flush = medianDuration(clock, [&file] { file.writeThrough(); });
  } catch (const StoreError& error) {
    found.fault = fmt::format("{}: {}", path, error.what());
    found.remedy = "look at the disk and its file system";
    return found;
  }
  const bool exists = fs::exists(path);
  const bool served = exists && isServed(path);
  found.store = fmt::format("{}{}", path,
                            served    ? ", a service is at work with it"
                            : !exists ? ", which the service makes at its start"
                                      : "");
  if (exists && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    found.fault = fmt::format("{} cannot be written: {}", path, std::strerror(errno));
    found.remedy = "give the file to the service's user";
    return found;
  }
  try {
    // Reads only, as somebody else may be writing, or a log is left that is not ours to take in.
    // Where there is no log, whoever opens it for writing tidies up behind itself.
    const bool only_read = served || fs::exists(path + "-wal");
    SqliteConnection db(exists ? path : ":memory:",
                        only_read ? SqliteAccess::kReadOnly : SqliteAccess::kReadWrite);
    found.migrations = planMigrations(db, kSqliteMigrations);
    if (hasAllMigrations(found)) {
      found.unsettled = probeUnsettled(db, clock.now());
      if (blobs != nullptr) found.resources = probeResources(db, clock.now(), *blobs);
    }
  } catch (const StoreError& error) {
    found.fault = fmt::format("{} cannot be read: {}", path, error.what());
    found.remedy = "restore a backup, or move the file away to begin with an empty store";
  }
  return found;
}

}  // namespace muster
