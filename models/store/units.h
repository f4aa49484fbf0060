#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <mutex>
#include <vector>

#include "models/store/sql/sql_connection.h"
#include "models/store/storage.h"

namespace muster {

// A unit of work on its way through a storage.
struct WaitingUnit {
  Storage::Unit unit;
  Storage::Done done;
  Executor* on;
  Status status = {};
  bool waits_for_disk = true;
  Wish wish = {};
};

// What waits for a kind of thread.
template <class T>
struct WorkQueue {
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<T> items;  // guarded by mutex
  bool closed = false;  // guarded by mutex

  std::size_t size() {
    const std::lock_guard lock(mutex);
    return items.size();
  }
  void close() {
    const std::lock_guard lock(mutex);
    closed = true;
    filled.notify_all();
  }
  // Up to `most`, as soon as there are any; none when it is closed and empty.
  std::vector<T> take(std::size_t most) {
    std::unique_lock lock(mutex);
    filled.wait(lock, [this] { return !items.empty() || closed; });
    const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), most));
    std::vector<T> taken(std::move_iterator(items.begin()), std::move_iterator(end));
    items.erase(items.begin(), end);
    if (!items.empty()) filled.notify_one();
    return taken;
  }
};

// Puts the unit into the queue, or answers it at once: the storage stops, or too many wait.
void enqueueUnit(WorkQueue<WaitingUnit>& queue, WaitingUnit unit);

// Answers the units, those for one executor together.
void answerUnits(std::vector<WaitingUnit> units);

// What a fault of the database is to whoever asked.
Error unavailable(const StoreError& error);

// Runs the work; what it throws becomes the answer.
template <class Work>
Status attempt(const Work& work) {
  try {
    work();
    return {};
  } catch (const StoreError& error) {
    return tl::unexpected(unavailable(error));
  } catch (const std::exception& bug) {
    return fail(ErrorCode::kInternal, bug.what());
  } catch (...) {
    return fail(ErrorCode::kInternal, "an exception of an unknown kind");
  }
}

}  // namespace muster
