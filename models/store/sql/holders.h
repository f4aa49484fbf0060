#pragma once

#include <string>
#include <string_view>

#include "models/policy/pins.h"
#include "models/store/sql/session.h"

namespace muster {

// Workers and hosts as those who have keys and resources: whether they are there, and what follows
// for jobs and keys when they are not. What becomes of resources is for others to say.
class Holders {
 public:
  explicit Holders(Session& session) : s_(session) {}

  HolderFacts facts(const Holder& holder);
  // The holder in words: whether this worker is it.
  bool is(const Holder& holder, const std::string& worker);

  // The worker takes no jobs any more, but has not ended: nobody is sent to it any more.
  void workerLeaves(const std::string& worker);
  // It has ended. `is_dead`: that is proven, so it is not waited for.
  void workerEnded(const std::string& worker, bool is_dead);
  // It has registered anew; as what cannot hold anything if it is no loop worker.
  void workerBack(const std::string& worker, bool can_hold);

  // The same for any holder. Jobs that should run there are free; from `due` on those that must,
  // end, and its keys are released.
  void lost(const Holder& holder, Time due);
  void back(const Holder& holder);
  // Sees to holders whose time is over, at most so many jobs; how many there were.
  int endLost(int limit);

 private:
  HolderFacts factsOfWorker(const std::string& worker);
  HolderFacts factsOfHost(const std::string& host);

  Session& s_;
};

}  // namespace muster
