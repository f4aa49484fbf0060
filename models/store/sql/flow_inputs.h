#pragma once

#include <map>
#include <span>

#include "models/policy/ref_rules.h"
#include "models/store/sql/session.h"

namespace muster {

// What the inputs of jobs come to when the jobs become pending: artifacts of their upstream jobs
// become refs.
class FlowInputs {
 public:
  explicit FlowInputs(Session& session) : s_(session) {}

  struct Found {
    InputRefs refs;
    bool ends_flow = false;  // the flow fails fast, and this job may not fail
  };
  // Of those rows that have job_link::kHasInputs, by their numbers. No statement if there are none.
  std::map<std::int64_t, Found> find(std::span<const JobRow> rows);

  // The same for jobs that are pending already, in an exclusive unit: they keep what is found, or
  // are poisoned, and rows[i].job.status says so.
  void give(std::span<JobRow> rows);

 private:
  Session& s_;
};

}  // namespace muster
