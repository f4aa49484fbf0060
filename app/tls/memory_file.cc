#include "app/tls/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace muster {

MemoryFile::MemoryFile(const std::string& text) : fd_(::memfd_create("muster", MFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int why = errno;
      ::close(fd_);
      throw std::system_error(why, std::generic_category(), "a file in memory");
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

MemoryFile::~MemoryFile() { ::close(fd_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

void MemoryFile::replaceBy(const MemoryFile& other) {
  if (::dup3(other.fd_, fd_, O_CLOEXEC) < 0) {
    throw std::system_error(errno, std::generic_category(), "dup3");
  }
}

}  // namespace muster
