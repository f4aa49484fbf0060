#include "models/policy/pins.h"

#include <algorithm>
#include <map>

namespace muster {
namespace {

// One thing that ties the job to a holder.
struct Tie {
  Holder holder;
  PinMode mode;
  std::string what;
  std::string pointer;
  std::int64_t bytes = 0;
  bool of_key = false;
};

tl::unexpected<Error> conflict(FieldError one, FieldError other) {
  return tl::unexpected(Error{ErrorCode::kConflictingPins,
                              one.detail + ", but " + other.detail,
                              {std::move(one), std::move(other)}});
}

FieldError sideOf(const Tie& tie) {
  return {tie.pointer, "conflicting_pins", tie.what + " is on " + tie.holder.text()};
}

bool isOn(const Holder& worker, const Holder& host, const HolderFacts& facts) {
  return worker.kind == Holder::Kind::kWorker && host.kind == Holder::Kind::kHost &&
         facts.traits.node == host.name;
}

// What in the placement keeps the holder from running the job. Of a host only its name is known.
std::optional<std::string> obstacleAt(const Placement& placement, const Holder& holder,
                                      const HolderFacts& facts) {
  if (holder.kind == Holder::Kind::kWorker) {
    return placementObstacle(placement, facts.traits, 0);
  }
  Placement nodes;
  nodes.allowed_nodes = placement.allowed_nodes;
  nodes.forbidden_nodes = placement.forbidden_nodes;
  return placementObstacle(nodes, {holder.name, {}, {}, {}}, 0);
}

bool servesAnotherPool(const Holder& holder, const HolderFacts& facts, const PoolId& pool) {
  return holder.kind == Holder::Kind::kWorker && facts.pool != pool.str();
}

tl::unexpected<Error> unavailable(const Holder& holder, const HolderFacts& facts,
                                  const std::string& what) {
  const std::string_view why = facts.presence == Presence::kLeaving  ? "is ending"
                               : facts.presence == Presence::kSilent ? "has been silent of late"
                                                                     : "is not there";
  Error error{ErrorCode::kUnavailable,
              holder.text() + " " + std::string(why) + ", and " + what + " is there"};
  error.retry_after =
      std::max(std::chrono::ceil<std::chrono::seconds>(facts.grace_left), Seconds(1));
  return tl::unexpected(std::move(error));
}

// What the job refers to, and its key.
Result<std::vector<Tie>> tiesOf(const PinQuestion& job) {
  std::vector<Tie> ties;
  for (const PinRef& ref : job.refs) {
    const std::string what = "the resource " + ref.id;
    if (!ref.holder) {
      if (job.strict_refs) {
        return tl::unexpected(
            Error{ErrorCode::kInvalid,
                  what + " is not registered",
                  {{ref.pointer + "/resource_id", "unknown_resource", "no resource has this id"}}});
      }
      if (ref.worker.empty()) continue;
      ties.push_back({{Holder::Kind::kWorker, ref.worker}, PinMode::kRequired, what, ref.pointer});
      continue;
    }
    const Holder& holder = *ref.holder;
    const bool of_worker = holder.kind == Holder::Kind::kWorker;
    if (of_worker && !ref.worker.empty() && ref.worker != holder.name) {
      return conflict(
          {ref.pointer + "/worker_id", "conflicting_pins", "worker:" + ref.worker + " is named"},
          {ref.pointer + "/resource_id", "conflicting_pins", what + " is on " + holder.text()});
    }
    if (!of_worker && holder.kind != Holder::Kind::kHost) continue;
    const bool is_required = of_worker || !ref.has_copy;
    ties.push_back({holder, is_required ? PinMode::kRequired : PinMode::kPreferred, what,
                    ref.pointer, ref.bytes});
  }
  if (job.key_holder) {
    ties.push_back({*job.key_holder, job.key_mode, "the affinity " + job.key,
                    job.pointer + "/affinity", 0, true});
  }
  return ties;
}

}  // namespace

std::string_view name(PinMode mode) {
  return mode == PinMode::kRequired ? "required" : "preferred";
}

std::optional<PinMode> parsePinMode(std::string_view text) {
  if (text == "preferred") return PinMode::kPreferred;
  if (text == "required" || text == "sticky") return PinMode::kRequired;
  return std::nullopt;
}

std::optional<Pin> requiredPin(const PinQuestion& job) {
  const auto ties = tiesOf(job);
  if (!ties) return std::nullopt;
  std::optional<Pin> pin;
  for (const Tie& tie : *ties) {
    if (tie.mode != PinMode::kRequired) continue;
    const bool is_narrower = tie.holder.kind == Holder::Kind::kWorker;
    if (!pin || is_narrower) pin = Pin{tie.holder, PinMode::kRequired, tie.of_key};
  }
  return pin;
}

Result<std::optional<Pin>> decidePin(const PinQuestion& job,
                                     const std::function<HolderFacts(const Holder&)>& facts) {
  auto ties = tiesOf(job);
  if (!ties) return tl::unexpected(std::move(ties).error());
  const Tie* must = nullptr;
  HolderFacts known;
  for (const Tie& tie : *ties) {
    if (tie.mode != PinMode::kRequired) continue;
    if (must == nullptr) {
      must = &tie;
      known = facts(tie.holder);
      continue;
    }
    if (tie.holder == must->holder || isOn(must->holder, tie.holder, known)) continue;
    // The worker is the narrower of the two, if it is on that host.
    HolderFacts other = facts(tie.holder);
    if (!isOn(tie.holder, must->holder, other)) return conflict(sideOf(*must), sideOf(tie));
    for (const Tie& earlier : *ties) {
      if (&earlier == &tie) break;
      if (earlier.mode == PinMode::kRequired && earlier.holder != tie.holder &&
          !isOn(tie.holder, earlier.holder, other)) {
        return conflict(sideOf(earlier), sideOf(tie));
      }
    }
    must = &tie;
    known = std::move(other);
  }
  if (must != nullptr) {
    if (known.presence != Presence::kGone) {
      if (servesAnotherPool(must->holder, known, job.pool)) {
        return conflict(sideOf(*must), {job.pointer, "conflicting_pins",
                                        "it does not serve the pool " + job.pool.str()});
      }
      if (const auto obstacle = obstacleAt(job.placement, must->holder, known)) {
        return conflict(sideOf(*must), {job.pointer + "/placement", "conflicting_pins",
                                        "the placement keeps it from there: " + *obstacle});
      }
    }
    if (known.presence != Presence::kThere) return unavailable(must->holder, known, must->what);
    return Pin{must->holder, PinMode::kRequired, must->of_key};
  }
  const auto may_go = [&](const Holder& holder) {
    const HolderFacts there = facts(holder);
    return there.presence == Presence::kThere && !servesAnotherPool(holder, there, job.pool) &&
           !obstacleAt(job.placement, holder, there);
  };
  std::map<std::string, std::int64_t> bytes_on;  // by the name of the host
  for (const Tie& tie : *ties) {
    if (tie.of_key && may_go(tie.holder)) return Pin{tie.holder, PinMode::kPreferred, true};
    if (!tie.of_key) bytes_on[tie.holder.name] += tie.bytes;
  }
  std::optional<Pin> best;
  std::int64_t most = -1;
  for (const auto& [host, bytes] : bytes_on) {
    const Holder holder{Holder::Kind::kHost, host};
    if (bytes <= most || !may_go(holder)) continue;
    best = Pin{holder, PinMode::kPreferred, false};
    most = bytes;
  }
  return best;
}

Placement atHost(Placement placement, const std::string& host) {
  auto& allowed = placement.allowed_nodes;
  const bool is_allowed =
      !allowed || std::find(allowed->begin(), allowed->end(), host) != allowed->end();
  allowed.emplace();
  if (is_allowed) allowed->push_back(host);
  return placement;
}

}  // namespace muster
