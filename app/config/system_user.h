#pragma once

#include <sys/types.h>

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace muster {

// A user of this machine, as programs are run for him.
struct SystemUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};  // all of them, `gid` included
  std::string home = {};
  std::string shell = {};

  bool operator==(const SystemUser&) const = default;
};

// Looks the user up by name. With `group`, programs run with that group in place of the user's
// usual one. The error names what this machine does not know.
tl::expected<SystemUser, std::string> findSystemUser(const std::string& user,
                                                     const std::string& group = "");

}  // namespace muster
