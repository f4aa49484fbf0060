#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "app/worker/descriptor.h"

namespace muster {

// Opens `path` below the folder step by step and follows no link on the way, nor at its end. The
// error is an errno; ELOOP or ENOTDIR where a link stands.
tl::expected<Descriptor, int> openBelow(int folder, std::string_view path, int flags,
                                        mode_t mode = 0);

// All of it: 0, or the errno of what went wrong.
int writeAll(int fd, std::string_view bytes);

// "NAME: what the errno says".
std::string fileFault(std::string_view name, int error);

}  // namespace muster
