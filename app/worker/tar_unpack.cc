#include "app/worker/tar_unpack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "app/worker/file_io.h"
#include "app/worker/tar_name.h"

namespace muster {
namespace {

constexpr std::uint64_t kMostRecordBytes = 1 << 20;
constexpr std::uint64_t kMostTarBody = std::uint64_t{1} << 50;

auto refusedTar(std::string_view name, std::string_view why) {
  return tl::unexpected(fmt::format("{}: {}", name, why));
}

// The folder that a path lies in, and its last part.
std::pair<std::string_view, std::string_view> splitPath(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

tl::expected<void, std::string> TarUnpacker::add(std::string_view bytes) {
  while (!bytes.empty() && reading_ != Reading::kEnd) {
    if (reading_ == Reading::kBody) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
      if (file_.isOpen()) {
        if (const int error = writeAll(file_.get(), bytes.substr(0, wanted)); error != 0) {
          return tl::unexpected(fileFault(path_, error));
        }
      }
      left_ -= wanted;
      bytes.remove_prefix(wanted);
      const std::size_t skipped = left_ > 0 ? 0 : std::min(padding_, bytes.size());
      padding_ -= skipped;
      bytes.remove_prefix(skipped);
      if (left_ == 0 && padding_ == 0) {
        if (auto ended = endBody(); !ended) return ended;
      }
      continue;
    }
    const std::size_t whole =
        reading_ == Reading::kHeader ? kTarBlock : static_cast<std::size_t>(left_) + padding_;
    const std::size_t taken = std::min(bytes.size(), whole - pending_.size());
    pending_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (pending_.size() < whole) continue;
    auto read = reading_ == Reading::kHeader ? takeBlock() : takeRecords();
    if (!read) return read;
    pending_.clear();
  }
  return {};
}

tl::expected<void, std::string> TarUnpacker::finish() const {
  if (reading_ != Reading::kEnd) return tl::unexpected(std::string("the archive has no end"));
  return {};
}

TarUnpacker::Step TarUnpacker::takeBlock() {
  if (pending_.find_first_not_of('\0') == std::string::npos) {
    reading_ = Reading::kEnd;
    return {};
  }
  const auto block = parseTarBlock(pending_);
  if (!block) return tl::unexpected(std::string("this is no tar archive, or a damaged one"));
  return begin(*block);
}

TarUnpacker::Step TarUnpacker::begin(const TarBlock& block) {
  const bool are_records = std::string_view("xgLK").find(block.type) != std::string_view::npos;
  left_ = block.size;
  if (are_records) {
    if (left_ > kMostRecordBytes) return refusedTar(block.name, "its records are too long");
    records_type_ = block.type;
    reading_ = left_ == 0 ? Reading::kHeader : Reading::kRecords;
    padding_ = tarPadding(left_);
    return {};
  }
  const PaxRecords records = std::exchange(records_, {});
  const std::string name = records.path.value_or(block.name);
  const auto path = tarPath(name);
  if (!path) return refusedTar(name, "the name leads out of the folder, or is none");
  path_ = *path;
  mode_ = block.mode;
  left_ = records.size.value_or(block.size);
  if (left_ > kMostTarBody) return refusedTar(name, "the size cannot be");
  const bool is_file = block.type == '0' || block.type == '\0' || block.type == '7';
  if (!is_file && left_ > 0) return refusedTar(name, "has content, and is no file");
  if (block.type == '5') return makeFolder(path_, mode_);
  if (path_.empty()) return refusedTar(name, "the name is none");
  // Old archives have folders as files with a slash at the end.
  if (is_file && name.ends_with('/') && left_ == 0) return makeFolder(path_, mode_);
  if (auto made = makeFolder(splitPath(path_).first, 0755); !made) return made;
  if (is_file) return makeFile();
  return makeLink(block, records.linkpath.value_or(block.target));
}

TarUnpacker::Step TarUnpacker::takeRecords() {
  reading_ = Reading::kHeader;
  std::string_view text(pending_);
  text = text.substr(0, static_cast<std::size_t>(left_));
  if (records_type_ == 'g') return {};
  if (records_type_ == 'x') {
    auto records = parsePax(text);
    if (!records) return tl::unexpected(std::string("the archive has records that are none"));
    records_ = *std::move(records);
    return {};
  }
  // GNU's way to say a long name (L) or target (K).
  (records_type_ == 'L' ? records_.path : records_.linkpath) = text.substr(0, text.find('\0'));
  return {};
}

TarUnpacker::Step TarUnpacker::makeFolder(std::string_view path, unsigned mode) const {
  for (std::size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const auto [above, name] = splitPath(path.substr(0, end));
    const auto folder = openBelow(folder_, above, O_RDONLY | O_DIRECTORY);
    if (!folder) return tl::unexpected(fileFault(path, folder.error()));
    // Whoever unpacked it must be able to remove it again.
    const bool made = ::mkdirat(folder->get(), std::string(name).c_str(), mode | 0700) == 0;
    if (!made && errno != EEXIST) return tl::unexpected(fileFault(path, errno));
  }
  const auto made = openBelow(folder_, path, O_RDONLY | O_DIRECTORY);
  if (!made) return tl::unexpected(fileFault(path, made.error()));
  return {};
}

TarUnpacker::Step TarUnpacker::makeFile() {
  auto file = openBelow(folder_, path_, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) return tl::unexpected(fileFault(path_, file.error()));
  file_ = *std::move(file);
  padding_ = tarPadding(left_);
  if (left_ == 0) return endBody();
  reading_ = Reading::kBody;
  return {};
}

TarUnpacker::Step TarUnpacker::endBody() {
  reading_ = Reading::kHeader;
  const mode_t readable = (mode_ & 0555) | 0400;
  if (::fchmod(file_.get(), readable) != 0) return tl::unexpected(fileFault(path_, errno));
  file_.close();
  return {};
}

TarUnpacker::Step TarUnpacker::makeLink(const TarBlock& block, const std::string& target) {
  const auto [above, name] = splitPath(path_);
  const auto folder = openBelow(folder_, above, O_RDONLY | O_DIRECTORY);
  if (!folder) return tl::unexpected(fileFault(path_, folder.error()));
  if (block.type == '2') {
    if (!linkStaysInside(path_, target)) {
      return refusedTar(path_, fmt::format("the link to {} leads out of the folder", target));
    }
    if (::symlinkat(target.c_str(), folder->get(), std::string(name).c_str()) != 0) {
      return tl::unexpected(fileFault(path_, errno));
    }
    return {};
  }
  if (block.type != '1') return refusedTar(path_, "is neither a file, a folder nor a link");
  // The same file once more: one that has been unpacked before.
  const auto first = tarPath(target);
  if (!first || first->empty()) return refusedTar(path_, "is a link to nothing in the folder");
  const auto [first_above, first_name] = splitPath(*first);
  const auto first_folder = openBelow(folder_, first_above, O_RDONLY | O_DIRECTORY);
  if (!first_folder) return tl::unexpected(fileFault(path_, first_folder.error()));
  struct stat file {};
  const std::string from(first_name), to(name);
  if (::fstatat(first_folder->get(), from.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) {
    return tl::unexpected(fileFault(path_, errno));
  }
  if (!S_ISREG(file.st_mode)) return refusedTar(path_, "is a link to what is no file");
  if (::linkat(first_folder->get(), from.c_str(), folder->get(), to.c_str(), 0) != 0) {
    return tl::unexpected(fileFault(path_, errno));
  }
  return {};
}

}  // namespace muster
