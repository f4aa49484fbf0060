#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster::test {

// An empty folder that goes away with everything in it.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string readFile(const std::filesystem::path& file);  // empty when there is none
void writeFile(const std::filesystem::path& file, std::string_view text);

}  // namespace muster::test
