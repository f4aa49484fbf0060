#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace muster {

// What lies in the folder of a command's outputs, as it was found there.
struct FoundOutput {
  enum class Kind { kFile, kFolder, kOther };
  std::string name;
  Kind kind = Kind::kFile;

  bool operator==(const FoundOutput&) const = default;
};

// Its artifacts, in the order of their names. The error says why the try fails: too many, a name
// that no artifact may have, or what is neither a file nor a folder. `spilled`: standard output is
// an artifact too, under its own name.
tl::expected<std::vector<FoundOutput>, std::string> planOutputs(std::vector<FoundOutput> found,
                                                                bool spilled);

// The name of standard output as an artifact.
constexpr const char* kStdoutArtifact = "stdout";

}  // namespace muster
