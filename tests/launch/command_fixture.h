#pragma once

#include <string>
#include <vector>

#include "tests/launch/launch_fixture.h"

namespace muster::test {

struct CommandEnd {
  int exit_code = -1;
  std::string out;
  std::string err;

  bool says(const std::string& text) const { return out.find(text) != std::string::npos; }
};

std::ostream& operator<<(std::ostream& to, const CommandEnd& end);

// Runs the real `muster` against a service that launches workers.
class CommandFixture : public LaunchFixture {
 protected:
  using LaunchFixture::LaunchFixture;

  // Waits for it to end, at most for `patience`.
  CommandEnd muster(std::vector<std::string> args, std::chrono::milliseconds patience = kPatience);
  // The lines of its stdout.
  static std::vector<std::string> lines(const std::string& text);

 private:
  TempFolder folder_;
};

}  // namespace muster::test
