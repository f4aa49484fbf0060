#pragma once

#include <string>

#include "models/worker.h"

namespace muster {

// Where a process writes. A file and not a pipe, so that the process can go on writing when the
// service is restarted; only its end is kept, however much is written.
class OutputFile {
 public:
  static constexpr std::size_t kKept = 64U << 10;

  // Makes the file anew, or opens what an earlier run left. Throws std::runtime_error, also when a
  // link or somebody else's file is there.
  OutputFile(std::string path, bool fresh);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  int descriptor() const { return fd_; }
  // Lets a program of another user open the file again by its descriptor (/dev/stderr). Its folder
  // keeps all others from it.
  void letOthersWrite() const;
  // Puts the end of the file into output and truncated, as valid UTF-8.
  void readInto(ProcessEnd& end) const;
  // Gives the disk back what is no longer kept.
  void trim() const;
  void remove() const;

 private:
  std::string path_;
  int fd_;
};

// Makes the folder for our user alone, and those above it, unless it is there. Throws
// std::runtime_error when a link or somebody else's folder is there.
void makeOwnFolder(const std::string& path);

// Makes a folder in `parent` that nobody else can have prepared, for our user alone. Throws
// std::runtime_error.
std::string makeFreshFolder(const std::string& parent);

}  // namespace muster
