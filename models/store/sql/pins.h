#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/policy/pins.h"
#include "models/store/sql/affinities.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/session.h"

namespace muster {

constexpr int kMostMovedPins = 1000;  // jobs that one step moves from lane to lane

// What a new job asks of who runs it, and what becomes of that.
struct PinWish {
  std::string key;  // empty: none
  PinMode key_mode = PinMode::kPreferred;
  std::optional<Millis> wait;
  std::vector<PinRef> refs;

  // Set by Pins::choose().
  std::optional<std::int64_t> affinity;
  std::string ref_pin, ref_mode, mode;  // as in job_pins
  std::optional<Time> unpin_at;
  std::string_view obstacle;  // the code of an error for which the job ends; empty: none
};

// Which jobs only one holder may take. Such a job stands in a lane of the holder; whatever moves a
// job from one lane to another does it here.
class Pins {
 public:
  explicit Pins(Session& session) : s_(session) {}

  // What ties a new job to a host or a worker, of what it refers to.
  static std::vector<PinRef> refsOf(const NewJob& job, std::span<const ResourceRefs::Found> found,
                                    const std::string& pointer);
  // Whether a job of the tenant with these refs may be pushed: kConflictingPins, kUnavailable.
  // Changes nothing, and costs nothing for a job with neither a key nor refs.
  Status check(const Pool& pool, const NewJob& job, const std::string& tenant,
               std::vector<PinRef> refs, const std::string& pointer);
  // The way of a new job: wish() notes what it asks for; choose(), when its status is known, gives
  // it a lane, that of its holder if it has one; keep() is for when it has been written.
  // One that could never run ends there. What waits for other jobs is placed when it is unblocked.
  void wish(JobRow& row, const NewJob& job, std::vector<PinRef> refs);
  void choose(JobRow& row);
  void keep(JobRow& row);

  // Whether the worker may take this job with a key. Then the key is the worker's, or its host's.
  // Otherwise the job has gone to the lane of who has the key, or has ended.
  bool mayTake(const JobRow& row, const std::string& worker, const std::string& host);
  // Why a worker may not take the job, as far as it is pinned elsewhere.
  std::optional<std::string> obstacle(const JobRow& row, const std::string& worker,
                                      const std::string& host);
  // Of one that may not be taken.
  std::string holderOf(const JobRow& row);

  // A pending job has come to refer to more: it goes to who has that.
  void placeReader(std::int64_t job);

  // Sets Job::pin where the job has something to do with one.
  void attach(std::span<JobRow> rows);
  // What follows from what happened to jobs with pins in this transaction (Session::pins_moved).
  void settle();

  // Jobs that wait with this key go to where it is now, the youngest first, kMostMovedPins at most.
  // A claim that meets one of the others moves it on. The job `but` stays, since it is being
  // claimed.
  void moveWaiting(const AffinityRow& key, std::int64_t but = 0);
  // Jobs that should run at this holder are free to be taken by anybody; at most kMostMovedPins.
  int unpinPreferred(const Holder& holder);
  // Jobs that must run there end, since it is lost: those of keys as `holder_lost`, others as
  // `resource_lost`.
  int endRequired(const Holder& holder, int limit);
  // Preferred pins run out; how many.
  int unpinDue(int limit);

 private:
  // A job with what is kept of its pins.
  struct Pinned {
    JobRow row;
    std::string placement, lane_pin;
    std::optional<std::int64_t> affinity;
    std::string affinity_mode, ref_pin, ref_mode, mode;
    std::optional<Millis> wait;
    std::optional<Time> unpin_at;
  };
  struct Move {
    Pinned* job;
    std::string pin, mode;
  };
  std::optional<Pin> choosePin(JobRow& row);
  static Pinned readPinned(const SqlRows& row);
  std::optional<Pinned> load(std::int64_t seq);
  PinQuestion questionOf(const Pinned& job, const AffinityRow* key) const;
  std::vector<PinRef> readRefs(std::int64_t job);
  // False: it stays in its lane.
  bool place(std::int64_t seq);
  // Those that had a pin are told of as `job.unpinned`.
  void moveAll(std::vector<Move>& moves);
  // To a lane for anybody.
  static Move unpinned(Pinned& job);
  void free(std::vector<Pinned>& jobs);
  std::optional<Holder> holderFor(const std::string& worker, const std::string& host);
  std::optional<Pin> inTime(std::optional<Pin> pin, const std::optional<Time>& unpin_at) const;

  Session& s_;
};

}  // namespace muster
