#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

  // Wakes up to `count` of those who wait under the key, longest first. However many they are,
  // others are kept from the list only for a moment at a time.
  void wake(std::string_view key, std::size_t count);
  // Wakes everybody, now and from now on.
  void close();

 private:
  using Waiters = std::map<Ticket, Wake>;  // in the order in which they came
  using Keys = std::unordered_map<std::string, Waiters>;
  std::atomic<std::uint64_t>& bucket(std::string_view key) const;
  std::vector<Wake> take(Keys::iterator key, std::size_t count, Ticket last);

  mutable std::array<std::atomic<std::uint64_t>, 1024> generations_{};  // keys may share one
  std::mutex mutex_;
  Keys by_key_;                                          // guarded by mutex_; none is empty
  std::unordered_map<Ticket, const std::string*> keys_;  // into by_key_; guarded by mutex_
  Ticket last_ticket_ = 0;                               // guarded by mutex_
  bool closed_ = false;                                  // guarded by mutex_
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace muster
