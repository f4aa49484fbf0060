#pragma once

#include <optional>
#include <string>

#include "models/ids.h"
#include "models/result.h"

namespace muster {

class Store;

// What a job handed back beside its result. kNotFound.
struct ListArtifacts {
  JobId job;
  struct Reply {
    std::string items;  // a JSON array
  };
};
Result<ListArtifacts::Reply> run(const ListArtifacts& op, Store& store);

// The value of one of them, as JSON. kNotFound, kNotStored (it is a reference).
struct FindArtifact {
  JobId job;
  std::string name;
  struct Reply {
    std::string value;
  };
};
Result<FindArtifact::Reply> run(const FindArtifact& op, Store& store);

}  // namespace muster
