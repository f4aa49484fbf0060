#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app/config/system_user.h"

namespace muster {

// A process to be started. No shell reads the command.
struct ProcessSpec {
  std::string name;  // unique; a worker's id for workers
  std::vector<std::string> command;
  std::map<std::string, std::string> env;  // all of it
  std::string cwd;                         // empty: the service's own
  std::optional<SystemUser> user = {};     // absent: the service's own
};

// Starts the process: in a group of its own, standard input empty, both outputs into `output`,
// nothing else open, signals as a program expects them, the environment of the spec and the umask
// that the service was started with. Of the service's capabilities it has none that root would not
// give it anyway. The memory of the service is not copied, however large it is. The error is for a
// person. Thread-safe, like all here.
tl::expected<pid_t, std::string> spawn(const ProcessSpec& spec, int output);

// What spawn() would run for the program: found in `folders` (like PATH) unless it has a slash,
// and then seen from `cwd`, where it runs. The error says why it could not be run, as far as that
// shows without starting it.
tl::expected<std::string, std::string> findProgram(const std::string& program,
                                                   const std::string& cwd,
                                                   const std::string& folders);

// A descriptor that becomes readable when the process has ended; -1 with errno.
int openPidfd(pid_t pid);

// Signals exactly the process that the pidfd was opened for, whatever its number means by now.
void signalProcess(int pidfd, int number);

// Signals the group that this process leads, or has led, and no other. False if the kernel cannot
// do that by a pidfd (before Linux 6.9).
bool signalGroup(int pidfd, int number);

// Whether the process has ended; it may be a zombie.
bool hasEnded(int pidfd);

// How a process of spawn() ended; waits until it has. Whoever started it asks once.
struct ChildEnd {
  int status = 0;  // as of waitpid()
  rusage usage{};
};
ChildEnd collectChild(pid_t pid);

// Whether processes that lost their parent become children of this one: it is process 1 of a
// container, or was made a subreaper.
bool adoptsOrphans();

// Lets go of adopted processes that have ended; those of spawn() are left to whoever started them.
void reapOrphans();

}  // namespace muster
