#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

// What a command wrote, in bounded memory: the beginning up to a limit and the end.
class CommandOutput {
 public:
  static constexpr std::size_t kTailBytes = 4096;

  explicit CommandOutput(std::size_t limit) : limit_(limit) {}

  // What is over the limit goes to `spill` too, after all that was before it.
  using Spill = std::function<void(std::string_view)>;
  void spillTo(Spill spill) { spill_ = std::move(spill); }

  void add(std::string_view bytes);

  std::uint64_t size() const { return size_; }  // of all that was written
  bool overflowed() const { return size_ > limit_; }
  const std::string& beginning() const { return beginning_; }
  // The last lines, as text that may stand in a report.
  std::string lastLines() const;

 private:
  std::size_t limit_;
  std::uint64_t size_ = 0;
  std::string beginning_;
  std::string tail_;
  Spill spill_;
};

// Standard output as the result of a job: as it stands when it is JSON (white space around it does
// not count), else a JSON string without the newlines at its end. Nothing when there is no text.
std::optional<std::string> resultOf(std::string_view output);

}  // namespace muster
