#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/run_command.h"

extern char** environ;

int main(int argc, char** argv) {
  muster::Environment env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  try {
    return muster::runMuster({argv + (argc > 0 ? 1 : 0), argv + argc}, env);
  } catch (const std::exception& error) {
    std::cerr << "muster: " << error.what() << "\n";
    return muster::kExitFailed;
  }
}
