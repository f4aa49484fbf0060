#pragma once

#include <string>

namespace muster {

// What the file system says of a file or a folder.
struct FileFacts {
  bool exists = false;
  bool is_link = false;
  unsigned owner = 0;
  unsigned mode = 0;  // permission bits
};

// What keeps other users of the machine from a database, and what does not.
struct SqlitePrivacy {
  std::string refusal;   // not empty: the file must not be used, and why
  std::string exposure;  // not empty: it may be used, but this is open to others
  std::string remedy;    // what to do about either
};

// `us` is the user that this process runs as. Modes are never changed: they may be meant.
SqlitePrivacy judgePrivacy(const std::string& path, const FileFacts& file, const FileFacts& folder,
                           unsigned us);

// The same for the file that is there now, or will be made. ":memory:" has nothing to judge.
SqlitePrivacy sqlitePrivacy(const std::string& path);

}  // namespace muster
