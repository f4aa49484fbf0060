#include "app/worker/content_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "app/worker/descriptor.h"
#include "app/worker/file_io.h"

namespace muster {
namespace {

constexpr mode_t kReadOnly = 0444;

auto cannotWriteCache(const std::string& path) {
  return tl::unexpected(Refusal{422, "cannot_write", fileFault(path, errno), {}});
}

auto toldToStop() { return tl::unexpected(Refusal{422, "stopped", "stopped", {}}); }

// Marks it as used now; false when it is not there.
bool isCached(const std::string& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

// The same file is still under that name: nobody has published or removed it.
bool isThere(const Descriptor& file, const std::string& path) {
  struct stat held {
  }, there{};
  return ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_ino == there.st_ino && held.st_dev == there.st_dev;
}

tl::expected<void, Refusal> fill(const AskService& ask, const std::string& path,
                                 const std::string& name, const Descriptor& file,
                                 const std::string& sha256, const CacheWait& wait) {
  const auto content =
      downloadInto(ask, path, file.get(), sha256, [&wait](auto, auto) { return !wait.stop(); });
  if (!content) return tl::unexpected(content.error());
  if (::fchmod(file.get(), kReadOnly) != 0) return cannotWriteCache(name);
  return {};
}

}  // namespace

tl::expected<std::string, Refusal> fetchIntoCache(const AskService& ask, const std::string& path,
                                                  const std::string& cache,
                                                  const std::string& sha256,
                                                  const CacheWait& wait) {
  const std::string whole = cache + "/" + sha256, part = whole + ".part";
  while (!wait.stop()) {
    if (isCached(whole)) return whole;
    const Descriptor file(::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.isOpen()) return cannotWriteCache(part);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return cannotWriteCache(part);
      wait.pause();
      continue;
    }
    if (!isThere(file, part)) continue;
    if (auto filled = fill(ask, path, part, file, sha256, wait); !filled) {
      return tl::unexpected(std::move(filled).error());
    }
    // Nobody computes the sum of a cached file again.
    if (::fdatasync(file.get()) != 0 || ::rename(part.c_str(), whole.c_str()) != 0) {
      return cannotWriteCache(part);
    }
    return whole;
  }
  return toldToStop();
}

tl::expected<void, Refusal> fetchIntoFile(const AskService& ask, const std::string& path,
                                          const std::string& file, const CacheWait& wait) {
  const Descriptor made(
      ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.isOpen()) return cannotWriteCache(file);
  return fill(ask, path, file, made, "", wait);
}

}  // namespace muster
