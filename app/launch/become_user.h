#pragma once

#include <optional>
#include <string>

#include "app/config/system_user.h"

namespace muster {

// Whether this process is that user already, with that group.
bool isOwnUser(const SystemUser& user);

// Why this process cannot run programs for the user, and what would help. Nothing if it can.
std::optional<std::string> obstacleToBecoming(const SystemUser& user);

// Takes on user and groups for good; 0, or an errno, after which the caller must end. For a new
// process before it runs its program: only system calls, of which none reaches another thread.
int becomeUser(const SystemUser& user);

}  // namespace muster
