#pragma once

#include <cstdint>

#include "models/store/store.h"

namespace muster {

struct DutyReport {
  std::int64_t leases_expired = 0;
  std::int64_t jobs_promoted = 0;
  std::int64_t jobs_expired = 0;
  std::int64_t workers_reaped = 0;
  std::int64_t records_removed = 0;

  // Some duty stopped at its limit: run again soon.
  bool more = false;
};

// For how long what has ended is kept.
struct Retention {
  std::chrono::hours records{24};
  std::chrono::days audit{90};
};

// Every periodic duty once, each for a bounded number of rows so that the writer is never held
// long. Idempotent: running it twice changes nothing the second time.
DutyReport runDuties(Store& store, const Retention& retention);
// The same as the leader; nothing when the lease is over.
DutyReport runDutiesAs(const LeaderLease& leader, Store& store, const Retention& retention);

}  // namespace muster
