#pragma once

#include <string>
#include <vector>

#include "models/policy/recorded_load.h"
#include "models/store/sql/session.h"

namespace muster {

// What jobs and workers of a pool did, as far as it is retained: those that became work, and those
// launched, from `from` on and before `to`. A job becomes work when it is pushed, or, if it was
// blocked, when it is unblocked. Read piece by piece, each of a bounded number of rows whichever
// pools they belong to, so that no unit of work takes long. A piece is asked for with `next` of the
// one before; the first with an empty one.
class LoadHistory {
 public:
  LoadHistory(Session& session, PoolId pool, Time from, Time to)
      : s_(session), pool_(std::move(pool)), from_(from), to_(to) {}

  struct JobPiece {
    std::vector<JobHistory> jobs;  // in the order of their creation
    std::int64_t next = 0;
    bool is_last = false;
  };
  JobPiece jobs(std::int64_t after, int rows);

  struct WorkerPiece {
    std::vector<WorkerHistory> workers;  // in the order of their launch
    std::string next;
    bool is_last = false;
  };
  WorkerPiece workers(const std::string& after, int rows);

 private:
  std::int64_t beforeFirst();
  void addTries(JobPiece& piece, std::int64_t after);

  Session& s_;
  const PoolId pool_;
  const Time from_;
  const Time to_;
};

}  // namespace muster
