#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// What our programs do first, while they have one thread.

// The arguments behind the name of the program. Tokens and passwords among them are then
// overwritten where every user of the machine can read them (/proc/PID/cmdline, ps).
std::vector<std::string> takeArguments(int argc, char** argv);

// The argument with a '*' for each character that is secret; `before` is the argument before it.
std::string coverArgument(std::string_view before, std::string argument);

// From here on no process of our user can read our memory, open files or environment through
// /proc or a debugger; root can. The environment stays as it is for getenv() and for programs that
// we start. No core is dumped.
void concealProcess(int argc, char** argv);

// From here on new files and folders are for our user alone. What we launch gets the mask that we
// were started with.
void keepFilesPrivate();

// The mask that this process was started with, if keepFilesPrivate() has changed it.
std::optional<mode_t> umaskAtStart();

// From here on this process may open `wanted` files, if its hard limit allows that; returns how
// many it may. What we launch gets the limit that we were started with: programs that use select()
// cannot cope with a higher one.
std::size_t raiseOpenFiles(std::size_t wanted);

// The limit that this process was started with, if raiseOpenFiles() has changed it.
std::optional<rlimit> openFilesAtStart();

}  // namespace muster
