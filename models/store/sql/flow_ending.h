#pragma once

#include <string_view>

#include "models/store/sql/flow_rows.h"
#include "models/store/sql/session.h"

namespace muster {

// The end of flows, by themselves or at somebody's word. All of it runs alone.
class FlowEnding {
 public:
  explicit FlowEnding(Session& session) : s_(session) {}

  // The flow is to end, for a cause that stands in `flows.cause`: it takes no more jobs, and its
  // jobs are to be cancelled.
  void beginCancel(FlowRow& row, std::string_view cause, const std::string& reason);
  // Cancels what has not started of the next jobs, and asks those that are claimed to stop; how
  // many it looked at. After the last one the flow ends, if nothing of it is claimed.
  int cancelSome(FlowRow& row, int most);
  // The flow is closed, and each job of its top level has a verdict.
  void end(FlowRow& row);

  // The flow is not there any more; its jobs go bit by bit.
  void beginRemove(FlowRow& row);
  int removeSome(FlowRow& row, int most);

  std::int64_t endOverdue(int limit);
  std::int64_t removeOld(Time before, int limit);

 private:
  // Resources of the flow, at most so many; how many.
  int releaseScope(const FlowRow& row, int most);
  void pushCallbacks(const FlowRow& row);

  Session& s_;
};

}  // namespace muster
