#include "app/blobs/part_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "models/base64.h"
#include "models/store/random.h"
#include "models/time.h"

namespace muster {
namespace {

constexpr int kWriterThreads = 2;
constexpr std::size_t kMostHashes = 4096;
constexpr std::size_t kReadBytes = 256U << 10;
constexpr std::size_t kSumBytes = 32;
constexpr Seconds kFullRetry{30};

tl::unexpected<Error> fileFailure(int code, std::string_view what) {
  const std::string detail = fmt::format("{}: {}", what, std::strerror(code));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) {
    return tl::unexpected(Error{ErrorCode::kStoreFull, detail, {}, kFullRetry});
  }
  return fail(ErrorCode::kStoreUnavailable, detail);
}

std::int64_t changedAt(const struct stat& info) {
  return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// Calls `take` with all bytes of the file between the offsets, piece by piece. False: it is
// shorter, or cannot be read.
template <class Take>
bool readBetween(int fd, std::int64_t from, std::int64_t to, Take take) {
  std::string piece(kReadBytes, '\0');
  while (from < to) {
    const auto wanted = std::min<std::int64_t>(static_cast<std::int64_t>(piece.size()), to - from);
    const ssize_t got = ::pread(fd, piece.data(), static_cast<std::size_t>(wanted), from);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    if (!take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)))) return false;
    from += got;
  }
  return true;
}

// 0, or the error.
int writeAt(int fd, std::int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes.remove_prefix(static_cast<std::size_t>(done));
    offset += done;
  }
  return 0;
}

}  // namespace

// The sum of an upload so far, and the state in which it left the file: another process, or a
// beginning anew, changes that.
struct PartWriter::Hash {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
  std::int64_t to = 0;
  ino_t file = 0;
  std::int64_t changed_at = 0;

  Hash() { EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr); }
  void add(std::string_view bytes) {
    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size());
    to += static_cast<std::int64_t>(bytes.size());
  }
  std::string finish() {
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> sum{};
    unsigned size = 0;
    EVP_DigestFinal_ex(context.get(), sum.data(), &size);
    return toHex(sum.data(), size);
  }
};

UploadFile::UploadFile(std::string uid, std::string path, int fd)
    : uid_(std::move(uid)), path_(std::move(path)), fd_(fd) {}

UploadFile::~UploadFile() { ::close(fd_); }

void UploadFile::unlock() const { ::flock(fd_, LOCK_UN); }

PartWriter::PartWriter(BlobPlace& place, std::size_t most_waiting)
    : place_(place), most_waiting_(most_waiting) {
  for (int i = 0; i < kWriterThreads; ++i) threads_.emplace_back([this] { work(); });
}

PartWriter::~PartWriter() { stop(); }

void PartWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

Status PartWriter::add(std::size_t bytes, std::function<void()> run) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return fail(ErrorCode::kDraining, "the service is stopping");
    // One part finds room however large it is.
    if (waiting_bytes_ > 0 && bytes > 0 && waiting_bytes_ + bytes > most_waiting_) {
      return fail(ErrorCode::kStoreBusy,
                  fmt::format("{} bytes wait to be written to the disk", waiting_bytes_));
    }
    waiting_bytes_ += bytes;
    waiting_.push_back({std::move(run), bytes});
  }
  wake_.notify_one();
  return {};
}

void PartWriter::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task.run();
    task.run = nullptr;
    lock.lock();
    waiting_bytes_ -= task.bytes;
  }
}

bool PartWriter::post(std::function<void()> task) { return add(0, std::move(task)).has_value(); }

void PartWriter::open(std::string uid, const std::function<void(Result<UploadFilePtr>)>& then) {
  const auto added = add(0, [this, uid = std::move(uid), then] { then(openNow(uid)); });
  if (!added) then(tl::unexpected(added.error()));
}

void PartWriter::write(Part part, const std::function<void(Result<Written>)>& then) {
  const std::size_t bytes = part.bytes.size();
  const auto added = add(bytes, [this, part = std::move(part), then] { then(writeNow(part)); });
  if (!added) then(tl::unexpected(added.error()));
}

void PartWriter::compare(std::string path, std::int64_t offset, std::string_view bytes,
                         std::shared_ptr<const void> keeper,
                         const std::function<void(Result<bool>)>& then) {
  const auto added =
      add(bytes.size(), [path = std::move(path), offset, bytes, keeper = std::move(keeper), then] {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        std::string_view rest = bytes;
        const bool same =
            fd >= 0 && readBetween(fd, offset, offset + static_cast<std::int64_t>(bytes.size()),
                                   [&rest](std::string_view piece) {
                                     const bool equal = rest.starts_with(piece);
                                     rest.remove_prefix(std::min(rest.size(), piece.size()));
                                     return equal;
                                   });
        if (fd >= 0) ::close(fd);
        then(same);
      });
  if (!added) then(tl::unexpected(added.error()));
}

void PartWriter::remove(std::string uid) {
  post([this, uid = std::move(uid)] {
    place_.removeUpload(uid);
    const std::lock_guard lock(mutex_);
    hashes_.erase(uid);
  });
}

