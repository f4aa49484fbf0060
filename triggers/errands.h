#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

namespace muster {

// Runs errands one after the other on a thread of its own. An errand is a hint: one whose key
// already waits to begin is merged with that one. Thread-safe.
class Errands {
 public:
  // An errand should come to an end soon when it is asked to stop.
  using Errand = std::function<void(std::stop_token)>;
  explicit Errands(std::size_t most = 1000);
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  enum class Answer { kAccepted, kMerged, kFull, kStopped };
  Answer post(std::string key, Errand errand);

  // Drops what waits, asks the running one to stop and waits for its end.
  void stop();

 private:
  void work(const std::stop_token& stop);

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<std::pair<std::string, Errand>> waiting_;  // guarded by mutex_
  std::set<std::string> keys_;                          // of those; guarded by mutex_
  std::jthread thread_;
};

}  // namespace muster
