#include "models/policy/turn_queue.h"

#include <algorithm>

namespace muster {

TurnQueue::Tenant& TurnQueue::tenantOf(const std::string& name) {
  Tenant& tenant = tenants_[name];
  tenant.named = !name.empty();
  return tenant;
}

void TurnQueue::addTenant(const std::string& name, std::int64_t turn, std::int64_t claimed) {
  Tenant& tenant = tenantOf(name);
  tenant.turn = turn;
  tenant.claimed = claimed;
  last_turn_ = std::max(last_turn_, turn);
}

void TurnQueue::addLane(std::int64_t lane, const std::string& tenant, const std::string& pin) {
  Tenant& owner = tenantOf(tenant);
  Group& group = groups_[pin];
  if (!lanes_.try_emplace(lane, Lane{&owner, &group}).second) return;
  (&group == open_ ? owner.lanes : group.lanes).push_back(lane);
  if (owner.named) ++named_;
}

void TurnQueue::arrange(std::int64_t id, Lane& lane) {
  const Tenant& tenant = *lane.tenant;
  std::optional<Place> wanted;
  if (lane.head && (!tenant.named || tenant.claimed < limit_)) {
    wanted = Place{-lane.head->priority, tenant.turn, lane.head->seq, id};
  }
  if (wanted == lane.place) return;
  std::set<Place>& places = lane.group->places;
  if (lane.place) places.erase(*lane.place);
  if (wanted) places.insert(*wanted);
  lane.place = wanted;
}

void TurnQueue::arrangeAll(const Tenant& tenant) {
  for (const std::int64_t id : tenant.lanes) arrange(id, lanes_.at(id));
  for (const Group* group : selected_) {
    for (const std::int64_t id : group->lanes) {
      if (Lane& lane = lanes_.at(id); lane.tenant == &tenant) arrange(id, lane);
    }
  }
}

void TurnQueue::select(std::span<const std::string> pins, bool with_open) {
  with_open_ = with_open;
  selected_.clear();
  for (const std::string& pin : pins) {
    Group& group = groups_.at(pin);
    selected_.push_back(&group);
    // Their tenants may have had turns meanwhile.
    for (const std::int64_t id : group.lanes) arrange(id, lanes_.at(id));
  }
}

void TurnQueue::offer(std::int64_t lane, Head head) {
  Lane& known = lanes_.at(lane);
  if (known.head && !head.before(*known.head)) return;
  known.head = head;
  arrange(lane, known);
}

void TurnQueue::correct(std::int64_t lane, std::optional<Head> head) {
  Lane& known = lanes_.at(lane);
  known.head = head;
  arrange(lane, known);
}

std::optional<std::int64_t> TurnQueue::serve(std::int64_t lane, Head taken) {
  Lane& known = lanes_.at(lane);
  if (known.head == taken) known.head->seq += 1;  // whatever is left comes later
  if (named_ == 0) {
    arrange(lane, known);
    return std::nullopt;
  }
  Tenant& tenant = *known.tenant;
  tenant.turn = ++last_turn_;
  tenant.claimed += 1;
  arrangeAll(tenant);
  return tenant.turn;
}

void TurnQueue::free(const std::string& tenant) {
  const auto known = tenants_.find(tenant);
  if (known == tenants_.end()) return;
  known->second.claimed -= 1;
  arrangeAll(known->second);
}

std::optional<TurnQueue::Place> TurnQueue::next(const std::optional<Place>& behind) const {
  std::optional<Place> first;
  const auto look = [&](const std::set<Place>& places) {
    const auto found = behind ? places.upper_bound(*behind) : places.begin();
    if (found != places.end() && (!first || *found < *first)) first = *found;
  };
  if (with_open_) look(open_->places);
  for (const Group* group : selected_) look(group->places);
  return first;
}

std::size_t TurnQueue::size() const {
  std::size_t size = with_open_ ? open_->places.size() : 0;
  for (const Group* group : selected_) size += group->places.size();
  return size;
}

}  // namespace muster
