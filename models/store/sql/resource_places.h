#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/store/sql/resource_rows.h"

namespace muster {

// The blobs of this node's place, and the room in it. Exclusive units only, and only where there is
// a place (StoreRules::resources.blobs).
class ResourcePlaces {
 public:
  explicit ResourcePlaces(Session& session) : s_(session) {}

  // Whether so many more bytes fit, now or after idle resources of the place were evicted, longest
  // unused first. kStoreFull.
  Status makeRoom(std::int64_t bytes);

  // Blobs that have no row get one that nobody uses, so that there is one way to remove a blob.
  void adopt(std::span<const std::string> strays);

  struct Step {
    std::int64_t count = 0;
    bool more = false;
  };
  // Above the high watermark evicts idle resources down to the low one.
  Step evictAboveWatermark(int limit);
  // Removes blobs that nobody has used for the grace; at once while the files of the place are
  // more than it may have. Those that had a user at `settled` wait for another step.
  Step collect(int limit, Time settled);

 private:
  // What is used, with open uploads at the size they will have.
  struct Level {
    std::int64_t used = 0;
    std::int64_t files = 0;  // the same with blobs that nobody uses
  };
  Level level();
  // Evicts idle resources until so many bytes were freed, or there are none.
  Step evictIdle(std::int64_t bytes, int limit);
  const std::string& place() const { return s_.rules.resources.blobs->placeId(); }

  Session& s_;
};

}  // namespace muster
