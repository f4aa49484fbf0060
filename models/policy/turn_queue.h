#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace muster {

// In which order claims look at the lanes of a pool: by the priority of a lane's first job, then
// the tenant that was served longest ago (never: before all others), then the oldest job. Jobs that
// name no tenant are together one more tenant, '', which has no limit.
//
// What is noted of a lane is a bound: its first job may come later, or there may be none, but no
// job of it comes before. So lanes may be found wanting (correct()) and none is ever missed. Lanes
// of a tenant that has no free place stand aside until it has one.
//
// Lanes with the same pin are a group. Who claims looks at the lanes without a pin and at those of
// the groups that are selected for it; the others cost it nothing.
class TurnQueue {
 public:
  struct Head {
    std::int64_t priority;
    std::int64_t seq;
    // Whether it is claimed before the other, in one lane.
    bool before(const Head& other) const {
      return priority != other.priority ? priority > other.priority : seq < other.seq;
    }
    bool operator==(const Head&) const = default;
  };

  struct Place {
    std::int64_t below_priority;  // the negative of the priority, so that the highest is first
    std::int64_t turn;
    std::int64_t seq;
    std::int64_t lane;
    bool operator==(const Place&) const = default;
    bool operator<(const Place& other) const {
      return std::tie(below_priority, turn, seq, lane) <
             std::tie(other.below_priority, other.turn, other.seq, other.lane);
    }
    Head head() const { return {-below_priority, seq}; }
  };

  // `limit`: how many jobs a tenant may have claimed at a time.
  explicit TurnQueue(std::int64_t limit) : limit_(limit), open_(&groups_[""]) {}
  TurnQueue(TurnQueue&&) = default;
  TurnQueue& operator=(TurnQueue&&) = default;
  std::int64_t limit() const { return limit_; }

  void addTenant(const std::string& name, std::int64_t turn, std::int64_t claimed);
  void addLane(std::int64_t lane, const std::string& tenant, const std::string& pin = {});
  bool knows(std::int64_t lane) const { return lanes_.contains(lane); }
  void addGroup(const std::string& pin) { groups_.try_emplace(pin); }
  bool knowsGroup(const std::string& pin) const { return groups_.contains(pin); }
  std::size_t groups() const { return groups_.size() - 1; }
  // The lanes of these groups, which are known, are looked at too, and those of no others. Those
  // without a pin are left out if it says so.
  void select(std::span<const std::string> pins, bool with_open = true);
  // Whether the lane, which is known, is one without a pin.
  bool isOpen(std::int64_t lane) const { return lanes_.at(lane).group == open_; }

  // The lane must be known in all of these. A job of it can be claimed now, or perhaps.
  void offer(std::int64_t lane, Head head);
  // This is the lane's first job, or it has none.
  void correct(std::int64_t lane, std::optional<Head> head);

  // The job was claimed: its tenant has one place less and has had its turn. Gives the number of
  // the turn; nothing in a pool without tenants, where nobody takes turns.
  std::optional<std::int64_t> serve(std::int64_t lane, Head taken);
  // A claimed job of the tenant has ended.
  void free(const std::string& tenant);

  // The first place that is looked at, or the first behind another.
  std::optional<Place> next(const std::optional<Place>& behind = {}) const;
  std::size_t size() const;  // of what is looked at

 private:
  struct Tenant {
    bool named = false;
    std::int64_t turn = 0;
    std::int64_t claimed = 0;
    std::vector<std::int64_t> lanes = {};  // without a pin
  };
  struct Group {
    std::set<Place> places;  // of one that is not selected they may be of earlier turns
    std::vector<std::int64_t> lanes;
  };
  struct Lane {
    Tenant* tenant;
    Group* group;
    std::optional<Head> head = {};
    std::optional<Place> place = {};  // in the queue
  };
  Tenant& tenantOf(const std::string& name);
  void arrange(std::int64_t id, Lane& lane);
  void arrangeAll(const Tenant& tenant);

  std::int64_t limit_;
  std::int64_t last_turn_ = 0;
  std::int64_t named_ = 0;                           // lanes whose tenant has a name
  std::unordered_map<std::string, Tenant> tenants_;  // lanes point to them
  std::unordered_map<std::int64_t, Lane> lanes_;
  std::unordered_map<std::string, Group> groups_;  // by pin; lanes point to them
  Group* open_;                                    // of the lanes without a pin
  std::vector<Group*> selected_;
  bool with_open_ = true;
};

}  // namespace muster
