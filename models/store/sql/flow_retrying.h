#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/policy/flow_retry.h"
#include "models/result.h"
#include "models/store/sql/flow_rows.h"
#include "models/store/sql/session.h"

namespace muster {

// Jobs of flows are tried again. All of it runs alone.
class FlowRetrying {
 public:
  explicit FlowRetrying(Session& session) : s_(session) {}

  // Puts back every job that ended otherwise than done, or only those chosen and what depends on
  // them, up to kPutBackAtOnce in this transaction; how many in all. A flow that has ended runs
  // again, in its next round, with `deadline` or without one. kNotRetryable while the flow is being
  // cancelled, kUniqueKeyTaken, kResourceGone, and then nothing has changed.
  Result<std::int64_t> retry(FlowRow& row, const std::optional<std::vector<std::int64_t>>& chosen,
                             std::optional<Millis> deadline = {});
  // The next of the jobs that are to be put back; how many.
  int putBack(FlowRow& row, int most);

 private:
  Status checkUniqueKeys(const FlowRow& row, const FlowRetryPlan& plan);
  // Of the jobs that would live again: kResourceGone.
  Status checkResources(const FlowRetryPlan& plan);
  void mark(const FlowRow& row, const std::vector<FlowJobState>& jobs, const FlowRetryPlan& plan);

  Session& s_;
};

}  // namespace muster
