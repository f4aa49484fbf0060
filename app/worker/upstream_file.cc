#include "app/worker/upstream_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace muster {

tl::expected<UpstreamFile, int> UpstreamFile::create(const std::string& folder) {
  std::string path = folder + "/muster-upstream-XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));  // for this user only: mode 0600
  if (!file.isOpen()) return tl::unexpected(errno);
  return UpstreamFile(std::move(path), std::move(file));
}

UpstreamFile::~UpstreamFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

UpstreamFile::UpstreamFile(UpstreamFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

int UpstreamFile::add(const std::vector<std::string>& items) {
  std::string lines;
  for (const auto& item : items) lines += onOneLine(item) + "\n";
  for (std::string_view left = lines; !left.empty();) {
    const ssize_t count = ::write(file_.get(), left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

std::string onOneLine(std::string_view json) {
  std::string line(json);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace muster
