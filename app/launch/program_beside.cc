#include "app/launch/program_beside.h"

#include <filesystem>

namespace muster {

std::string programBeside(const std::string& name) {
  // The folder is right even when the file itself was replaced while it ran.
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (error ? std::filesystem::path(name) : self.parent_path() / name).string();
}

}  // namespace muster
