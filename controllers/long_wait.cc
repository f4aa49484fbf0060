#include "controllers/long_wait.h"

#include <trantor/net/EventLoop.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace muster {
namespace {

constexpr std::size_t kResumedAtOnce = 64;

// What goes on on one event loop, a few at a time, so that thousands that are woken together do not
// keep the loop from its connections. Thread-safe.
class LoopResumes {
 public:
  explicit LoopResumes(trantor::EventLoop* loop) : loop_(loop) {}

  void add(std::function<void()> resume) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(resume));
      if (std::exchange(scheduled_, true)) return;
    }
    loop_->queueInLoop([this] { run(); });
  }

 private:
  void run() {
    std::vector<std::function<void()>> some;
    bool more = false;
    {
      const std::lock_guard lock(mutex_);
      const std::size_t count = std::min(waiting_.size(), kResumedAtOnce);
      for (std::size_t i = 0; i < count; ++i) {
        some.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
      }
      more = scheduled_ = !waiting_.empty();
    }
    for (const auto& resume : some) resume();
    // Functions that are queued run before the loop looks at its connections; timers after it did.
    if (more) loop_->runAfter(0, [this] { run(); });
  }

  trantor::EventLoop* const loop_;
  std::mutex mutex_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_
  bool scheduled_ = false;                     // run() is on its way; guarded by mutex_
};

// Of the current event loop. They outlive the loops: whoever is woken may come when one has ended.
LoopResumes& currentResumes() {
  static std::mutex mutex;
  static std::deque<LoopResumes> all;
  thread_local LoopResumes* const resumes = [] {
    const std::lock_guard lock(mutex);
    return &all.emplace_back(trantor::EventLoop::getEventLoopOfCurrentThread());
  }();
  return *resumes;
}

}  // namespace

void waitOnLoop(WaitList& waits, const std::string& key, std::uint64_t generation, Millis at_most,
                std::function<void()> again) {
  struct Parked {
    std::function<void()> again;
    trantor::EventLoop* loop;
    trantor::TimerId timer = 0;
    bool over = false;  // only touched on the loop

    void resume() {
      if (over) return;
      over = true;
      loop->invalidateTimer(timer);
      again();
    }
  };
  auto parked = std::make_shared<Parked>();
  parked->again = std::move(again);
  parked->loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  const auto ticket = waits.wait(key, generation, [parked, &resumes = currentResumes()] {
    resumes.add([parked] { parked->resume(); });
  });
  const double seconds = std::chrono::duration<double>(std::max(at_most, Millis(1))).count();
  parked->timer = parked->loop->runAfter(seconds, [parked, ticket, &waits] {
    waits.cancel(ticket);
    parked->resume();
  });
}

void readUntilEnded(const LongRead& read, const RequestPtr& request, const Look& look,
                    Respond respond) {
  const auto generation = read.waits.generation(read.key);
  auto ended = std::make_shared<bool>(true);
  read.gateway.read(
      request, [look, ended](Store& store) { return look(store, *ended); },
      [=, respond = std::move(respond)](Outcome outcome) {
        const Millis left = read.deadline - read.clock.now();
        if (!outcome || *ended || left <= Millis(0) || read.gateway.draining() ||
            !request->clientIsThere()) {
          respond(std::move(outcome));
          return;
        }
        waitOnLoop(read.waits, read.key, generation, left,
                   [=] { readUntilEnded(read, request, look, respond); });
      });
}

}  // namespace muster
