#include "app/blobs/blob_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "models/ids.h"
#include "models/store/random.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSumDigits = 64;
constexpr std::size_t kFolderDigits = 2;  // of the sum, which name the folder that a blob is in
constexpr std::size_t kMostFolders = 256;
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool isSum(std::string_view text) {
  return text.size() == kSumDigits && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

bool isFileName(std::string_view uid) { return isValidId(uid) && uid.front() != '.'; }

struct OpenFile {
  explicit OpenFile(int descriptor) : fd(descriptor) {}
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int fd;
};

std::optional<std::string> readShortFile(const std::string& path) {
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.fd < 0) return std::nullopt;
  std::array<char, 256> text{};
  const ssize_t got = ::read(file.fd, text.data(), text.size());
  return got < 0 ? std::nullopt
                 : std::optional(std::string(text.data(), static_cast<std::size_t>(got)));
}

bool writeAndFlush(const std::string& path, std::string_view text) {
  const OpenFile file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file.fd >= 0 &&
         ::write(file.fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
         ::fsync(file.fd) == 0;
}

// The id of the folder; of several processes that make one at the same time the first has its way.
tl::expected<std::string, std::string> readOrMakeId(const std::string& folder) {
  const std::string path = folder + "/id";
  if (!fs::exists(path)) {
    Random random;
    const std::string fresh = fmt::format("{}/.id-{}", folder, random.token());
    const bool written = writeAndFlush(fresh, random.token());
    const bool linked = written && (::link(fresh.c_str(), path.c_str()) == 0 || errno == EEXIST);
    const std::string why = std::strerror(errno);
    ::unlink(fresh.c_str());
    if (!linked || !flushFolder(folder)) return tl::unexpected("cannot write to it: " + why);
  }
  const auto id = readShortFile(path);
  if (!id || !isValidId(*id)) return tl::unexpected(path + " does not hold the id of a place");
  return *id;
}

// Why the folder is none for us alone; it is made if it is not there.
std::optional<std::string> makeFolder(const std::string& folder) {
  std::error_code ignored;
  fs::create_directories(fs::path(folder).parent_path(), ignored);
  if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST) return std::strerror(errno);
  const OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.fd < 0) return errno == ENOTDIR ? "it is not a folder" : std::strerror(errno);
  struct stat info {};
  if (::fstat(opened.fd, &info) != 0) return std::strerror(errno);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0 && ::fchmod(opened.fd, S_IRWXU) != 0) {
    return "others may look into it, and it is not ours to forbid it; chown it";
  }
  if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    return fmt::format("cannot write to it: {}", std::strerror(errno));
  }
  return std::nullopt;
}

bool isOlder(const std::string& path, Time before) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  return Time(Seconds(info.st_mtim.tv_sec)) < before;
}

// The names in a folder behind `after`, in order.
std::vector<std::string> namesBehind(const std::string& folder, std::string_view after) {
  std::vector<std::string> names;
  std::error_code ended;
  for (fs::directory_iterator it(folder, ended), last; !ended && it != last; it.increment(ended)) {
    std::string name = it->path().filename().string();
    if (name > after) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string blobPathIn(std::string_view folder, std::string_view sha256) {
  if (!isSum(sha256)) return {};
  return fmt::format("{}/{}/{}", folder, sha256.substr(0, kFolderDigits), sha256);
}

bool flushFolder(const std::string& folder) {
  const OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.fd >= 0 && ::fsync(opened.fd) == 0;
}

tl::expected<std::unique_ptr<BlobPlace>, std::string> BlobPlace::open(const std::string& folder) {
  const std::string path = fs::absolute(folder).lexically_normal().string();
  const auto refuse = [&path](const std::string& why) {
    return tl::unexpected(fmt::format("blobs cannot be kept in {}: {} (blob_dir)", path, why));
  };
  if (const auto why = makeFolder(path)) return refuse(*why);
  if (const auto why = makeFolder(path + "/uploads")) return refuse("uploads/: " + *why);
  auto id = readOrMakeId(path);
  if (!id) return refuse(id.error());
  return std::unique_ptr<BlobPlace>(new BlobPlace(path, *std::move(id)));
}

tl::expected<std::unique_ptr<BlobPlace>, std::string> BlobPlace::openTemporary() {
  std::string folder = (fs::temp_directory_path() / "muster-blobs-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return tl::unexpected(
        fmt::format("no folder for blobs can be made at {}: {}", folder, std::strerror(errno)));
  }
  auto place = open(folder);
  if (place) (*place)->is_temporary_ = true;
  return place;
}

BlobPlace::~BlobPlace() {
  std::error_code left_behind;
  if (is_temporary_) fs::remove_all(folder_, left_behind);
}

std::string BlobPlace::blobPath(std::string_view sha256) const {
  return blobPathIn(folder_, sha256);
}

std::string BlobPlace::uploadPath(std::string_view uid) const {
  return isFileName(uid) ? fmt::format("{}/uploads/{}", folder_, uid) : std::string();
}

bool BlobPlace::publish(std::string_view uid, std::string_view sha256) {
  const std::string from = uploadPath(uid), to = blobPath(sha256);
  if (from.empty() || to.empty()) return false;
  const std::string folder = fs::path(to).parent_path().string();
  if (::mkdir(folder.c_str(), S_IRWXU) == 0) {
    if (!flushFolder(folder_)) return false;
  } else if (errno != EEXIST) {
    return false;
  }
  if (::link(from.c_str(), to.c_str()) == 0) return flushFolder(folder);
  // Who linked it before may not have come to the flush.
  return (errno == EEXIST || errno == ENOENT) && has(sha256) && flushFolder(folder);
}

bool BlobPlace::has(std::string_view sha256) {
  const std::string path = blobPath(sha256);
  return !path.empty() && ::access(path.c_str(), F_OK) == 0;
}

bool BlobPlace::removeBlob(std::string_view sha256) {
  const std::string path = blobPath(sha256);
  return !path.empty() && (::unlink(path.c_str()) == 0 || errno == ENOENT);
}

bool BlobPlace::removeUpload(std::string_view uid) {
  const std::string path = uploadPath(uid);
  return !path.empty() && (::unlink(path.c_str()) == 0 || errno == ENOENT);
}

std::vector<std::string> BlobPlace::nextOldBlobs(Time before, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  std::size_t first = 0;
  if (!last_blob_.empty()) first = std::stoul(last_blob_.substr(0, kFolderDigits), nullptr, 16);
  for (std::size_t number = first; number < kMostFolders; ++number) {
    const std::string folder = fmt::format("{}/{:02x}", folder_, number);
    for (std::string& name : namesBehind(folder, last_blob_)) {
      if (!isSum(name) || !isOlder(folder + "/" + name, before)) continue;
      last_blob_ = name;
      found.push_back(std::move(name));
      if (found.size() == most) return found;
    }
  }
  last_blob_.clear();
  return found;
}

std::vector<std::string> BlobPlace::nextOldUploads(Time before, std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  for (std::string& name : namesBehind(folder_ + "/uploads", last_upload_)) {
    if (!isOlder(folder_ + "/uploads/" + name, before)) continue;
    last_upload_ = name;
    found.push_back(std::move(name));
    if (found.size() == most) return found;
  }
  last_upload_.clear();
  return found;
}

}  // namespace muster
