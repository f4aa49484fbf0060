#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/job.h"

namespace muster {

// How a job of a flow and all its children ended.
enum class Verdict { kSucceeded, kFailed, kCancelled, kSkipped };
std::string_view name(Verdict verdict);

// What an edge asks of the verdict of its upstream job.
enum class EdgeCondition { kAfter, kAfterFailure, kAfterAny };
std::string_view name(EdgeCondition condition);

// How a job of a flow ended, beyond its status. The first four are of jobs that are still there;
// the numbers are those of flow_jobs.ended_as.
enum class EndedAs {
  kItself = 0,  // as its status says
  kUpstreamFailed = 1,
  kUpstreamCancelled = 2,
  kNotNeeded = 3,
  kGoneDone = 4,  // its row was removed with its pool
  kGonePoisoned = 5,
  kGoneCancelled = 6,
};
// The reason on a job that was cancelled so; empty for the others.
std::string_view reasonOf(EndedAs ended_as);
// It was cancelled because of another job, whose end is counted already.
inline bool isConsequence(EndedAs ended_as) {
  return ended_as == EndedAs::kUpstreamFailed || ended_as == EndedAs::kUpstreamCancelled ||
         ended_as == EndedAs::kNotNeeded;
}
// For a job with this status whose row is about to go. Consequences stay what they are.
EndedAs goneAs(JobStatus status, EndedAs ended_as);

// The jobs of one level, by their verdicts; those that do not count are in none of the last two.
struct LevelCounts {
  std::int64_t open = 0;  // without a verdict
  std::int64_t failed = 0;
  std::int64_t cancelled = 0;
};

// How a level whose jobs all have a verdict ended.
Verdict verdictOfLevel(const LevelCounts& level);

// Absent while the job runs or one of its children is open. `status` means nothing for a job that
// is gone.
std::optional<Verdict> verdictOf(JobStatus status, EndedAs ended_as, const LevelCounts& children);

// What a verdict adds to the level of its job: nothing if the job may fail, or ended as a
// consequence. It does not take the job from the open ones.
LevelCounts countedAs(Verdict verdict, EndedAs ended_as, bool may_fail);

// Absent: the edge is met. Else its downstream job is cancelled, for this reason.
std::optional<EndedAs> judgeEdge(EdgeCondition condition, Verdict upstream);

}  // namespace muster
