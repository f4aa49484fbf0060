#include "tests/store/flow_model.h"

#include <fmt/format.h>

namespace muster::test {
namespace {

// Empty: the edge is met.
std::string refusal(EdgeCondition when, Verdict verdict) {
  if (when == EdgeCondition::kAfterAny) return "";
  if (verdict == Verdict::kSucceeded) return when == EdgeCondition::kAfter ? "" : "not_needed";
  if (verdict == Verdict::kFailed) return when == EdgeCondition::kAfter ? "upstream_failed" : "";
  return verdict == Verdict::kCancelled ? "upstream_cancelled" : "not_needed";
}

std::optional<Verdict> consequenceOf(const std::string& reason) {
  if (reason == "upstream_failed") return Verdict::kFailed;
  if (reason == "upstream_cancelled") return Verdict::kCancelled;
  if (reason == "not_needed") return Verdict::kSkipped;
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> FlowModel::levelOf(int parent) const {
  Verdict level = Verdict::kSucceeded;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Member& job = jobs[i];
    if (job.parent != parent) continue;
    const auto one = verdict(static_cast<int>(i));
    if (!one) return std::nullopt;
    if (job.may_fail || job.consequence) continue;
    if (*one == Verdict::kFailed) level = Verdict::kFailed;
    if (*one == Verdict::kCancelled && level == Verdict::kSucceeded) level = Verdict::kCancelled;
  }
  return level;
}

std::optional<Verdict> FlowModel::verdict(int place) const {
  const Member& job = jobs.at(static_cast<std::size_t>(place));
  const auto children = levelOf(place);
  if (!isOver(job) || !children) return std::nullopt;
  if (job.consequence) return job.consequence;
  if (job.status == JobStatus::kDone) return children;
  return job.status == JobStatus::kPoisoned ? Verdict::kFailed : Verdict::kCancelled;
}

std::string FlowModel::reasonOfCancel() const {
  if (cause.empty()) return "cancelled";
  return cause == "cancel" ? "flow_cancelled" : cause;
}

int FlowModel::remaining(int place) const {
  int open = 0;
  for (const Edge& edge : jobs.at(static_cast<std::size_t>(place)).edges) {
    open += verdict(edge.from) ? 0 : 1;
  }
  return open;
}

void FlowModel::poison(int place) {
  Member& job = jobs.at(static_cast<std::size_t>(place));
  if (job.cancel_requested) return stop(place);
  job.status = JobStatus::kPoisoned;
  job.token.clear();
  if (fail_fast && !job.may_fail && cause.empty()) cancelAll("fail_fast");
}

int FlowModel::loseAll() {
  int lost = 0;
  bool fails = false;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Member& job = jobs[i];
    if (job.status != JobStatus::kClaimed) continue;
    ++lost;
    if (job.cancel_requested) {
      stop(static_cast<int>(i));
      continue;
    }
    job.status = JobStatus::kPoisoned;
    job.token.clear();
    fails = fails || !job.may_fail;
  }
  if (fails && fail_fast && cause.empty()) cancelAll("fail_fast");
  return lost;
}

void FlowModel::stop(int place) {
  Member& job = jobs.at(static_cast<std::size_t>(place));
  job.status = JobStatus::kCancelled;
  job.cancel_requested = false;
  job.token.clear();
  job.reasons.insert(reasonOfCancel());
}

void FlowModel::cancelJob(int place) {
  Member& job = jobs.at(static_cast<std::size_t>(place));
  if (isOver(job)) return;
  job.reasons = {"cancelled"};
  if (job.status == JobStatus::kClaimed) {
    job.cancel_requested = true;
  } else {
    job.status = JobStatus::kCancelled;
  }
}

void FlowModel::remove(int place) {
  Member& job = jobs.at(static_cast<std::size_t>(place));
  job.gone = true;
  if (!isOver(job)) job.status = JobStatus::kCancelled;
}

void FlowModel::cancelAll(const std::string& why) {
  cause = why;
  closed = true;
  status = "cancelling";
  reason = why == "cancel" ? text : why;
  for (Member& job : jobs) {
    if (job.status == JobStatus::kClaimed) job.cancel_requested = true;
    // Where the failure that began it is still being told, settle() says which came first.
    const bool at_once = job.status == JobStatus::kBlocked && why != "fail_fast";
    if (job.status != JobStatus::kPending && !at_once) continue;
    job.status = JobStatus::kCancelled;
    job.reasons = {reasonOfCancel()};
  }
}

std::vector<int> FlowModel::retry(const std::optional<std::vector<int>>& chosen) {
  std::set<int> reached;
  const auto ends = [this](int place) {
    const Member& job = jobs.at(static_cast<std::size_t>(place));
    return isOver(job) && job.status != JobStatus::kDone && !job.gone;
  };
  std::set<int> below;  // jobs that are put back, and all that is below these
  const std::function<void(int)> reach = [&](int place) {
    const bool is_below =
        ends(place) || below.contains(jobs.at(static_cast<std::size_t>(place)).parent);
    const bool is_news = is_below && below.insert(place).second;
    if (!reached.insert(place).second && !is_news) return;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      for (const Edge& edge : jobs[i].edges) {
        if (edge.from == place) reach(static_cast<int>(i));
      }
      if (jobs[i].parent == place && is_below) reach(static_cast<int>(i));
    }
    const int parent = jobs.at(static_cast<std::size_t>(place)).parent;
    if (parent >= 0 && jobs[static_cast<std::size_t>(parent)].status == JobStatus::kDone) {
      reach(parent);
    }
  };
  if (chosen) {
    for (const int place : *chosen) reach(place);
  } else {
    for (std::size_t i = 0; i < jobs.size(); ++i) reached.insert(static_cast<int>(i));
  }
  std::vector<int> put_back;
  for (const int place : reached) {
    if (!ends(place)) continue;
    put_back.push_back(place);
    Member& job = jobs[static_cast<std::size_t>(place)];
    job.status = JobStatus::kBlocked;
    job.reasons.clear();
    job.consequence.reset();
    job.cancel_requested = false;
    job.expires_at.reset();
  }
  if (ended()) ++round;
  deadline.reset();
  status = "running";
  cause.clear();
  reason.clear();
  return put_back;
}

