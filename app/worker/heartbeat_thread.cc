#include "app/worker/heartbeat_thread.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <random>

#include "app/worker/retry_pause.h"

namespace muster {
namespace {

// Signals are for the thread that works: they interrupt what it waits for.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Millis heartbeatInterval(Millis wanted, Millis lease) {
  return std::max(Millis(10), std::min(wanted, lease / 3));
}

HeartbeatThread::HeartbeatThread(ServiceClient client, const Registration& registration,
                                 WorkerWatch& watch, const Log& log)
    : client_(std::move(client)),
      worker_(registration.worker_id),
      watch_(watch),
      log_(log),
      registered_at_(watch.now()),
      interval_(heartbeatInterval(registration.heartbeat_interval, registration.lease)) {}

void HeartbeatThread::begin() {
  if (thread_.joinable()) return;
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void HeartbeatThread::keepAlive(Millis lease) {
  const std::lock_guard lock(mutex_);
  if (const Millis shorter = heartbeatInterval(interval_, lease); shorter < interval_) {
    interval_ = shorter;
    changed_.notify_one();
  }
}

void HeartbeatThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto first = interval_ - std::chrono::floor<Millis>(watch_.now() - registered_at_);
  Millis pause = std::max(first, Millis(0));
  while (!stop.stop_requested()) {
    const Millis known = interval_;
    const bool shortened =
        changed_.wait_for(lock, stop, pause, [this, known] { return interval_ < known; });
    if (stop.stop_requested()) return;
    if (shortened) {
      pause = interval_;
      continue;
    }
    lock.unlock();
    pause = beat(stop);
    lock.lock();
  }
}

Millis HeartbeatThread::beat(const std::stop_token& stop) {
  Millis interval;
  {
    const std::lock_guard lock(mutex_);
    interval = interval_;
  }
  const std::string held = watch_.heldJob();
  const auto sent = watch_.now();
  const Millis timeout = std::clamp(interval, Millis(1000), Millis(10'000));
  const auto answer =
      client_.heartbeat(worker_, timeout, [&stop] { return stop.stop_requested(); });
  if (answer) {
    failures_ = 0;
    watch_.noteHeartbeat(*answer, held, sent);
    return interval;
  }
  if (stop.stop_requested()) return interval;
  // A service that has lost its store knows this worker as little as one that wrote it off.
  if (answer.error().isGone() || answer.error().status == 404) {
    watch_.noteGone();
    return interval;
  }
  log_.warn("heartbeat failed", {{"code", answer.error().code}, {"detail", answer.error().detail}});
  std::random_device random;
  const double dice = std::generate_canonical<double, 32>(random);
  const Millis pause = std::min(retryPause(++failures_, {}, dice), interval);
  return std::max(pause, Millis(answer.error().retry_after.value_or(Seconds(0))));
}

}  // namespace muster
