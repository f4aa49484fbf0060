#include "app/waits/wait_list.h"

#include <algorithm>
#include <vector>

namespace muster {

std::atomic<std::uint64_t>& WaitList::bucket(std::string_view key) const {
  return generations_[std::hash<std::string_view>{}(key) % generations_.size()];
}

std::uint64_t WaitList::generation(std::string_view key) const { return bucket(key).load(); }

WaitList::Ticket WaitList::wait(std::string_view key, std::uint64_t generation, Wake wake) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ && bucket(key).load() == generation) {
      const Ticket ticket = ++last_ticket_;
      waiters_.emplace(ticket, Waiter{std::string(key), std::move(wake)});
      by_key_.emplace(std::string(key), ticket);
      ++waiting_;
      return ticket;
    }
  }
  wake();
  return 0;
}

bool WaitList::cancel(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const auto waiter = waiters_.find(ticket);
  if (waiter == waiters_.end()) return false;
  const auto [first, last] = by_key_.equal_range(waiter->second.key);
  by_key_.erase(std::find_if(first, last, [&](const auto& e) { return e.second == ticket; }));
  waiters_.erase(waiter);
  --waiting_;
  return true;
}

void WaitList::wake(std::string_view key, std::size_t count) {
  bucket(key).fetch_add(1);
  if (waiting_.load() == 0) return;
  std::vector<Wake> woken;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Ticket> tickets;
    const auto [first, last] = by_key_.equal_range(std::string(key));
    for (auto entry = first; entry != last; ++entry) tickets.push_back(entry->second);
    std::sort(tickets.begin(), tickets.end());
    tickets.resize(std::min(tickets.size(), count));
    for (const Ticket ticket : tickets) {
      const auto waiter = waiters_.find(ticket);
      woken.push_back(std::move(waiter->second.wake));
      waiters_.erase(waiter);
      const auto [from, to] = by_key_.equal_range(std::string(key));
      by_key_.erase(std::find_if(from, to, [&](const auto& e) { return e.second == ticket; }));
      --waiting_;
    }
  }
  for (const Wake& wake : woken) wake();
}

void WaitList::close() {
  std::vector<Wake> woken;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [ticket, waiter] : waiters_) woken.push_back(std::move(waiter.wake));
    waiters_.clear();
    by_key_.clear();
    waiting_ = 0;
  }
  for (const Wake& wake : woken) wake();
}

}  // namespace muster
