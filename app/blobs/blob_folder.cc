#include "app/blobs/blob_folder.h"

#include <cstdlib>
#include <filesystem>

#include "models/store_url.h"

namespace muster {

std::string blobFolder(const Settings& settings) {
  if (!settings.blob_dir.empty()) return std::filesystem::absolute(settings.blob_dir).string();
  if (isPostgres(settings.store)) {
    const char* const state = std::getenv("STATE_DIRECTORY");  // systemd sets it
    const std::filesystem::path folder = state != nullptr ? state : "data";
    return (std::filesystem::absolute(folder) / "blobs").string();
  }
  const auto path = sqlitePath(settings.store);
  if (!path || *path == ":memory:") return {};
  return (std::filesystem::absolute(*path).parent_path() / "blobs").string();
}

}  // namespace muster
