#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "models/time.h"
#include "models/trigger_spec.h"

namespace muster {

// The value of a header, "" when it was not sent. Names are given in lower case.
using HeaderLookup = std::function<std::string(const std::string& lower_case_name)>;
// The value of an environment variable, for secrets like env:NAME.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

// Why the sender has not proven who it is; nothing when it has. Looks at the bytes as they came and
// takes the same time wherever a signature differs. Must not be asked about type none.
std::optional<std::string> signatureFault(const TriggerAuth& auth, const HeaderLookup& header,
                                          std::string_view body, Time now,
                                          const VariableLookup& variable);

}  // namespace muster
