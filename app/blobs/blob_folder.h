#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/config/settings.h"

namespace muster {

// Where the blobs of a service with these settings are; empty: in a folder of its own that goes
// with it, since its store does too.
std::string blobFolder(const Settings& settings);

// What a look at such a folder finds. Nothing in it is changed.
struct BlobFolderState {
  std::string path = {};
  bool exists = false;
  std::string place_id = {};  // empty: it has none yet, or it cannot be read
  std::string fault = {};     // not empty: the service cannot use it, and why
  bool is_open = false;       // other users of the machine can look into it
  bool can_be_closed = true;  // by this process
};
BlobFolderState lookAtBlobFolder(const std::string& path);

// Of the file of a blob in the folder; nothing if there is no such file.
std::optional<std::int64_t> blobLength(const std::string& folder, const std::string& sha256);

}  // namespace muster
