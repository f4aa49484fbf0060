#include "app/worker/host_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "app/worker/file_io.h"

namespace muster {
namespace {

namespace files = std::filesystem;

constexpr const char* kLockName = "lock";

// A command makes the folder of its outputs itself, and its worker locks it within a heartbeat. A
// folder that was never locked belongs to nobody when that is long past.
constexpr std::int64_t kNeverLockedSeconds = 86'400;

std::string textIn(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string text(256, '\0');
  const ssize_t count = file.isOpen() ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return text.substr(0, text.find('\n'));
}

std::string valueIn(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// The name is given to a file that is whole, and to one only: whoever comes second keeps the first.
tl::expected<void, std::string> writeId(const std::string& folder) {
  const std::string id = folder + "/id";
  if (::access(id.c_str(), F_OK) == 0) return {};
  if (::chmod(folder.c_str(), 0700) != 0) return tl::unexpected(fileFault(folder, errno));
  std::random_device random("/dev/urandom");
  const std::string text =
      fmt::format("{:08x}{:08x}{:08x}{:08x}\n", random(), random(), random(), random());
  const std::string draft = fmt::format("{}.{:08x}", id, random());
  {
    const Descriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.isOpen()) return tl::unexpected(fileFault(draft, errno));
    if (const int error = writeAll(file.get(), text); error != 0) {
      return tl::unexpected(fileFault(draft, error));
    }
    ::fsync(file.get());
  }
  const bool linked = ::link(draft.c_str(), id.c_str()) == 0 || errno == EEXIST;
  const int error = errno;
  ::unlink(draft.c_str());
  if (!linked) return tl::unexpected(fileFault(id, error));
  return {};
}

// Nothing while somebody has the folder.
Descriptor lockAbandoned(const std::string& folder, Time now) {
  Descriptor lock(::open((folder + "/" + kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (lock.isOpen()) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) lock.close();
    return lock;
  }
  struct stat seen {};
  if (errno != ENOENT || ::stat(folder.c_str(), &seen) != 0) return lock;
  if (toMillis(now) / 1000 - seen.st_mtime < kNeverLockedSeconds) return lock;
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

tl::expected<void, std::string> HostFolder::prepare() {
  if (prepared_) return {};
  std::error_code error;
  files::create_directories(files::path(path_).parent_path(), error);
  if (!error && ::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) {
    error = std::error_code(errno, std::generic_category());
  }
  for (const char* name : {"cache", "jobs", "resources"}) {
    const std::string below = path_ + "/" + name;
    if (!error && ::mkdir(below.c_str(), 0700) != 0 && errno != EEXIST) {
      error = std::error_code(errno, std::generic_category());
    }
  }
  if (error) return tl::unexpected(fmt::format("{}: {}", path_, error.message()));
  if (auto made = writeId(path_); !made) return made;
  prepared_ = true;
  return {};
}

void HostFolder::sweepJobs(Time now) const {
  std::error_code error;
  for (files::directory_iterator it(path_ + "/jobs", error), end; !error && it != end;
       it.increment(error)) {
    const std::string folder = it->path().string();
    if (const Descriptor lock = lockAbandoned(folder, now); lock.isOpen()) {
      std::error_code ignored;  // a worker that goes away sweeps too, and the next one does
      files::remove_all(folder, ignored);
    }
  }
}

void HostFolder::trimCache(std::uint64_t most_bytes) const {
  struct Cached {
    std::string path;
    std::int64_t used_at;
    std::uint64_t size;
  };
  std::vector<Cached> found;
  std::uint64_t total = 0;
  std::error_code error;
  for (files::directory_iterator it(path_ + "/cache", error), end; !error && it != end;
       it.increment(error)) {
    struct stat seen {};
    if (::lstat(it->path().c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) continue;
    total += static_cast<std::uint64_t>(seen.st_size);
    if (seen.st_nlink > 1) continue;
    found.push_back({it->path().string(), seen.st_mtime, static_cast<std::uint64_t>(seen.st_size)});
  }
  std::sort(found.begin(), found.end(),
            [](const Cached& a, const Cached& b) { return a.used_at < b.used_at; });
  for (const Cached& cached : found) {
    if (total <= most_bytes) return;
    const Descriptor file(::open(cached.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    // What is being fetched is locked.
    if (!file.isOpen() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (::unlink(cached.path.c_str()) == 0) total -= cached.size;
  }
}

std::string hostNameOr(const std::string& named) {
  if (!named.empty()) return named;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string folderId(const std::string& path) { return textIn(path + "/id"); }

std::string hostFolderPath(const std::string& named, const std::string& told,
                           const std::string& told_id,
                           const std::map<std::string, std::string>& environment) {
  std::error_code error;
  if (!named.empty()) return files::absolute(named, error).lexically_normal().string();
  if (!told.empty()) {
    const std::string id = folderId(told);
    if (!id.empty() && (told_id.empty() || id == told_id)) return told;
  }
  if (const auto state = valueIn(environment, "XDG_STATE_HOME"); state.starts_with('/')) {
    return state + "/muster";
  }
  if (const auto home = valueIn(environment, "HOME"); home.starts_with('/')) {
    return home + "/.local/state/muster";
  }
  const auto temporary = valueIn(environment, "TMPDIR");
  return fmt::format("{}/muster-{}", temporary.starts_with('/') ? temporary : "/tmp", ::getuid());
}

tl::expected<Descriptor, std::string> lockFolder(const std::string& path) {
  const std::string name = path + "/" + kLockName;
  while (true) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return tl::unexpected(fileFault(path, errno));
    }
    Descriptor lock(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.isOpen() && errno == ENOENT) continue;  // swept in between
    if (!lock.isOpen()) return tl::unexpected(fileFault(name, errno));
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      // A sweeper holds it for a moment, and takes the folder away; another worker keeps it.
      if (errno == EWOULDBLOCK) return tl::unexpected(path + ": another worker has it");
      return tl::unexpected(fileFault(name, errno));
    }
    struct stat held {
    }, there{};
    if (::fstat(lock.get(), &held) == 0 && ::stat(name.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino) {
      return lock;
    }
  }
}

}  // namespace muster
