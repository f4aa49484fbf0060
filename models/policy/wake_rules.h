#pragma once

#include "models/event.h"

namespace muster {

// A worker may find a job that was not there before. One that is created or retried and waits for
// others (the details say so) is none until it is unblocked.
inline bool mayBringWork(const Event& event) {
  return addsWork(event) || event.type == event_type::kJobReleased ||
         event.type == event_type::kJobUnpinned ||
         (event.type == event_type::kJobRetried && event.details.empty()) ||
         event.type == event_type::kJobFailed || event.type == event_type::kJobReassigned;
}

// A tenant's or a node's place is free again.
inline bool mayFreeAPlace(const Event& event) {
  return event.type == event_type::kJobCompleted || event.type == event_type::kJobPoisoned ||
         event.type == event_type::kJobCancelled;
}

inline bool endsAJob(const Event& event) {
  return mayFreeAPlace(event) || event.type == event_type::kJobExpired;
}

// It has ended, or nobody will see it end any more.
inline bool endsAFlow(const Event& event) {
  return event.type == event_type::kFlowSucceeded || event.type == event_type::kFlowFailed ||
         event.type == event_type::kFlowCancelled || event.type == event_type::kFlowDeleted;
}

}  // namespace muster
