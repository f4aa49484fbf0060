#include "models/policy/recorded_load.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMostBoots = 1000;
constexpr std::size_t kMostHosts = 1000;
constexpr double kNoJitter = 0.5;

Millis since(Time from, Time to) { return std::max(to - from, Millis(0)); }

// A try that is not among those without success: it runs, or ended well.
bool hasLastTry(const JobHistory& job) {
  return job.claimed_at && (job.status == JobStatus::kClaimed || job.status == JobStatus::kDone);
}

}  // namespace

// One that waits for its next try counts it once that is due.
std::size_t RecordedLoad::triesOf(const JobHistory& job) const {
  const bool is_due = job.status == JobStatus::kPending && job.available_at <= now_;
  return job.tries.size() + (is_due || hasLastTry(job) ? 1 : 0);
}

// The store overwrites when a job may be claimed with each try, so that is known for the last one
// alone. The first could begin with the job, or once it was unblocked, and those between after the
// usual pause, but not later than they did.
RecordedLoad::TryTimes RecordedLoad::timesOf(const JobHistory& job, std::size_t number) const {
  TryTimes times{job.workSince(), now_, std::nullopt, true};
  if (number < job.tries.size()) {
    times.claimed_at = job.tries[number].claimed_at;
    times.ended_at = job.tries[number].ended_at;
  } else if (hasLastTry(job)) {
    times.claimed_at = *job.claimed_at;
    times.ended_at = job.finished_at;
  } else {
    times.begun = false;
  }
  const bool waits_for_another = job.status == JobStatus::kPending && job.available_at > now_;
  if (number + 1 == triesOf(job) && !waits_for_another) {
    times.available_at = std::max(job.workSince(), job.available_at);
  } else if (number > 0) {
    const JobHistory::Try& before = job.tries[number - 1];
    const Millis pause =
        before.given_back ? Millis(0) : retryDelay(retry_, static_cast<int>(number), kNoJitter);
    times.available_at = before.ended_at + pause;
  }
  times.available_at = std::min(times.available_at, times.claimed_at);
  return times;
}

void RecordedLoad::note(const TryTimes& times) {
  ++tries_;
  const Millis wait = times.claimed_at - times.available_at;
  waits_.add(wait);
  figures_.max_wait = std::max(figures_.max_wait, wait);
  if (times.ended_at) {
    figures_.finished_at =
        std::max(figures_.finished_at.value_or(*times.ended_at), *times.ended_at);
  }
}

std::optional<RecordedJob> RecordedLoad::add(const JobHistory& job) {
  const std::size_t tries = triesOf(job);
  if (tries == 0) {
    ++left_out_;
    return std::nullopt;
  }
  ++jobs_;
  const bool waits_for_others = job.status == JobStatus::kBlocked;  // again, since a retry
  if (!isFinished(job.status) && !waits_for_others) ++still_open_;
  RecordedJob replay;
  replay.order = job.seq;
  replay.priority = job.priority;
  for (std::size_t i = 0; i < tries; ++i) {
    const TryTimes times = timesOf(job, i);
    note(times);
    std::optional<Millis> run;
    if (times.begun) run = since(times.claimed_at, times.ended_at.value_or(now_));
    if (i == 0) {
      replay.at = times.available_at;
      replay.run = run;
    } else {
      replay.retries.push_back({since(job.tries[i - 1].ended_at, times.available_at), run});
    }
  }
  return replay;
}

void RecordedLoad::add(const WorkerHistory& worker) {
  const Time ended = worker.ended_at.value_or(now_);
  ++figures_.launches;
  figures_.worker_time += since(worker.launched_at, ended);
  if (worker.ended_at && !worker.worked) ++figures_.wasted_starts;
  while (!there_.empty() && there_.top() <= worker.launched_at) there_.pop();
  there_.push(ended);
  figures_.peak_workers = std::max(figures_.peak_workers, static_cast<std::int64_t>(there_.size()));
  if (hosts_.size() < kMostHosts) hosts_.insert(worker.host);
  if (worker.registered_at) noteBoot(since(worker.launched_at, *worker.registered_at));
}

// When there are too many, each second one is forgotten, and from then on each second one is kept.
void RecordedLoad::noteBoot(Millis boot) {
  if (boots_seen_++ % boots_between_ != 0) return;
  boots_.push_back(boot);
  if (boots_.size() <= kMostBoots) return;
  for (std::size_t i = 0; 2 * i < boots_.size(); ++i) boots_[i] = boots_[2 * i];
  boots_.resize((boots_.size() + 1) / 2);
  boots_between_ *= 2;
}

LoadFigures RecordedLoad::figures() const {
  LoadFigures figures = figures_;
  figures.p50_wait = std::min(waits_.percentile(0.5), figures.max_wait);
  figures.p95_wait = std::min(waits_.percentile(0.95), figures.max_wait);
  figures.unfinished = still_open_;
  return figures;
}

}  // namespace muster
