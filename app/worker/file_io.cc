#include "app/worker/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace muster {

tl::expected<Descriptor, int> openBelow(int folder, std::string_view path, int flags, mode_t mode) {
  Descriptor above;
  int from = folder;
  while (true) {
    const auto slash = path.find('/');
    const std::string part(path.substr(0, slash));
    const bool is_last = slash == std::string_view::npos;
    const int how = is_last ? flags : O_RDONLY | O_DIRECTORY;
    Descriptor next(
        ::openat(from, part.empty() ? "." : part.c_str(), how | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!next.isOpen()) return tl::unexpected(errno);
    if (is_last) return next;
    above = std::move(next);
    from = above.get();
    path.remove_prefix(slash + 1);
  }
}

int writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

std::string fileFault(std::string_view name, int error) {
  return fmt::format("{}: {}", name, std::strerror(error));
}

}  // namespace muster
