#include "models/load.h"

namespace muster {

void LoadCounts::merge(const LoadCounts& other) {
  added += other.added;
  claimed += other.claimed;
  done += other.done;
  failed += other.failed;
  poisoned += other.poisoned;
  cancelled += other.cancelled;
  waits.merge(other.waits);
  runs.merge(other.runs);
  totals.merge(other.totals);
  run_time += other.run_time;
}

const Durations& LoadCounts::of(std::string_view signal) const {
  return signal == "run" ? runs : signal == "total" ? totals : waits;
}

}  // namespace muster
