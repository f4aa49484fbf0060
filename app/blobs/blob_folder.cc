#include "app/blobs/blob_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "app/blobs/blob_place.h"
#include "models/ids.h"
#include "models/store_url.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

bool mayBeWritten(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0;
}

// Where it is not there yet, the service makes it, and what leads to it.
std::string faultOfMissing(const std::string& path) {
  fs::path folder = path;
  std::error_code fault;
  while (!fs::exists(folder, fault) && folder.has_relative_path()) folder = folder.parent_path();
  if (fs::is_directory(folder, fault) && mayBeWritten(folder.string())) return {};
  return fmt::format("does not exist, and cannot be made in {}", folder.string());
}

std::string readPlaceId(const std::string& path) {
  std::ifstream file(path + "/id");
  std::string id;
  std::getline(file, id);
  return isValidId(id) ? id : std::string();
}

}  // namespace

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

BlobFolderState lookAtBlobFolder(const std::string& path) {
  BlobFolderState state;
  state.path = path;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    state.fault = errno == ENOENT ? faultOfMissing(path) : std::strerror(errno);
    return state;
  }
  state.exists = true;
  if (!S_ISDIR(info.st_mode)) {
    state.fault = "is not a folder";
    return state;
  }
  state.is_open = (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  state.can_be_closed = ::geteuid() == 0 || ::geteuid() == info.st_uid;
  const std::string uploads = path + "/uploads";
  std::error_code ignored;
  for (const std::string& folder : {path, uploads}) {
    if ((folder == path || fs::exists(folder, ignored)) && !mayBeWritten(folder)) {
      state.fault = fmt::format("cannot be written: {}: {}", folder, std::strerror(errno));
      return state;
    }
  }
  state.place_id = readPlaceId(path);
  if (state.place_id.empty() && fs::exists(path + "/id", ignored)) {
    state.fault = "its file `id` does not hold the id of a place";
  }
  return state;
}

std::optional<std::int64_t> blobLength(const std::string& folder, const std::string& sha256) {
  struct stat info {};
  const std::string path = blobPathIn(folder, sha256);
  if (path.empty() || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return info.st_size;
}

}  // namespace muster
