#include "app/worker/tar_pack.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "app/worker/file_io.h"
#include "app/worker/tar_name.h"

namespace muster {
namespace {

constexpr std::size_t kTarPiece = 65'536;

struct ClosesFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, ClosesFolder>;

class TarWalk {
 public:
  explicit TarWalk(int folder) : folder_(folder) {}

  // Folders wait their turn in a list: how deep they lie costs no stack.
  tl::expected<TarPlan, std::string> run() {
    std::vector<std::string> folders = {""};
    while (!folders.empty()) {
      const std::string path = std::move(folders.back());
      folders.pop_back();
      if (auto seen = list(path, folders); !seen) return tl::unexpected(std::move(seen).error());
    }
    std::sort(plan_.entries.begin(), plan_.entries.end(),
              [](const TarEntry& a, const TarEntry& b) { return a.name < b.name; });
    plan_.size = 2 * kTarBlock;
    for (const TarEntry& entry : plan_.entries) {
      plan_.size += tarHeader(entry).size() + entry.size + tarPadding(entry.size);
    }
    return std::move(plan_);
  }

 private:
  tl::expected<void, std::string> list(const std::string& path, std::vector<std::string>& folders) {
    auto opened = openBelow(folder_, path, O_RDONLY | O_DIRECTORY);
    const int fd = opened ? ::dup(opened->get()) : -1;
    const OpenFolder folder(fd < 0 ? nullptr : ::fdopendir(fd));
    if (!folder) return tl::unexpected(fileFault(path, opened ? errno : opened.error()));
    while (true) {
      errno = 0;
      const dirent* const found = ::readdir(folder.get());
      if (found == nullptr && errno != 0) return tl::unexpected(fileFault(path, errno));
      if (found == nullptr) return {};
      const std::string name = found->d_name;
      if (name == "." || name == "..") continue;
      const std::string below = path.empty() ? name : path + "/" + name;
      if (auto added = add(::dirfd(folder.get()), name, below); !added) return added;
      if (plan_.entries.back().kind == TarEntry::Kind::kFolder) folders.push_back(below);
    }
  }

  tl::expected<void, std::string> add(int folder, const std::string& name,
                                      const std::string& path) {
    struct stat file {};
    if (::fstatat(folder, name.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) {
      return tl::unexpected(fileFault(path, errno));
    }
    TarEntry entry{.name = path, .target = {}, .mode = file.st_mode & 0777U};
    if (tarPath(path) != path) return tl::unexpected(path + ": the name is too long");
    if (S_ISREG(file.st_mode)) {
      entry.size = static_cast<std::uint64_t>(file.st_size);
    } else if (S_ISDIR(file.st_mode)) {
      entry.kind = TarEntry::Kind::kFolder;
    } else if (S_ISLNK(file.st_mode)) {
      entry.kind = TarEntry::Kind::kLink;
      entry.mode = 0777;
      std::array<char, 4097> target{};
      const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
      if (size < 0) return tl::unexpected(fileFault(path, errno));
      entry.target.assign(target.data(), static_cast<std::size_t>(size));
      if (!linkStaysInside(path, entry.target)) {
        return tl::unexpected(
            fmt::format("{}: the link to {} leads out of the folder", path, entry.target));
      }
    } else {
      return tl::unexpected(path + ": is neither a file, a folder nor a link");
    }
    plan_.entries.push_back(std::move(entry));
    return {};
  }

  const int folder_;
  TarPlan plan_;
};

// False when `take` has enough.
tl::expected<bool, std::string> packBody(int folder, const TarEntry& entry,
                                         const TakeTarBytes& take) {
  const auto file = openBelow(folder, entry.name, O_RDONLY | O_NONBLOCK);
  if (!file) return tl::unexpected(fileFault(entry.name, file.error()));
  std::string piece;
  for (std::uint64_t left = entry.size; left > 0;) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, kTarPiece)));
    const ssize_t count = ::read(file->get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(fileFault(entry.name, errno));
    if (count == 0) return tl::unexpected(entry.name + ": became shorter while it was read");
    piece.resize(static_cast<std::size_t>(count));
    if (!take(piece)) return false;
    left -= static_cast<std::uint64_t>(count);
  }
  return take(std::string(tarPadding(entry.size), '\0'));
}

}  // namespace

tl::expected<TarPlan, std::string> planTar(int folder) { return TarWalk(folder).run(); }

tl::expected<void, std::string> packTar(int folder, const TarPlan& plan, const TakeTarBytes& take) {
  for (const TarEntry& entry : plan.entries) {
    if (!take(tarHeader(entry))) return {};
    if (entry.kind != TarEntry::Kind::kFile) continue;
    const auto more = packBody(folder, entry, take);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
  }
  take(std::string(2 * kTarBlock, '\0'));
  return {};
}

}  // namespace muster
