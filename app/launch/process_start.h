#pragma once

#include <sys/types.h>

#include <optional>

namespace muster {

// What our programs do first, while they have one thread.

// From here on new files and folders are for our user alone. What we launch gets the mask that we
// were started with.
void keepFilesPrivate();

// The mask that this process was started with, if keepFilesPrivate() has changed it.
std::optional<mode_t> umaskAtStart();

}  // namespace muster
