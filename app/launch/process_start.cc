#include "app/launch/process_start.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "models/store_url.h"

namespace muster {
namespace {

constexpr std::string_view kTokenFlag = "--token";

// Set before there is a second thread.
std::optional<mode_t> umask_at_start;
std::optional<rlimit> open_files_at_start;

}  // namespace

std::string coverArgument(std::string_view before, std::string argument) {
  if (before == kTokenFlag) return std::string(argument.size(), '*');
  const auto value = kTokenFlag.size() + 1;
  if (argument.starts_with(kTokenFlag) && argument.size() > value && argument[value - 1] == '=') {
    std::fill(argument.begin() + static_cast<std::ptrdiff_t>(value), argument.end(), '*');
    return argument;
  }
  // A store is given as --store URL and as --store=URL.
  const auto url = argument.find("postgres");
  if (url == std::string::npos || (url > 0 && argument[url - 1] != '=')) return argument;
  return argument.substr(0, url) + coverPassword(argument.substr(url));
}

std::vector<std::string> takeArguments(int argc, char** argv) {
  std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string covered = coverArgument(i > 0 ? args[i - 1] : "", args[i]);
    std::memcpy(argv[i + 1], covered.data(), covered.size());
  }
  return args;
}

void concealProcess(int argc, char** argv) {
  ::prctl(PR_SET_DUMPABLE, 0);
  std::size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  // Kept until the process ends: other parts keep pointers into it.
  char** const copy = new char*[count + 1];
  for (std::size_t i = 0; i < count; ++i) copy[i] = ::strdup(environ[i]);
  copy[count] = nullptr;
  environ = copy;
  // Behind the arguments the kernel has put what the process was started with.
  for (char** entry = argv + argc + 1; *entry != nullptr; ++entry) {
    ::explicit_bzero(*entry, std::strlen(*entry));
  }
}

void keepFilesPrivate() { umask_at_start = ::umask(S_IRWXG | S_IRWXO); }

std::optional<mode_t> umaskAtStart() { return umask_at_start; }

std::size_t raiseOpenFiles(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlimit before = limit;
  limit.rlim_cur = std::max<rlim_t>(before.rlim_cur, std::min<rlim_t>(wanted, before.rlim_max));
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return before.rlim_cur;
  if (!open_files_at_start) open_files_at_start = before;
  return limit.rlim_cur;
}

std::optional<rlimit> openFilesAtStart() { return open_files_at_start; }

}  // namespace muster
