#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/durations.h"
#include "models/job.h"
#include "models/policy/heap.h"
#include "models/policy/retry.h"
#include "models/policy/simulation.h"
#include "models/time.h"

namespace muster {

// What is on record of one job.
struct JobHistory {
  // A try that did not end well.
  struct Try {
    Time claimed_at;
    Time ended_at;
    bool given_back = false;  // and so could be claimed again at once
  };

  std::int64_t seq = 0;
  JobStatus status = JobStatus::kPending;
  int priority = 0;
  Time created_at;
  std::optional<Time> unblocked_at = {};  // of a job of a flow: until then it waited for others
  Time available_at;                      // as it was for the last try
  std::optional<Time> claimed_at;
  std::optional<Time> finished_at;
  std::vector<Try> tries = {};  // in their order

  // From when it counts.
  Time workSince() const { return unblocked_at.value_or(created_at); }
};

// What is on record of one launched worker.
struct WorkerHistory {
  Time launched_at;
  std::optional<Time> registered_at;
  std::optional<Time> ended_at;
  bool worked = false;  // it finished a try, well or badly
  std::string host = {};
};

// Goes through the history of a pool, job by job and worker by worker, and tells what the load was
// and what serving it took. Its size does not grow with the history, but for the workers that were
// there at the same time.
class RecordedLoad {
 public:
  // What has not ended by `now` counts with the time known then. `retry` is how long a failed job
  // waits, where the record does not say.
  RecordedLoad(Time now, RetryPolicy retry) : now_(now), retry_(retry) {}

  // The job as it is to be replayed; nothing for one that is left out.
  std::optional<RecordedJob> add(const JobHistory& job);
  // In the order of their launch.
  void add(const WorkerHistory& worker);

  std::int64_t jobs() const { return jobs_; }
  std::int64_t tries() const { return tries_; }
  std::int64_t leftOut() const { return left_out_; }      // cancelled before a try, or not due yet
  std::int64_t stillOpen() const { return still_open_; }  // pending or running
  std::size_t hosts() const { return hosts_.size(); }
  // Some of the boot times, spread evenly over all, in their order.
  const std::vector<Millis>& bootTimes() const { return boots_; }

  LoadFigures figures() const;

 private:
  struct TryTimes {
    Time available_at;
    Time claimed_at;               // now, if it has not begun
    std::optional<Time> ended_at;  // absent: it has not
    bool begun;
  };
  std::size_t triesOf(const JobHistory& job) const;
  TryTimes timesOf(const JobHistory& job, std::size_t number) const;
  void note(const TryTimes& times);
  void noteBoot(Millis boot);

  const Time now_;
  const RetryPolicy retry_;
  std::int64_t jobs_ = 0;
  std::int64_t tries_ = 0;
  std::int64_t left_out_ = 0;
  std::int64_t still_open_ = 0;
  LoadFigures figures_;
  Durations waits_;
  Heap<Time, std::less<>> there_;  // when they end
  std::set<std::string> hosts_;
  std::vector<Millis> boots_;
  std::int64_t boots_seen_ = 0;
  std::int64_t boots_between_ = 1;  // each that many is kept
};

}  // namespace muster
