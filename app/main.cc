// The program people and the launcher call. It is small, so that a worker starts in a millisecond
// or two: server and store are in a program of their own beside it.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "app/cli/run_command.h"
#include "app/launch/process_start.h"
#include "app/launch/program_beside.h"

int main(int argc, char** argv) {
  std::vector<std::string> args = muster::takeArguments(argc, argv);
  // A launched worker knows nothing that its job is not told too.
  if (std::getenv("MUSTER_LAUNCH_TOKEN") == nullptr) muster::concealProcess(argc, argv);
  const auto hand_over = [&args, argv](const auto&, const auto&, muster::Terminal& terminal) {
    std::string program = muster::programBeside("muster-service");
    std::vector<char*> words = {argv[0]};
    for (std::string& arg : args) words.push_back(arg.data());
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    terminal.err << "muster: cannot start " << program << ": " << std::strerror(errno)
                 << "\n  install it in the folder that muster itself is in\n";
    return muster::kExitFailed;
  };
  return muster::runMuster(args, hand_over);
}
