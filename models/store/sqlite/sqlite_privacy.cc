#include "models/store/sqlite/sqlite_privacy.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace muster {
namespace {

constexpr unsigned kOthersWrite = S_IWGRP | S_IWOTH;
constexpr unsigned kGroupBits = S_IRWXG, kOthersBits = S_IRWXO;

std::string folderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

FileFacts factsOf(const struct stat& info) {
  constexpr unsigned kPermissions = 07777;
  return {true, S_ISLNK(info.st_mode), info.st_uid, info.st_mode & kPermissions};
}

// The bits of the file's mode that mean something to users who are let into the folder.
unsigned reachable(const FileFacts& file, const FileFacts& folder) {
  unsigned bits = 0;
  if ((folder.mode & S_IXGRP) != 0) bits |= file.mode & kGroupBits;
  if ((folder.mode & S_IXOTH) != 0) bits |= file.mode & kOthersBits;
  return bits;
}

}  // namespace

SqlitePrivacy judgePrivacy(const std::string& path, const FileFacts& file, const FileFacts& folder,
                           unsigned us) {
  const bool is_foreign = file.exists && file.owner != us && file.owner != 0;
  const bool others_add_files = (folder.mode & kOthersWrite) != 0;
  if (file.is_link) {
    return {fmt::format("{} is a link, and one service alone must have the file it leads to", path),
            "", "name the file itself in `store`"};
  }
  if (is_foreign && others_add_files) {
    return {fmt::format("{} belongs to user {}, and is in a folder where others may put files",
                        path, file.owner),
            "", "use a folder of the service's own (chmod 700), or another file"};
  }
  if (is_foreign && us != 0) {
    return {"", fmt::format("{} belongs to user {}, who can read and change it", path, file.owner),
            fmt::format("chown it to the service's user: chown {} {}*", us, path)};
  }
  if (others_add_files) {
    return {"", fmt::format("other users may put files beside {}, and so change it", path),
            fmt::format("chmod go-w {}, or use a folder of the service's own", folderOf(path))};
  }
  if (file.exists && reachable(file, folder) != 0) {
    return {"",
            fmt::format("other users of this machine can open {}, which holds payloads, secrets of "
                        "webhooks and the key of all worker tokens",
                        path),
            fmt::format("chmod go= {}*", path)};
  }
  return {};
}

SqlitePrivacy sqlitePrivacy(const std::string& path) {
  if (path == ":memory:") return {};
  struct stat file {
  }, folder{};
  const bool exists = ::lstat(path.c_str(), &file) == 0;
  const bool has_folder = ::stat(folderOf(path).c_str(), &folder) == 0;
  return judgePrivacy(path, exists ? factsOf(file) : FileFacts{},
                      has_folder ? factsOf(folder) : FileFacts{}, ::geteuid());
}

}  // namespace muster
