#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "app/worker/tar_header.h"

namespace muster {

// What the archive of a folder will hold: all below it, by name.
struct TarPlan {
  std::vector<TarEntry> entries;
  std::uint64_t size = 0;  // of the archive
};

// The error says what cannot be packed: a link that leads out of the folder, a device, a socket, a
// pipe, or what cannot be read.
tl::expected<TarPlan, std::string> planTar(int folder);

// Hands the archive over piece by piece, a few KiB at most. The same folder gives the same bytes.
// Ends when `take` answers false, then without an error.
using TakeTarBytes = std::function<bool(std::string_view)>;
tl::expected<void, std::string> packTar(int folder, const TarPlan& plan, const TakeTarBytes& take);

}  // namespace muster
