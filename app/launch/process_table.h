#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace muster {

// Names the process for good: "pid:start:boot". A pid is given again one day, with another start.
// Nothing when there is no such process, or it is a zombie.
std::optional<std::string> processKey(pid_t pid);

// 0 when the key is none.
pid_t pidOf(const std::string& process_key);

// Whether just this process still runs.
bool isAlive(const std::string& process_key);

}  // namespace muster
