#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

// A name in an archive as a path below its folder, without "." and slashes too many: "./a//b/" is
// "a/b", "./" is "". Nothing when it is absolute, holds a ".." or a NUL, or has a part longer than
// a file system takes.
std::optional<std::string> tarPath(std::string_view name);

// Whether a link at `path`, which tarPath() gave, stays in the folder: it may begin with as many
// ".." as there are folders above it, and goes down from there. A ".." further on is refused too:
// what stands before it may be a link itself, and then it leads elsewhere.
bool linkStaysInside(std::string_view path, std::string_view target);

}  // namespace muster
