#include "app/waits/wait_list.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kWokenAtOnce = 64;

}  // namespace

std::atomic<std::uint64_t>& WaitList::bucket(std::string_view key) const {
  return generations_[std::hash<std::string_view>{}(key) % generations_.size()];
}

std::uint64_t WaitList::generation(std::string_view key) const { return bucket(key).load(); }

WaitList::Ticket WaitList::wait(std::string_view key, std::uint64_t generation, Wake wake) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && bucket(key).load() == generation) {
      const Ticket ticket = ++last_ticket_;
      const auto entry = by_key_.try_emplace(std::string(key)).first;
      entry->second.emplace(ticket, std::move(wake));
      keys_.emplace(ticket, &entry->first);
      ++waiting_;
      return ticket;
    }
  }
  wake();
  return 0;
}

bool WaitList::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto known = keys_.find(ticket);
  if (known == keys_.end()) return false;
  const auto entry = by_key_.find(*known->second);
  keys_.erase(known);
  entry->second.erase(ticket);
  if (entry->second.empty()) by_key_.erase(entry);
  --waiting_;
  return true;
}

// The first of a key that came no later than `last`.
std::vector<WaitList::Wake> WaitList::take(Keys::iterator key, std::size_t count, Ticket last) {
  std::vector<Wake> taken;
  Waiters& waiters = key->second;
  while (taken.size() < count && !waiters.empty() && waiters.begin()->first <= last) {
    keys_.erase(waiters.begin()->first);
    taken.push_back(std::move(waiters.begin()->second));
    waiters.erase(waiters.begin());
    --waiting_;
  }
  if (waiters.empty()) by_key_.erase(key);
  return taken;
}

void WaitList::wake(std::string_view key, std::size_t count) {
  bucket(key).fetch_add(1);
  if (waiting_.load() == 0) return;
  const std::string name(key);
  std::optional<Ticket> last;  // who comes while others are woken has seen what there is
  for (std::vector<Wake> woken; count > 0; count -= woken.size()) {
    {
      const std::lock_guard lock(mutex_);
      if (!last) last = last_ticket_;
      const auto entry = by_key_.find(name);
      if (entry == by_key_.end()) return;
      woken = take(entry, std::min(count, kWokenAtOnce), *last);
    }
    if (woken.empty()) return;
    for (const Wake& wake : woken) wake();
  }
}

void WaitList::close() {
  for (;;) {
    std::vector<Wake> woken;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      if (by_key_.empty()) return;
      woken = take(by_key_.begin(), kWokenAtOnce, std::numeric_limits<Ticket>::max());
    }
    for (const Wake& wake : woken) wake();
  }
}

}  // namespace muster
