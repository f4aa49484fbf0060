#include "app/worker/worker_watch.h"

#include <poll.h>

#include <algorithm>
#include <limits>

namespace muster {

// A tenth less than the service gave, for what its answer needed to get here.
WorkerWatch::Moment WorkerWatch::leaseEnd(Moment from) const {
  return from + Moment(lease_) * 9 / 10;
}

void WorkerWatch::hold(const ClaimedJob& job) {
  const std::lock_guard lock(mutex_);
  job_ = job.id;
  lease_ = job.lease;
  lease_end_ = leaseEnd(now());
  lease_lost_ = false;
  cancelled_ = false;
}

void WorkerWatch::letGo() {
  const std::lock_guard lock(mutex_);
  job_.clear();
}

void WorkerWatch::noteSignals() {
  const int requests = signals_.stopRequests();
  if (requests > 0 && !shutdown_at_) shutdown_at_ = now() + shutdown_timeout_;
  if (requests > 1) shutdown_at_ = std::min(*shutdown_at_, now());
}

bool WorkerWatch::mayClaim() {
  const std::lock_guard lock(mutex_);
  noteSignals();
  return !gone_ && !draining_ && !shutdown_at_;
}

bool WorkerWatch::isGone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

StopReason WorkerWatch::stopReason() {
  const std::lock_guard lock(mutex_);
  noteSignals();
  if (gone_) return StopReason::kGone;
  if (lease_lost_ || now() >= lease_end_) return StopReason::kLeaseLost;
  if (cancelled_) return StopReason::kCancelled;
  if (shutdown_at_ && now() >= *shutdown_at_) return StopReason::kShutdown;
  return StopReason::kNone;
}

bool WorkerWatch::leaseIsOver() const {
  const std::lock_guard lock(mutex_);
  return now() >= lease_end_;
}

int WorkerWatch::millisUntil(Moment at) const {
  const auto left = std::chrono::ceil<Millis>(at - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

int WorkerWatch::millisUntilDeadline() const {
  const std::lock_guard lock(mutex_);
  return millisUntil(shutdown_at_ ? std::min(*shutdown_at_, lease_end_) : lease_end_);
}

void WorkerWatch::wait(Moment at) const {
  pollfd ready{wake_up_.fd(), POLLIN, 0};
  if (::poll(&ready, 1, millisUntil(at)) > 0) wake_up_.clear();
}

void WorkerWatch::noteDrain() {
  const std::lock_guard lock(mutex_);
  draining_ = true;
}

void WorkerWatch::noteGone() {
  const std::lock_guard lock(mutex_);
  gone_ = true;
  wake_up_.wake();
}

std::string WorkerWatch::heldJob() const {
  const std::lock_guard lock(mutex_);
  return job_;
}

void WorkerWatch::noteHeartbeat(const HeartbeatAnswer& answer, const std::string& held,
                                Moment sent) {
  const auto contains = [](const std::vector<std::string>& jobs, const std::string& job) {
    return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
  };
  const std::lock_guard lock(mutex_);
  if (answer.drain) draining_ = true;
  if (!job_.empty() && job_ == held) {
    if (contains(answer.cancelled, job_)) cancelled_ = true;
    if (contains(answer.held, job_)) {
      lease_end_ = std::max(lease_end_, leaseEnd(sent));
    } else {
      lease_lost_ = true;
    }
  }
  wake_up_.wake();
}

}  // namespace muster
