#pragma once

#include <string>

#include "models/ids.h"

namespace muster {

// What a unit of work is about to ask for. Told ahead, it lets a store serve the units of one batch
// together where every statement is dear; what a unit gets is the same without it.
struct Wish {
  enum class Kind { kNone, kClaim, kComplete };
  Kind kind = Kind::kNone;
  // To claim one job.
  PoolId pool = {};
  std::string worker = {};
  // To complete a job, as its holder.
  JobId job = {};
  std::string lease_token = {};
};

}  // namespace muster
