#pragma once

#include <string>

namespace muster {

// The common name in the subject of a certificate in PEM. "" if there is none, or more than one:
// nothing says which of them counts.
std::string commonNameIn(const std::string& pem);

}  // namespace muster
