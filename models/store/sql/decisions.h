#pragma once

#include <vector>

#include "models/decision.h"
#include "models/store/sql/session.h"

namespace muster {

// What the checker decided, newest last, until retention takes it.
class Decisions {
 public:
  explicit Decisions(Session& session) : s_(session) {}

  // Gives the decision its id, unless nothing changed since the last one of the pool: a pool that
  // is looked at and left alone every few seconds needs no row each time.
  void add(Decision& decision);

  struct Page {
    std::vector<Decision> decisions;  // newest first
    bool more = false;
  };
  // Those before `before` (0: the newest).
  Page list(const PoolId& pool, std::int64_t before, int limit);

  std::int64_t removeOld(Time before, int limit);
  void removeOf(const PoolId& pool);

 private:
  static Decision readRow(const SqlRows& row);

  Session& s_;
};

}  // namespace muster
