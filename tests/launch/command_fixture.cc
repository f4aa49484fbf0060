#include "tests/launch/command_fixture.h"

#include <ostream>
#include <sstream>

namespace muster::test {

std::ostream& operator<<(std::ostream& to, const CommandEnd& end) {
  return to << "exit " << end.exit_code << "\n" << end.out << "---\n" << end.err;
}

CommandEnd CommandFixture::muster(std::vector<std::string> args,
                                  std::chrono::milliseconds patience) {
  args.insert(args.begin(), musterBinary());
  const auto errors = folder_ / "stderr.txt";
  std::filesystem::remove(errors);
  ChildProcess process({args, folder_.path(), {"MUSTER_URL=" + service().url()}});
  const int code = process.wait(patience).value_or(-1);
  return {code, process.out(), process.err()};
}

std::vector<std::string> CommandFixture::lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

}  // namespace muster::test
