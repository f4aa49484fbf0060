#include "app/launch/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace muster {
namespace {

constexpr off_t kTrimAbove = 1 << 20;
constexpr off_t kPage = 4096;

// How many bytes the character at the beginning takes; 0 when it is none.
std::size_t characterSize(std::string_view text) {
  const auto at = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 && first < 0xf5   ? 4
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xc2 && first < 0xe0 ? 2
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && at(1) < 0xa0) || (first == 0xf0 && at(1) < 0x90);
  const bool surrogate = first == 0xed && at(1) >= 0xa0;
  const bool too_large = first == 0xf4 && at(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : size;
}

}  // namespace

std::string validUtf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = characterSize(bytes);
    if (size == 0) {
      out += "\xef\xbf\xbd";
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, size);
      bytes.remove_prefix(size);
    }
  }
  return out;
}

OutputFile::OutputFile(std::string path, bool fresh)
    : path_(std::move(path)),
      fd_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0),
                 0600)) {
  if (fd_ < 0) throw std::runtime_error("cannot open " + path_ + ": " + std::strerror(errno));
}

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
  end.output = validUtf8(bytes);
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
