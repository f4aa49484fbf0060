#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/time.h"

namespace muster {

// kAway: nobody has heard of it for a while. kLost: for so long that what it holds is given up.
enum class HostState { kUp, kAway, kLost };

std::string_view name(HostState state);

// A machine with a folder for resources, or one that holds some.
struct Host {
  std::string name;
  std::string folder_id;  // of its host folder; empty: it never told of one
  std::string data_dir;   // where that is, there; empty: none
  HostState state = HostState::kUp;
  Time last_seen;
  std::optional<std::int64_t> disk_bytes_in_use, disk_bytes_free, disk_limit_bytes;
  std::int64_t resources = 0;  // that it holds; set where it is shown
};

}  // namespace muster
