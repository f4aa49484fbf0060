#pragma once

#include <sys/types.h>

#include <string>
#include <tl/expected.hpp>

#include "app/launch/launcher.h"

namespace muster {

// Starts the process: in a group of its own, standard input empty, both outputs into `output`,
// nothing else open, signals as a program expects them, the service's environment without the
// service's own variables and with those of the spec. The memory of the service is not copied,
// however large it is. The error is for a person.
tl::expected<pid_t, std::string> spawn(const ProcessSpec& spec, int output);

}  // namespace muster
