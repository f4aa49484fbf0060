#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/affinity.h"
#include "models/operations/resources.h"
#include "models/result.h"

namespace muster {

class Store;

// Bound keys in the order in which they became known. Empty filters match all.
struct ListAffinities {
  std::optional<std::string> tenant = {};
  std::string holder = {};
  std::optional<AffinityState> state = {};
  std::int64_t after = 0;  // the cursor
  int limit = 50;
  struct Reply {
    std::vector<Affinity> affinities;
    std::optional<std::int64_t> next;  // absent: that was the last page
  };
};
Result<ListAffinities::Reply> run(const ListAffinities& op, Store& store);

// kNotFound if nobody has the key.
struct FindAffinity {
  std::string key;
  std::string tenant = {};
  using Reply = Affinity;
};
Result<Affinity> run(const FindAffinity& op, Store& store);

// Gives a key to a worker or a host. Exclusive. kAffinityConflict (another active holder has it,
// and there is no `force`), kGone (the worker has ended), kNotFound (there is no such worker),
// kInvalid (holder_too_short_lived: only loop workers have keys), kForbidden (but an admin
// only a worker may, for itself and its own host).
struct PutAffinity {
  std::string key;
  std::string tenant = {};
  Holder holder;  // a worker or a host
  std::optional<Millis> ttl = {};
  std::optional<std::string> metadata = {};  // JSON object
  bool force = false;
  ResourceCaller by = {};
  struct Reply {
    Affinity affinity;
    bool is_new = true;  // false: this holder had it already
  };
};
Result<PutAffinity::Reply> run(const PutAffinity& op, Store& store);

// Its time to live begins anew, with another length if one is given. Exclusive. kNotFound,
// kForbidden (a worker may touch its own keys only).
struct TouchAffinity {
  std::string key;
  std::string tenant = {};
  std::optional<Millis> ttl = {};
  ResourceCaller by = {};
  using Reply = Affinity;
};
Result<Affinity> run(const TouchAffinity& op, Store& store);

// Nobody has the key any more. Exclusive. kNotFound, kForbidden.
struct DeleteAffinity {
  std::string key;
  std::string tenant = {};
  ResourceCaller by = {};
};
Status run(const DeleteAffinity& op, Store& store);

// What time does to pins and keys: preferred pins run out, keys expire, and what waits for a holder
// that is lost ends. Exclusive; of the leader. How many there were.
struct TendPins {
  int limit = 500;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const TendPins& op, Store& store);

}  // namespace muster