Result<UploadFilePtr> PartWriter::openNow(const std::string& uid) {
  const std::string path = place_.uploadPath(uid);
  if (path.empty()) return fail(ErrorCode::kNotFound, "there is no resource '" + uid + "'");
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (;;) {
    int fd = ::open(path.c_str(), kFlags);
    if (fd < 0 && errno == ENOENT) {
      fd = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
      if (fd < 0 && errno == EEXIST) continue;
      if (fd >= 0) flushFolder(std::filesystem::path(path).parent_path().string());
    }
    if (fd < 0) return fileFailure(errno, "the file of the upload cannot be opened");
    const UploadFilePtr file(new UploadFile(uid, path, fd));
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      return fail(ErrorCode::kStoreBusy, "another part of this upload is being written");
    }
    // It may have been removed, or another have taken its place, before we had the lock.
    struct stat ours {
    }, named{};
    const bool is_named = ::fstat(fd, &ours) == 0 && ::stat(path.c_str(), &named) == 0 &&
                          ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
    if (is_named) return file;
  }
}

// A crash between publishing and commit leaves the upload a second name of the blob, which others
// may use by now: it goes on with a copy.
Status PartWriter::makeOwn(UploadFile& file, std::int64_t offset) {
  struct stat info {};
  if (::fstat(file.fd_, &info) != 0) return fileFailure(errno, "the upload cannot be read");
  if (info.st_nlink <= 1) return {};
  const std::string path = file.path_ + ".copy";
  const int fd =
      ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd < 0) return fileFailure(errno, "the upload cannot be copied");
  std::int64_t to = 0;
  int fault = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  const bool read =
      readBetween(file.fd_, 0, std::min(offset, static_cast<std::int64_t>(info.st_size)),
                  [&](std::string_view piece) {
                    if (fault == 0) fault = writeAt(fd, to, piece);
                    to += static_cast<std::int64_t>(piece.size());
                    return fault == 0;
                  });
  if (fault == 0 && (!read || ::rename(path.c_str(), file.path_.c_str()) != 0)) fault = EIO;
  if (fault != 0) {
    ::close(fd);
    ::unlink(path.c_str());
    return fileFailure(fault, "the upload cannot be copied");
  }
  ::close(std::exchange(file.fd_, fd));
  flushFolder(std::filesystem::path(path).parent_path().string());
  return {};
}

Result<std::unique_ptr<PartWriter::Hash>> PartWriter::hashUpTo(const UploadFile& file,
                                                               std::int64_t offset) {
  struct stat info {};
  if (::fstat(file.fd_, &info) != 0) return fileFailure(errno, "the upload cannot be read");
  {
    const std::lock_guard lock(mutex_);
    const auto found = hashes_.find(file.uid_);
    if (found != hashes_.end()) {
      auto known = std::move(found->second);
      hashes_.erase(found);
      const bool is_same =
          known->to == offset && known->file == info.st_ino && known->changed_at == changedAt(info);
      if (is_same) return known;
    }
  }
  auto hash = std::make_unique<Hash>();
  const bool whole = readBetween(file.fd_, 0, offset, [&hash](std::string_view piece) {
    hash->add(piece);
    return true;
  });
  if (!whole) return fail(ErrorCode::kStoreUnavailable, "the upload cannot be read");
  return hash;
}

void PartWriter::keep(const std::string& uid, std::unique_ptr<Hash> hash) {
  const std::lock_guard lock(mutex_);
  if (hashes_.size() >= kMostHashes) hashes_.erase(hashes_.begin());
  hashes_[uid] = std::move(hash);
}

Result<PartWriter::Written> PartWriter::writeNow(const Part& part) {
  UploadFile& file = *part.file;
  if (!part.sha256.empty() && sha256Hex(part.bytes) != part.sha256) {
    return tl::unexpected(
        Error{ErrorCode::kInvalid,
              "the part does not have the sum that Content-Digest says",
              {{"Content-Digest", "checksum_mismatch", "is not the SHA-256 of the part"}}});
  }
  struct stat info {};
  if (::fstat(file.fd_, &info) != 0) return fileFailure(errno, "the upload cannot be read");
  if (info.st_size < part.offset) {
    return fail(ErrorCode::kWrongOffset,
                fmt::format("the file of the upload has only {} bytes", info.st_size));
  }
  if (auto ok = makeOwn(file, part.offset); !ok) return tl::unexpected(ok.error());
  auto hash = hashUpTo(file, part.offset);
  if (!hash) return tl::unexpected(hash.error());
  int fault = ::ftruncate(file.fd_, part.offset) == 0 ? 0 : errno;
  if (fault == 0) fault = writeAt(file.fd_, part.offset, part.bytes);
  if (fault == 0 && ::fdatasync(file.fd_) != 0) fault = errno;
  if (fault != 0) {
    // What is behind the offset means nothing; it goes so that it takes no room.
    [[maybe_unused]] const int cut = ::ftruncate(file.fd_, part.offset);
    return fileFailure(fault, "the part cannot be written");
  }
  (*hash)->add(part.bytes);
  Written written{(*hash)->to, {}};
  if (part.is_last) {
    written.sha256 = (*hash)->finish();
    return written;
  }
  if (::fstat(file.fd_, &info) == 0) {
    (*hash)->file = info.st_ino;
    (*hash)->changed_at = changedAt(info);
    keep(file.uid_, *std::move(hash));
  }
  return written;
}

std::string sumToBase64(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return encodeBase64(bytes);
}

std::string sumFromBase64(std::string_view base64) {
  const auto bytes = decodeBase64(base64);
  if (!bytes || bytes->size() != kSumBytes) return {};
  return toHex(reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size());
}

}  // namespace muster
