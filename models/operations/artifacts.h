#pragma once

#include <optional>
#include <string>

#include "models/ids.h"
#include "models/operations/resources.h"
#include "models/result.h"

namespace muster {

class Store;

// Makes the resource of an artifact, which is uploaded like any other; it has the id
// jobs/{job_id}/{name}, the scope flow:ID or job:ID, and the tenant of the job. What the job had
// under that name is gone from here on. The lease must be held. kNotFound, kLeaseLost, and what
// RegisterResource says.
struct RegisterArtifact {
  JobId job;
  std::string lease_token;
  std::string name;
  NewResource resource;  // without id, scope and tenant
  ResourceCaller by = {};
  using Reply = Resource;
};
Result<Resource> run(const RegisterArtifact& op, Store& store);

// What a job handed back beside its result. kNotFound.
struct ListArtifacts {
  JobId job;
  struct Reply {
    std::string items;  // a JSON array
  };
};
Result<ListArtifacts::Reply> run(const ListArtifacts& op, Store& store);

// One of them: its value as JSON, or where its content is. kNotFound, kNotStored (a reference to
// what nobody registered).
struct FindArtifact {
  JobId job;
  std::string name;
  ResourceCaller by = {};
  struct Reply {
    std::string value;  // of an inline one
    std::string uid;    // of the resource whose content it is; empty: it is inline
  };
};
Result<FindArtifact::Reply> run(const FindArtifact& op, Store& store);

}  // namespace muster
