#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/job.h"
#include "models/policy/ref_rules.h"
#include "models/pool.h"
#include "models/resource.h"
#include "models/result.h"
#include "models/store/sql/foresight.h"
#include "models/store/sql/resource_rows.h"
#include "models/store/sql/session.h"

namespace muster {

// What jobs refer to. A ref keeps its resource from push to the end of the job: no time, pressure
// or quota evicts what a living job names.
class ResourceRefs {
 public:
  explicit ResourceRefs(Session& session) : s_(session) {}

  // A ref of a job that is about to be pushed.
  struct Found {
    std::size_t index = 0;  // in the refs of the job
    ResourceRow row = {};   // seq 0: nobody registered it, and it is handed over as sent
    std::string as = {};
    bool isRegistered() const { return row.seq != 0; }
  };
  // `pointer` is where the job stands in the request; `tenant` that of the job. kResourceGone,
  // kNotStored (still uploading), kInvalid (other_tenant, unknown_resource, duplicate_name), as the
  // table of pins says. Exclusive units only; what was found is good within the unit.
  Result<std::vector<Found>> resolve(const Pool& pool, const NewJob& job, const std::string& tenant,
                                     const std::string& pointer);
  // Whether these give the row of the job job_link::kHasRefs.
  static bool keepsAny(std::span<const Found> refs);
  // Keeps them for a job that was written; one that has ended already counts when it lives again.
  void add(std::int64_t job, std::span<const Found> refs, bool lives = true);
  // Keeps artifacts that became inputs of a living job.
  void addInputs(std::int64_t job, std::span<const InputRefs::Ref> inputs);
  // Of jobs that do not live: what they found for inputs is looked for anew.
  void forgetInputs(std::span<const std::int64_t> jobs);

  // Whether a job that has ended may live again: kResourceGone.
  Status checkLivesAgain(std::int64_t job);
  // The same of several; those that may not, in the order of numbers.
  std::vector<std::int64_t> goneAmong(std::span<const std::int64_t> jobs);

  // Counts of what ended and began in this transaction (Session::refs_moved and the like; also the
  // leases of tries that are over), in one order of resources. A resource that is evicting goes
  // with its last user.
  void settle();

  // Sets what the jobs refer to, in the order of names, for the workers that have claimed them.
  void attach(std::span<JobRow> rows);
  std::vector<JobInput> inputsOf(std::int64_t job);

  // The resource is gone: jobs that wait and refer to it are poisoned as `resource_lost`, at most
  // so many; how many. Exclusive units only.
  int endReaders(std::int64_t resource, int most);

 private:
  const std::optional<ResourceRow>& known(const std::string& name);
  struct Uses;
  std::map<std::int64_t, Uses> gather(std::vector<std::int64_t>& dropped);
  void evict(std::vector<std::int64_t> dropped, std::vector<std::int64_t> over);

  Session& s_;
  std::map<std::string, std::optional<ResourceRow>> known_;
};

}  // namespace muster
