#pragma once

#include "models/event.h"

namespace muster {

// A worker may find a job that was not there before. A job that is created blocked is none: it is
// when it is unblocked.
inline bool mayBringWork(const Event& event) {
  return addsWork(event) || event.type == event_type::kJobReleased ||
         event.type == event_type::kJobRetried || event.type == event_type::kJobFailed ||
         event.type == event_type::kJobReassigned;
}

// A tenant's or a node's place is free again.
inline bool mayFreeAPlace(const Event& event) {
  return event.type == event_type::kJobCompleted || event.type == event_type::kJobPoisoned ||
         event.type == event_type::kJobCancelled;
}

inline bool endsAJob(const Event& event) {
  return mayFreeAPlace(event) || event.type == event_type::kJobExpired;
}

}  // namespace muster
