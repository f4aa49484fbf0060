#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "app/log/log.h"
#include "models/clock.h"
#include "models/decision.h"
#include "models/result.h"
#include "models/store/storage.h"

namespace muster {

// How many workers may be launched now; a second's worth may be saved up. Thread-safe.
class LaunchRate {
 public:
  explicit LaunchRate(double per_second) : rate_(per_second), tokens_(per_second) {}
  std::int64_t available(std::chrono::nanoseconds now);
  void spend(std::int64_t count);  // a negative count gives back

 private:
  std::mutex mutex_;
  const double rate_;
  double tokens_;                     // guarded by mutex_
  std::chrono::nanoseconds last_{0};  // guarded by mutex_
};

// The parallelization checker: reads a pool, asks decideScale(), writes the decision and the
// `starting` workers in one transaction, and has them launched after it.
//
// Requests are hints. The first one for a pool is served at once, those that come within the next
// moment together, and one at a time. Thread-safe.
class Checker {
 public:
  using Launch = std::function<void(const LaunchOrder& order)>;
  struct Options {
    Millis start_timeout = Seconds(30);
    double launch_rate = 20;
    // Told of each check that was committed, and how long it took.
    std::function<void(const Decision& decision, std::chrono::nanoseconds took)> on_check = {};
    // Brings the record of load up to date, in the unit of a check that goes by it.
    std::function<void(Store& store)> write_load = {};
    // What entitles this node to check on the leader's behalf; nothing when it does not lead.
    std::function<std::optional<LeaderLease>()> lease = [] { return LeaderLease{}; };
  };
  Checker(Storage& storage, Launch launch, Options options, const Clock& clock, const Log& log);
  ~Checker();

  // An empty pool asks for all that have a template.
  void request(const PoolId& pool, const std::string& trigger,
               std::optional<std::int64_t> max_workers = {});
  void requestAll(const std::string& trigger) { request(PoolId(), trigger); }
  // As the leader's duty: what comes of it is void when this node does not lead any more.
  void requestAllAsLeader(const std::string& trigger);
  // The pool has new work by another node. Looks whether some of it is for workers like those this
  // node launches, and checks the pool only if one is to be launched: a look hinders nobody, a
  // check stops all nodes for a moment.
  void requestIfBound(const PoolId& pool, const std::string& trigger);
  // Only the pools in which every node has its own part: those that allow each host so many
  // workers, and, as by requestIfBound(), those with jobs for certain workers.
  void requestAllOfHosts(const std::string& trigger);
  // What committed events ask of a checker by themselves: a launch that proved itself lets the
  // next ones begin.
  void hear(std::span<const Event> events);

  // One check, for whoever runs the unit of work: perform() inside it, as often as it is run, which
  // has the workers launched with the commit, and finish() once after it.
  class Run {
   public:
    Run(Checker& checker, PoolId pool, std::string trigger, std::optional<std::int64_t> max_workers,
        std::optional<LeaderLease> lease)
        : checker_(checker),
          pool_(std::move(pool)),
          trigger_(std::move(trigger)),
          max_workers_(max_workers),
          lease_(std::move(lease)),
          began_(checker.clock_.monotonic()) {}
    // kNotFound for an unknown pool, kNotLeader when the lease it was begun with is over.
    Result<Decision> perform(Store& store);
    void finish(bool committed);

   private:
    Checker& checker_;
    const PoolId pool_;
    const std::string trigger_;
    const std::optional<std::int64_t> max_workers_;
    const std::optional<LeaderLease> lease_;  // set: on the leader's behalf
    const std::chrono::nanoseconds began_;
    std::vector<LaunchOrder> orders_;
    std::optional<Decision> decision_;
    std::optional<Millis> again_in_;  // when the world will have changed by itself
    std::string again_for_;
    std::int64_t spent_ = 0;
  };
  std::shared_ptr<Run> begin(const PoolId& pool, const std::string& trigger,
                             std::optional<std::int64_t> max_workers = {},
                             std::optional<LeaderLease> lease = {}) {
    return std::make_shared<Run>(*this, pool, trigger, max_workers, std::move(lease));
  }

  // What check() would decide, without any effect.
  Result<Decision> preview(Store& store, const PoolId& pool,
                           std::optional<std::int64_t> max_workers);

  // No check begins after it.
  void stop();

 private:
  // Who asks, and for what. Of several that are served together the widest counts.
  struct Request {
    std::string trigger;
    std::optional<std::int64_t> max_workers = {};
    bool as_leader = false;
    bool if_bound = false;
  };
  struct Slot {
    std::optional<std::chrono::nanoseconds> due;  // not set: nobody asked
    Request asked;
    std::chrono::nanoseconds last{-1'000'000'000};
    bool running = false;
    bool held_back = false;       // by the breaker, when it was last checked
    bool has_free_place = false;  // a worker has ended since it was last checked
  };
  struct Decided {
    Decision decision;
    ScaleDecision scale;
  };
  Decided decide(Store& store, const Pool& pool, const std::string& trigger,
                 std::optional<std::int64_t> max_workers);
  void checkNow(const std::string& pool, const Request& asked);
  void look(const std::string& pool, const Request& asked);
  void ask(const std::string& pool, Request request, std::chrono::nanoseconds at);
  void expand(const std::string& group, const Request& asked);
  void done(const std::string& pool, bool forget);
  void loop();

  Storage& storage_;
  const Launch launch_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;
  LaunchRate rate_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Slot> slots_;  // guarded by mutex_; also for all pools, by kAll and kHosts
  bool stopping_ = false;              // guarded by mutex_
  std::jthread thread_;                // last: it uses the rest
};

}  // namespace muster
