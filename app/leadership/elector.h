#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "app/log/log.h"
#include "models/clock.h"
#include "models/leadership.h"
#include "models/result.h"

namespace muster {

// What an elector asks of the store. Every call returns at once; its answer comes once, on any
// thread, or never when the store hangs.
class Ballot {
 public:
  template <class T>
  using Answer = std::function<void(Result<T>)>;

  // What a campaign came to.
  struct Standing {
    std::optional<LeaderLease> won;
    std::optional<Leader> leader;  // who leads now
    Millis left{0};                // of the lease of whoever leads
  };

  virtual ~Ballot() = default;
  // The node is there, for the first time or still; who leads.
  virtual void beat(Answer<std::optional<Leader>> answer) = 0;
  virtual void campaign(Answer<Standing> answer) = 0;
  // False when the lease is over.
  virtual void renew(const LeaderLease& held, Answer<bool> answer) = 0;
  virtual void resign(const LeaderLease& held, Answer<void> answer) = 0;
  virtual void leave(Answer<void> answer) = 0;
};

// Keeps this node known to the others, and leads whenever it may and nobody else does.
//
// Whether the node leads is a question of the moment: lease() looks at the clock itself, so that a
// process that was stopped, or whose renewal hangs, does not lead one instant longer than its lease
// can be relied on. Thread-safe; one thread, which never waits for the store.
class Elector {
 public:
  struct Options {
    NodeRole role = NodeRole::kAuto;
    Millis lease = Seconds(30);
    Millis renew = Seconds(10);
    Millis heartbeat = Seconds(10);
  };
  Elector(Ballot& ballot, Options options, const Clock& clock, const Log& log);
  ~Elector();

  // Joins and begins to try.
  void begin();

  // What entitles this node to lead now; nothing when it does not.
  std::optional<LeaderLease> lease() const;
  bool leads() const { return lease().has_value(); }
  // The leader's address as it was last heard of, "" when it was not.
  std::string leaderUrl() const;

  // Stands down now, and leaves it to others for the length of a lease. kNotLeader.
  void resign(std::function<void(Status)> done);
  // Something changed: tries now instead of at the next turn.
  void tryNow();
  // Looks at the clock again, in case it was moved.
  void wake();

  // Stands down for good.
  void retire();
  // The same, and leaves; waits for the store, but not long.
  void stop();

 private:
  void loop();
  void ask(std::unique_lock<std::mutex>& lock, ElectorStep step);
  void asked(std::chrono::nanoseconds since, const Result<Ballot::Standing>& answer);
  void renewed(std::chrono::nanoseconds since, const LeaderLease& held, const Result<bool>& answer);
  void beaten(const Result<std::optional<Leader>>& answer);
  void know(const std::optional<Leader>& leader);
  void hear(const char* doing, const Error* fault);
  std::optional<LeaderLease> standDown(const char* why);
  void giveBack(const LeaderLease& lease);
  ElectorView view() const;

  Ballot& ballot_;
  const Options options_;
  const Clock& clock_;
  const Log& log_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  std::optional<LeaderLease> held_;
  std::chrono::nanoseconds relied_on_until_{0};  // of held_
  std::chrono::nanoseconds next_ask_{0};
  std::chrono::nanoseconds next_beat_{0};
  bool joined_ = false;
  bool asking_ = false;
  bool beating_ = false;
  bool try_again_ = false;  // as soon as the campaign under way is over
  bool troubled_ = false;   // the store's last answer was that it cannot
  bool retired_ = false;
  bool stopping_ = false;
  std::string leader_url_;

  std::jthread thread_;  // last: it uses the rest
};

}  // namespace muster
