#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/eventually.h"

namespace muster::test {

struct Command {
  std::vector<std::string> argv;
  std::filesystem::path folder;       // it runs here, stdout.txt and stderr.txt are written here
  std::vector<std::string> env = {};  // NAME=value, beside PATH and the settings of sanitizers
  bool obey_file_modes = false;       // root too gets "permission denied" where others would
  bool adopts_orphans = false;        // like process 1 of a container
  std::vector<int> without = {};      // capabilities that neither it nor its children have, if root
  unsigned open_files = 0;            // the hard limit; 0: that of the test
};

// A program in its own process group. It does not outlive this object, nor the test.
class ChildProcess {
 public:
  explicit ChildProcess(const Command& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  bool running();
  // The exit code, or 128 + the signal that ended it; nothing when it still runs at the deadline.
  std::optional<int> wait(std::chrono::milliseconds deadline = kPatience);

  std::string out() const;
  std::string err() const;

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// The program under test: MUSTER_BINARY, else `muster` in the folder above the test's own.
std::string musterBinary();

}  // namespace muster::test
