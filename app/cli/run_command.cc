#include "app/cli/run_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <string_view>
#include <type_traits>
#include <variant>

#include "app/cli/command_line.h"

extern char** environ;

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

Environment environment() {
  Environment env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
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

int runMuster(int argc, char** argv, const RunService& service) {
  try {
    const Environment env = environment();
    const auto line = parseCommandLine({argv + (argc > 0 ? 1 : 0), argv + argc}, env);
    if (line) return runLine(*line, env, service);
    (line.error().exit_code == kExitOk ? std::cout : std::cerr) << line.error().text;
    return line.error().exit_code;
  } catch (const std::exception& error) {
    std::cerr << "muster: " << error.what() << "\n";
    return kExitFailed;
  }
}

}  // namespace muster
