#pragma once

#include <cstddef>
#include <string>

namespace muster {

// "[██████░░░░]", `width` places in all; full when there is nothing to do.
std::string progressBar(std::size_t done, std::size_t total, std::size_t width);

}  // namespace muster
