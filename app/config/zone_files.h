#pragma once

#include <memory>
#include <string>

#include "models/time_zone.h"

namespace muster {

// The zone of this IANA name as the machine's zone files have it; null when there is none.
std::shared_ptr<const TimeZone> findZone(const std::string& name);

}  // namespace muster
