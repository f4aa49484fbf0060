#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace muster {

// Requests that wait for something to happen under a key (a pool, a job), without a thread.
// Thread-safe.
//
// To miss nothing: take generation(key), look whether there is something to do, and if not, wait
// with that generation. A wake() in between makes the wait end at once.
class WaitList {
 public:
  using Wake = std::function<void()>;  // called once, on any thread; must not block
  using Ticket = std::uint64_t;

  std::uint64_t generation(std::string_view key) const;

  // A ticket to cancel with. 0: `wake` was called already, since the generation has passed or
  // waiting is over.
  Ticket wait(std::string_view key, std::uint64_t generation, Wake wake);
  // False when it was woken before.
  bool cancel(Ticket ticket);

  // Wakes up to `count` of those who wait under the key, longest first.
  void wake(std::string_view key, std::size_t count);
  // Wakes everybody, now and from now on.
  void close();

 private:
  struct Waiter {
    std::string key;
    Wake wake;
  };
  std::atomic<std::uint64_t>& bucket(std::string_view key) const;

  mutable std::array<std::atomic<std::uint64_t>, 1024> generations_{};  // keys may share one
  std::mutex mutex_;
  std::unordered_map<Ticket, Waiter> waiters_;           // guarded by mutex_
  std::unordered_multimap<std::string, Ticket> by_key_;  // guarded by mutex_
  Ticket last_ticket_ = 0;                               // guarded by mutex_
  bool closed_ = false;                                  // guarded by mutex_
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace muster
