#pragma once

#include <string>
#include <string_view>

namespace muster {

// The YAML document as JSON. Plain scalars get the type YAML's core schema gives them; quoted ones
// stay text. Throws YAML::Exception.
std::string yamlToJson(std::string_view yaml);

}  // namespace muster
