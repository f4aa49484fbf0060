// The commands that need the server or the store. `muster` hands them over to this program.
#include "app/cli/run_command.h"
#include "app/launch/process_start.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args = muster::takeArguments(argc, argv);
  muster::concealProcess(argc, argv);
  muster::keepFilesPrivate();
  return muster::runMuster(args, [](const muster::ServiceCommand& command, const auto& env,
                                    muster::Terminal& terminal) {
    return std::visit([&](const auto& each) { return muster::run(each, env, terminal); }, command);
  });
}
