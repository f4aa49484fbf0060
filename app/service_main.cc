// The commands that need the server or the store. `muster` hands them over to this program.
#include "app/cli/run_command.h"

int main(int argc, char** argv) {
  const auto here = [](const auto& command, const auto& env, muster::Terminal& terminal) {
    return muster::run(command, env, terminal);
  };
  return muster::runMuster(argc, argv, {here, here});
}
