#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app/worker/descriptor.h"

namespace muster {

// A program in a process group of its own, with pipes to its standard streams and no other
// descriptor of ours. Neither it nor its group outlives this object; the program itself does not
// outlive the thread that started it either.
class CommandProcess {
 public:
  struct Exit {
    std::optional<int> code;
    std::optional<int> signal;
    std::int64_t max_rss_bytes = 0;
  };

  // Looks for the program as execvp() does. The error is the errno that kept it from running.
  static tl::expected<CommandProcess, int> start(std::vector<std::string> argv,
                                                 std::vector<std::string> env);
  ~CommandProcess();
  CommandProcess(CommandProcess&& other) noexcept;
  CommandProcess& operator=(CommandProcess&&) = delete;

  // Our ends of the pipes; none of them blocks.
  Descriptor& input() { return input_; }
  Descriptor& output() { return output_; }
  Descriptor& errors() { return errors_; }

  void signalGroup(int number) const;
  // Nothing while the program runs. When it has ended, so has the rest of its group.
  std::optional<Exit> reap();

 private:
  CommandProcess() = default;

  pid_t pid_ = -1;
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
};

}  // namespace muster
