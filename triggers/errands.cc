#include "triggers/errands.h"

namespace muster {

Errands::Errands(std::size_t most)
    : most_(most), thread_([this](const std::stop_token& stop) { work(stop); }) {}

Errands::~Errands() { stop(); }

Errands::Answer Errands::post(std::string key, Errand errand) {
  {
    const std::lock_guard lock(mutex_);
    if (thread_.get_stop_token().stop_requested()) return Answer::kStopped;
    if (keys_.contains(key)) return Answer::kMerged;
    if (waiting_.size() >= most_) return Answer::kFull;
    keys_.insert(key);
    waiting_.emplace_back(std::move(key), std::move(errand));
  }
  wake_.notify_one();
  return Answer::kAccepted;
}

void Errands::work(const std::stop_token& stop) {
  while (true) {
    Errand next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, stop, [this] { return !waiting_.empty(); });
      if (stop.stop_requested()) return;
      keys_.erase(waiting_.front().first);
      next = std::move(waiting_.front().second);
      waiting_.pop_front();
    }
    next(stop);
  }
}

void Errands::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace muster
