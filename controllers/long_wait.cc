#include "controllers/long_wait.h"

#include <trantor/net/EventLoop.h>

#include <memory>

namespace muster {

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
  const auto ticket = waits.wait(
      key, generation, [parked] { parked->loop->queueInLoop([parked] { parked->resume(); }); });
  const double seconds = std::chrono::duration<double>(std::max(at_most, Millis(1))).count();
  parked->timer = parked->loop->runAfter(seconds, [parked, ticket, &waits] {
    waits.cancel(ticket);
    parked->resume();
  });
}

}  // namespace muster
