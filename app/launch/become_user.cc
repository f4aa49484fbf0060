#include "app/launch/become_user.h"

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster {
namespace {

// To become another user, and to end what then belongs to him.
constexpr std::array<unsigned, 3> kNeededToSwitch = {CAP_SETUID, CAP_SETGID, CAP_KILL};

bool maySwitchUser() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (const unsigned capability : kNeededToSwitch) {
    if ((sets[0].effective & (1U << capability)) == 0) return false;
  }
  return true;
}

}  // namespace

bool isOwnUser(const SystemUser& user) {
  return user.uid == ::geteuid() && user.gid == ::getegid();
}

std::optional<std::string> obstacleToBecoming(const SystemUser& user) {
  if (isOwnUser(user) || maySwitchUser()) return std::nullopt;
  return fmt::format(
      "this process may not run programs as \"{}\": expected it to run as root, or with "
      "CAP_SETUID, CAP_SETGID and CAP_KILL (AmbientCapabilities= of its unit)",
      user.name);
}

// The functions of the C library would change all threads of the service.
int becomeUser(const SystemUser& user) {
  if (::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return errno;
  if (::syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return errno;
  if (::syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) return errno;
  return 0;
}

}  // namespace muster
