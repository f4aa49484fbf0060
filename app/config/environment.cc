#include "app/config/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

namespace muster {
namespace {

constexpr std::string_view kServicePrefix = "MUSTER_";

constexpr const char* kUsualVariables =
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TMPDIR TERM XDG_* "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS "
    "http_proxy https_proxy ftp_proxy all_proxy no_proxy "
    "HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY "
    "PYTHONPATH PYTHONUNBUFFERED VIRTUAL_ENV NODE_PATH JAVA_HOME LD_LIBRARY_PATH OMP_NUM_THREADS "
    "CUDA_VISIBLE_DEVICES NVIDIA_* ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS";

bool namesVariable(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

Environment ownEnvironment() {
  Environment env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

bool isVariablePattern(std::string_view text) {
  constexpr std::size_t kLongest = 255;
  if (text.empty() || text.size() > kLongest || text.starts_with(kServicePrefix)) return false;
  if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  if (text.ends_with('*')) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

std::vector<std::string> usualWorkerEnvironment() {
  std::istringstream names(kUsualVariables);
  return {std::istream_iterator<std::string>(names), {}};
}

Environment passedVariables(const Environment& own, const std::vector<std::string>& patterns) {
  Environment passed;
  for (const auto& variable : own) {
    const std::string& name = variable.first;
    if (name.starts_with(kServicePrefix)) continue;
    const bool named =
        std::any_of(patterns.begin(), patterns.end(),
                    [&](const std::string& pattern) { return namesVariable(pattern, name); });
    if (named) passed.insert(variable);
  }
  return passed;
}

}  // namespace muster
