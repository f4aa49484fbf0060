#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/policy/pin_mode.h"
#include "models/policy/placement.h"
#include "models/resource.h"
#include "models/result.h"
#include "models/time.h"

namespace muster {

// Whether a holder can be given jobs: it is there, it is ending, it has been silent of late, or it
// is not known or lost.
enum class Presence { kThere, kLeaving, kSilent, kGone };

// What is known of a holder.
struct HolderFacts {
  Presence presence = Presence::kGone;
  Millis grace_left{0};  // of one that is not there: until it is given up
  std::string pool;      // of a worker: the one it serves
  WorkerTraits traits;   // of a host only its name
};

// What a job that is about to wait for a worker refers to.
struct PinRef {
  std::string id;
  std::string pointer;                // where it stands in the request
  std::optional<Holder> holder = {};  // absent: nobody registered it
  std::string worker = {};            // that is said to hold it; empty: not said
  bool has_copy = false;              // its bytes are stored, or elsewhere too
  std::int64_t bytes = 0;
};

struct PinQuestion {
  std::vector<PinRef> refs = {};
  std::string key = {};  // of an affinity; empty: none
  PinMode key_mode = PinMode::kPreferred;
  std::optional<Holder> key_holder = {};  // absent: nobody has the key
  std::string pointer = {};               // of the job in the request
  Placement placement = {};
  PoolId pool = {};
  bool strict_refs = false;
};

// Who must or should run a job.
struct Pin {
  Holder holder;
  PinMode mode = PinMode::kPreferred;
  bool of_key = false;  // for the sake of its key
  bool operator==(const Pin&) const = default;
};

// The holder to which the job is pinned, if any. kInvalid (unknown_resource), kConflictingPins with
// both sides, kUnavailable with the rest of the grace. `facts` gives what is known of a host or a
// worker.
Result<std::optional<Pin>> decidePin(const PinQuestion& job,
                                     const std::function<HolderFacts(const Holder&)>& facts);

// Where such a job must run, as far as it is asked, whether the holder is there or not.
std::optional<Pin> requiredPin(const PinQuestion& job);

// What a job of this placement asks for that is pinned to a host.
Placement atHost(Placement placement, const std::string& host);

}  // namespace muster