std::set<std::string> FlowModel::refusals(const Member& job, bool* waits) const {
  std::set<std::string> reasons;
  for (const Edge& edge : job.edges) {
    const auto upstream = verdict(edge.from);
    if (!upstream) {
      *waits = true;
    } else if (const auto why = refusal(edge.when, *upstream); !why.empty()) {
      reasons.insert(why);
    }
  }
  return reasons;
}

std::vector<std::string> FlowModel::settle(const std::function<std::string(int)>& seen) {
  std::vector<int> fresh;  // cancelled for another's end, now
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Member& job = jobs[i];
      if (job.status != JobStatus::kBlocked) continue;
      bool waits = false;
      const auto reasons = refusals(job, &waits);
      const std::string written = seen(static_cast<int>(i));
      if (!reasons.empty() && (cause.empty() || consequenceOf(written))) {
        const std::string why = consequenceOf(written) ? written : *reasons.begin();
        job.status = JobStatus::kCancelled;
        job.reasons = {why};
        job.consequence = consequenceOf(why);
        fresh.push_back(static_cast<int>(i));
      } else if (!cause.empty() && !consequenceOf(written)) {
        job.status = JobStatus::kCancelled;
        job.reasons = {reasonOfCancel()};
      } else if (cause.empty() && reasons.empty() && !waits) {
        job.status = JobStatus::kPending;
      } else {
        continue;
      }
      again = true;
    }
  }
  std::vector<std::string> faults;
  for (const int place : fresh) {
    const Member& job = jobs[static_cast<std::size_t>(place)];
    bool waits = false;
    if (!refusals(job, &waits).contains(*job.reasons.begin())) {
      faults.push_back(job.name + " was cancelled as " + *job.reasons.begin() +
                       ", and no edge of it says so");
    }
  }
  end();
  return faults;
}

void FlowModel::end() {
  const auto top = levelOf(-1);
  if (ended() || !closed || !top) return;
  if (cause == "cancel") {
    status = "cancelled";
  } else if (!cause.empty() || *top == Verdict::kFailed) {
    status = "failed";
    if (cause.empty()) reason = "job_failed";
  } else if (*top == Verdict::kCancelled) {
    status = "cancelled";
    reason = "job_cancelled";
  } else {
    status = "succeeded";
  }
  deadline.reset();
  for (const std::string when : {"succeeded", "failed", "ended"}) {
    if (when == status || when == "ended") {
      callbacks.push_back(fmt::format("{} of {} in {}", when, status, round));
    }
  }
}

}  // namespace muster::test
