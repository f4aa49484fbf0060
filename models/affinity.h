#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/resource.h"
#include "models/time.h"

namespace muster {

// kDraining: its holder is ending. kStale: its holder is silent. A key without a holder is shown to
// nobody.
enum class AffinityState { kUnbound, kActive, kDraining, kStale };

std::string_view name(AffinityState state);
std::optional<AffinityState> parseAffinityState(std::string_view text);

constexpr std::size_t kMaxAffinityKey = 256;

// A key of jobs that is bound to a holder: jobs with the key go there.
struct Affinity {
  std::string tenant;  // empty: none
  std::string key;
  Holder holder;
  std::string worker;  // that bound it, or to which it is bound; empty: none
  std::string host;    // likewise
  AffinityState state = AffinityState::kUnbound;
  Time acquired_at;
  Time expires_at;
  Millis ttl{0};
  std::int64_t inflight_count = 0;  // its jobs that are claimed; set where it is shown
  std::int64_t waiting_count = 0;   // and those that wait
  int failures = 0;                 // failed tries in a row on the holder
  std::string metadata;             // JSON object, empty: none
  std::int64_t version = 1;
};

}  // namespace muster
