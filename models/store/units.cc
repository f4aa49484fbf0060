#include "models/store/units.h"

#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMaxWaiting = 20'000;

}  // namespace

Error unavailable(const StoreError& error) {
  const bool soon =
      error.kind == StoreError::Kind::kBusy || error.kind == StoreError::Kind::kConflict;
  return {soon ? ErrorCode::kStoreBusy : ErrorCode::kStoreUnavailable,
          error.what(),
          {},
          Seconds(soon ? 1 : 5)};
}

void answerUnits(std::vector<WaitingUnit> units) {
  std::stable_sort(units.begin(), units.end(),
                   [](const auto& a, const auto& b) { return a.on < b.on; });
  for (auto first = units.begin(); first != units.end();) {
    auto last = first;
    std::vector<Executor::Task> group;
    for (; last != units.end() && last->on == first->on; ++last) {
      group.push_back(
          [done = std::move(last->done), status = std::move(last->status)] { done(status); });
    }
    if (first->on != nullptr) {
      first->on->post(std::move(group));
    } else {
      for (const auto& task : group) task();
    }
    first = last;
  }
}

void enqueueUnit(WorkQueue<WaitingUnit>& queue, WaitingUnit unit) {
  {
    const std::lock_guard lock(queue.mutex);
    if (queue.closed) {
      unit.status = fail(ErrorCode::kDraining, "the service is stopping");
    } else if (queue.items.size() >= kMaxWaiting) {
      unit.status = tl::unexpected(
          Error{ErrorCode::kStoreBusy, "too many requests wait for the store", {}, Seconds(1)});
    } else {
      queue.items.push_back(std::move(unit));
      if (queue.items.size() == 1) queue.filled.notify_one();
      return;
    }
  }
  std::vector<WaitingUnit> refused;
  refused.push_back(std::move(unit));
  answerUnits(std::move(refused));
}

}  // namespace muster
