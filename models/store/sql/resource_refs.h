#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/job.h"
#include "models/resource.h"
#include "models/result.h"
#include "models/store/sql/foresight.h"
#include "models/store/sql/session.h"

namespace muster {

// What jobs refer to. A ref keeps its resource from push to the end of the job: no time, pressure
// or quota evicts what a living job names.
class ResourceRefs {
 public:
  explicit ResourceRefs(Session& session) : s_(session) {}

  // A registered resource that a job is to refer to.
  struct Found {
    std::int64_t resource = 0;
    std::string as;
  };
  // The refs of a job that is about to be pushed. `pointer` is where the job stands in the request.
  // kResourceGone, kNotStored (still uploading), kInvalid (other_tenant, unknown_resource), as the
  // table of pins says. Exclusive units only.
  Result<std::vector<Found>> resolve(const NewJob& job, const std::string& pointer);
  // Keeps them for a job that was written. Its row has job_link::kHasRefs.
  void add(std::int64_t job, std::span<const Found> refs);

  // Whether a job that has ended may live again: kResourceGone.
  Status checkLivesAgain(std::int64_t job);

  // Counts of what ended and began in this transaction (Session::refs_moved), in one order of
  // resources. A resource that is evicting goes with its last user.
  void settle();

  // What a claimed job refers to, in the order of its refs.
  std::vector<JobInput> inputsOf(std::int64_t job);

  // The resource is gone: jobs that wait and refer to it are poisoned as `resource_lost`, at most
  // so many; how many.
  int endReaders(std::int64_t resource, int most);

 private:
  Session& s_;
};

}  // namespace muster
