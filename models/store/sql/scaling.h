#pragma once

#include <optional>

#include "models/policy/scaling.h"
#include "models/pool.h"
#include "models/store/sql/session.h"

namespace muster {

// What the checker goes by, and what it has to remember from one check to the next. It is kept with
// the pool, so that all nodes share one cooldown.
class Scaling {
 public:
  explicit Scaling(Session& session) : s_(session) {}

  // What decideScale() goes by; what only the caller knows (launch tokens) is left open.
  ScaleState state(const Pool& pool);
  ScaleLimits limits(const Pool& pool, const ScaleState& state);
  ScaleConfig config(const Pool& pool);

  // The decision is carried out: asks workers to stop where it says so, and takes note of it.
  void apply(const Pool& pool, const ScaleDecision& decision);
  void removeOf(const PoolId& pool);

 private:
  ScaleMemory recall(const PoolId& pool);
  void recallInto(ScaleState& state, const Pool& pool);
  void drain(const PoolId& pool, std::int64_t count, bool busy_too);
  void makeRoom(const Pool& pool);
  void askToStop(const WorkerId& worker);
  // Jobs that must run on the worker wait for it.
  bool isWaitedFor(const PoolId& pool, const std::string& worker);

  Session& s_;
};

}  // namespace muster
