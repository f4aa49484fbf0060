#pragma once

#include <string>
#include <string_view>

namespace muster {

// The value of a `traceparent` header (W3C Trace Context) in version 00; empty if the header is not
// valid, in which case it counts as absent. Of a later version the parts that version 00 knows are
// kept.
std::string readTraceparent(std::string_view header);

}  // namespace muster
