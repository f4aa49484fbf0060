// The program people and the launcher call. It is small, so that a worker starts in a millisecond
// or two: server and store are in a program of their own beside it.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

#include "app/cli/run_command.h"
#include "app/launch/program_beside.h"

int main(int argc, char** argv) {
  const auto hand_over = [argv](const auto&, const auto&, muster::Terminal& terminal) {
    const std::string program = muster::programBeside("muster-service");
    ::execv(program.c_str(), argv);
    terminal.err << "muster: cannot start " << program << ": " << std::strerror(errno)
                 << "\n  install it in the folder that muster itself is in\n";
    return muster::kExitFailed;
  };
  return muster::runMuster(argc, argv, hand_over);
}
