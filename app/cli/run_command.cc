#include "app/cli/run_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <type_traits>
#include <variant>

#include "app/cli/command_line.h"
#include "app/config/environment.h"

namespace muster {
namespace {

std::size_t screenWidth() {
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known ? size.ws_col : 0;
}

bool mayColor(const CommandLine& line, const Environment& env) {
  const auto term = env.find("TERM");
  const bool is_dumb = term != env.end() && term->second == "dumb";
  return !line.no_color && !is_dumb && isatty(STDOUT_FILENO);
}

int runLine(const CommandLine& line, const Environment& env, const RunService& service) {
  Terminal terminal{std::cin, std::cout, std::cerr, line.json, mayColor(line, env), screenWidth()};
  return std::visit(
      [&](const auto& command) {
        if constexpr (std::is_constructible_v<ServiceCommand, decltype(command)>) {
          return service(command, env, terminal);
        } else if constexpr (requires { run(command, terminal); }) {
          return run(command, terminal);
        } else if constexpr (requires { run(command, line.service, env, terminal); }) {
          return run(command, line.service, env, terminal);
        } else {
          ApiClient api(line.service.url, line.service.token, line.service.trust);
          return run(command, api, terminal);
        }
      },
      line.command);
}

}  // namespace

int runMuster(const std::vector<std::string>& args, const RunService& service) {
  try {
    const Environment env = ownEnvironment();
    const auto line = parseCommandLine(args, env);
    if (line) return runLine(*line, env, service);
    (line.error().exit_code == kExitOk ? std::cout : std::cerr) << line.error().text;
    return line.error().exit_code;
  } catch (const std::exception& error) {
    std::cerr << "muster: " << error.what() << "\n";
    return kExitFailed;
  }
}

}  // namespace muster
