#include "app/launch/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "models/json/utf8.h"

namespace muster {
namespace {

constexpr off_t kTrimAbove = 1 << 20;
constexpr off_t kPage = 4096;

[[noreturn]] void refuseOutput(const std::string& path, const std::string& why) {
  throw std::runtime_error("cannot keep the outputs of workers in " + path + ": " + why);
}

}  // namespace

void makeOwnFolder(const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    refuseOutput(path, std::strerror(errno));
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    const bool is_other = errno == ENOTDIR || errno == ELOOP;
    refuseOutput(path, is_other ? "it is a link or a file; remove it, and a folder takes its place"
                                : std::strerror(errno));
  }
  struct stat info {};
  const bool is_ours = ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid();
  if (is_ours && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) ::fchmod(fd, S_IRWXU);
  ::close(fd);
  if (!is_ours) refuseOutput(path, "it belongs to another user; chown or remove it");
}

std::string makeFreshFolder(const std::string& parent) {
  std::string path = parent + "/muster-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) refuseOutput(path, std::strerror(errno));
  return path;
}

OutputFile::OutputFile(std::string path, bool fresh)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  if (fd_ < 0) throw std::runtime_error("cannot open " + path_ + ": " + std::strerror(errno));
  struct stat info {};
  const bool is_ours =
      ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
  if (!is_ours || (fresh && ::ftruncate(fd_, 0) != 0)) {
    ::close(fd_);
    throw std::runtime_error("cannot write " + path_ + ": it is not a file of the service's user");
  }
}

void OutputFile::letOthersWrite() const { ::fchmod(fd_, S_IRUSR | S_IWUSR | S_IWGRP | S_IWOTH); }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OutputFile::readInto(ProcessEnd& end) const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return;
  const off_t from =
      info.st_size > static_cast<off_t>(kKept) ? info.st_size - static_cast<off_t>(kKept) : 0;
  std::string bytes(static_cast<std::size_t>(info.st_size - from), '\0');
  const ssize_t got = ::pread(fd_, bytes.data(), bytes.size(), from);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (from > 0) {
    std::size_t cut = 0;  // a character may have been split
    while (cut < bytes.size() && cut < 3 && (bytes[cut] & 0xc0) == 0x80) ++cut;
    bytes.erase(0, cut);
  }
  end.output = storableText(bytes);
  end.truncated = from > 0;
}

void OutputFile::trim() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return;
  const off_t held = static_cast<off_t>(info.st_blocks) * 512;
  if (held <= kTrimAbove) return;
  const off_t keep_from = (info.st_size - static_cast<off_t>(kKept)) / kPage * kPage;
  // A file system that cannot do it leaves the file as it is.
  ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, keep_from);
}

void OutputFile::remove() const { ::unlink(path_.c_str()); }

}  // namespace muster
