#include "models/policy/verdict.h"

#include <array>

namespace muster {

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kVerdicts = {"succeeded", "failed", "cancelled",
                                                         "skipped"};
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

std::string_view name(EdgeCondition condition) {
  constexpr std::array<std::string_view, 3> kConditions = {"after", "after_failure", "after_any"};
  return kConditions[static_cast<std::size_t>(condition)];
}

std::string_view reasonOf(EndedAs ended_as) {
  switch (ended_as) {
    case EndedAs::kUpstreamFailed:
      return "upstream_failed";
    case EndedAs::kUpstreamCancelled:
      return "upstream_cancelled";
    case EndedAs::kNotNeeded:
      return "not_needed";
    default:
      return "";
  }
}

EndedAs goneAs(JobStatus status, EndedAs ended_as) {
  if (ended_as != EndedAs::kItself) return ended_as;
  if (status == JobStatus::kDone) return EndedAs::kGoneDone;
  return status == JobStatus::kPoisoned ? EndedAs::kGonePoisoned : EndedAs::kGoneCancelled;
}

Verdict verdictOfLevel(const LevelCounts& level) {
  if (level.failed > 0) return Verdict::kFailed;
  return level.cancelled > 0 ? Verdict::kCancelled : Verdict::kSucceeded;
}

std::optional<Verdict> verdictOf(JobStatus status, EndedAs ended_as, const LevelCounts& children) {
  const bool gone = ended_as >= EndedAs::kGoneDone;
  if (children.open > 0 || (!gone && !isFinished(status))) return std::nullopt;
  switch (ended_as) {
    case EndedAs::kUpstreamFailed:
    case EndedAs::kGonePoisoned:
      return Verdict::kFailed;
    case EndedAs::kUpstreamCancelled:
    case EndedAs::kGoneCancelled:
      return Verdict::kCancelled;
    case EndedAs::kNotNeeded:
      return Verdict::kSkipped;
    case EndedAs::kGoneDone:
      return verdictOfLevel(children);
    case EndedAs::kItself:
      break;
  }
  if (status == JobStatus::kDone) return verdictOfLevel(children);
  return status == JobStatus::kPoisoned ? Verdict::kFailed : Verdict::kCancelled;
}

LevelCounts countedAs(Verdict verdict, EndedAs ended_as, bool may_fail) {
  if (may_fail || isConsequence(ended_as)) return {};
  return {0, verdict == Verdict::kFailed ? 1 : 0, verdict == Verdict::kCancelled ? 1 : 0};
}

std::optional<EndedAs> judgeEdge(EdgeCondition condition, Verdict upstream) {
  if (condition == EdgeCondition::kAfterAny) return std::nullopt;
  switch (upstream) {
    case Verdict::kSucceeded:
      if (condition == EdgeCondition::kAfter) return std::nullopt;
      return EndedAs::kNotNeeded;
    case Verdict::kFailed:
      if (condition == EdgeCondition::kAfterFailure) return std::nullopt;
      return EndedAs::kUpstreamFailed;
    case Verdict::kCancelled:
      return EndedAs::kUpstreamCancelled;
    case Verdict::kSkipped:
      return EndedAs::kNotNeeded;
  }
  return std::nullopt;
}

}  // namespace muster
