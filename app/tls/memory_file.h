#pragma once

#include <string>

namespace muster {

// A file that only this process can open, by path(). Nothing of it is on a disk.
class MemoryFile {
 public:
  // Throws std::system_error.
  explicit MemoryFile(const std::string& text);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Stays the same in replaceBy(): who opens it then has all of the old text, or all of the new.
  std::string path() const;
  void replaceBy(const MemoryFile& other);

 private:
  int fd_ = -1;
};

}  // namespace muster
