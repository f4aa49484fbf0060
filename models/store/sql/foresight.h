#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/job.h"
#include "models/policy/placement.h"
#include "models/policy/resource_pressure.h"
#include "models/store/wish.h"

namespace muster {

// What of flows and resources concerns a job (jobs.links). A job without any is not looked at
// further by whatever deals with them.
namespace job_link {
constexpr std::int64_t kInFlow = 1;
constexpr std::int64_t kHasDownstream = 2;
constexpr std::int64_t kHasRefs = 4;      // rows in job_refs
constexpr std::int64_t kHasKey = 8;       // an affinity
constexpr std::int64_t kHasUnpinAt = 16;  // a preferred pin that runs out
constexpr std::int64_t kHasChildren = 32;
constexpr std::int64_t kIsCallback = 64;
constexpr std::int64_t kHasUpstream = 128;
constexpr std::int64_t kHasArtifacts = 256;  // rows in artifacts
constexpr std::int64_t kHasInputs = 512;     // inputs to look for when it is unblocked
constexpr std::int64_t kHasLeases = 1024;    // resource leases that end with its try
constexpr std::int64_t kHasPin = 2048;       // a row in job_pins
// It has to do with a flow.
constexpr std::int64_t kOfFlows =
    kInFlow | kHasDownstream | kHasChildren | kIsCallback | kHasUpstream;
}  // namespace job_link

struct PinWish;  // pins.h

struct JobRow {
  std::int64_t seq = 0;
  std::int64_t lane = 0;
  std::int64_t links = 0;  // a sum of job_link
  bool pinned = false;     // it was claimed from the lane of a holder
  Job job;
  std::shared_ptr<PinWish> wish;  // of a job that is about to be written; null: it asks for nobody
};

// What a claim must know of the worker that makes it.
struct Claimer {
  std::string status;  // empty: it is not registered
  WorkerTraits traits;
  bool launch_open = false;  // its launch has not proved itself yet
  std::int64_t registration = 0;
  bool holds = false;    // resources, which it may be told something about
  ResourceUse use = {};  // as it last said
};

// What the units of a transaction are going to ask for, in their order, and what was done for them
// in one step when the first of them asked. Nobody but the unit it was done for may have it: what
// is left at the end, because a unit did not ask after all, voids the transaction.
struct Foresight {
  Foresight() = default;
  // A wish that nobody shares is left to its unit.
  explicit Foresight(std::vector<Wish> wishes) {
    for (Wish& wish : wishes) {
      if (wish.kind == Wish::Kind::kNone) continue;
      auto& kin = wish.kind == Wish::Kind::kClaim ? claims : completions;
      kin.push_back(std::move(wish));
    }
    if (claims.size() == 1) claims.clear();
    if (completions.size() == 1) completions.clear();
  }

  std::vector<Wish> claims, completions;  // nothing was done for them yet
  std::unordered_map<std::string, std::optional<Claimer>> claimers;  // by id; nothing: unknown
  std::unordered_multimap<std::string, JobRow> taken;                // by worker
  std::unordered_multimap<std::string, JobRow> completed;            // by job

  bool hasLeftovers() const { return !taken.empty() || !completed.empty(); }
};

}  // namespace muster
