#include "app/config/system_user.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <array>

namespace muster {

tl::expected<SystemUser, std::string> findSystemUser(const std::string& user,
                                                     const std::string& group) {
  std::array<char, 16384> texts{};
  SystemUser found;
  passwd entry{};
  passwd* known = nullptr;
  if (::getpwnam_r(user.c_str(), &entry, texts.data(), texts.size(), &known) != 0 ||
      known == nullptr) {
    return tl::unexpected(fmt::format("no user of this machine is named \"{}\"", user));
  }
  found.name = user;
  found.uid = entry.pw_uid;
  found.gid = entry.pw_gid;
  found.home = entry.pw_dir;
  found.shell = entry.pw_shell;
  if (!group.empty()) {
    struct group named {};
    struct group* known_group = nullptr;
    if (::getgrnam_r(group.c_str(), &named, texts.data(), texts.size(), &known_group) != 0 ||
        known_group == nullptr) {
      return tl::unexpected(fmt::format("no group of this machine is named \"{}\"", group));
    }
    found.gid = named.gr_gid;
  }
  int count = 64;
  found.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(user.c_str(), found.gid, found.groups.data(), &count) < 0) {
    found.groups.resize(static_cast<std::size_t>(count));
  }
  found.groups.resize(static_cast<std::size_t>(count));
  return found;
}

}  // namespace muster
