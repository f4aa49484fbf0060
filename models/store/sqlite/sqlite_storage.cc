#include "models/store/sqlite/sqlite_storage.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kMaxWaiting = 20'000;
constexpr std::size_t kMaxBatch = 1'000;
constexpr int kReaders = 2;

Error asError(const StoreError& error) {
  const bool busy = error.kind == StoreError::Kind::kBusy;
  return {busy ? ErrorCode::kStoreBusy : ErrorCode::kStoreUnavailable,
          error.what(),
          {},
          Seconds(busy ? 1 : 5)};
}

// Hands the continuations over, those for one executor together.
void postAll(std::vector<std::pair<Executor*, Executor::Task>> tasks) {
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto first = tasks.begin(); first != tasks.end();) {
    auto last = first;
    std::vector<Executor::Task> group;
    for (; last != tasks.end() && last->first == first->first; ++last) {
      group.push_back(std::move(last->second));
    }
    if (first->first != nullptr) {
      first->first->post(std::move(group));
    } else {
      for (const auto& task : group) task();
    }
    first = last;
  }
}

}  // namespace

SqliteStorage::SqliteStorage(SqliteFile file, std::unique_ptr<SqliteConnection> writer,
                             StorageOptions options, const Clock& clock)
    : file_(std::move(file)),
      options_(std::move(options)),
      clock_(clock),
      connection_(std::move(writer)),
      store_(*connection_, options_.rules) {
  threads_.emplace_back([this] { writeLoop(); });
  if (file_.path() == ":memory:") return;
  for (int i = 0; i < kReaders; ++i) threads_.emplace_back([this] { readLoop(); });
}

SqliteStorage::~SqliteStorage() { stop(); }

void SqliteStorage::write(Unit unit, Done done, Executor* on) {
  enqueue(writes_, {std::move(unit), std::move(done), on});
}

void SqliteStorage::read(Unit unit, Done done, Executor* on) {
  const bool in_memory = file_.path() == ":memory:";
  enqueue(in_memory ? writes_ : reads_, {std::move(unit), std::move(done), on});
}

void SqliteStorage::enqueue(Queue& queue, Item item) {
  {
    const std::lock_guard lock(queue.mutex);
    if (queue.closed) {
      item.status = fail(ErrorCode::kDraining, "the service is stopping");
    } else if (queue.items.size() >= kMaxWaiting) {
      item.status = tl::unexpected(
          Error{ErrorCode::kStoreBusy, "too many requests wait for the store", {}, Seconds(1)});
    } else {
      queue.items.push_back(std::move(item));
      if (queue.items.size() == 1) queue.filled.notify_one();
      return;
    }
  }
  std::vector<Item> refused;
  refused.push_back(std::move(item));
  finish(refused);
}

void SqliteStorage::stop() {
  for (Queue* queue : {&writes_, &reads_}) {
    const std::lock_guard lock(queue->mutex);
    queue->closed = true;
    queue->filled.notify_all();
  }
  threads_.clear();  // joins
}

Storage::Commits SqliteStorage::commits() {
  const std::lock_guard lock(commits_mutex_);
  return std::exchange(commits_, {});
}

void SqliteStorage::writeLoop() {
  std::vector<Item> batch;
  for (;;) {
    batch.clear();
    {
      std::unique_lock lock(writes_.mutex);
      writes_.filled.wait(lock, [this] { return !writes_.items.empty() || writes_.closed; });
      if (writes_.items.empty()) return;
      const std::size_t count = std::min(writes_.items.size(), kMaxBatch);
      const auto end = writes_.items.begin() + static_cast<std::ptrdiff_t>(count);
      std::move(writes_.items.begin(), end, std::back_inserter(batch));
      writes_.items.erase(writes_.items.begin(), end);
    }
    runBatch(batch);
    const std::vector<Event> events = store_.session.takeEvents();
    finish(batch);
    if (!events.empty() && options_.on_commit) options_.on_commit(events);
  }
}

// All units in one transaction. When the database refuses that, each gets one of its own, so that
// only those that cannot be done fail.
void SqliteStorage::runBatch(std::vector<Item>& batch) {
  const auto began = clock_.monotonic();
  try {
    runTransaction(batch);
  } catch (const StoreError& error) {
    if (batch.size() == 1) batch.front().status = tl::unexpected(asError(error));
    for (std::size_t i = 0; batch.size() > 1 && i < batch.size(); ++i) {
      try {
        runTransaction(std::span(batch).subspan(i, 1));
      } catch (const StoreError& own) {
        batch[i].status = tl::unexpected(asError(own));
      }
    }
  }
  const std::lock_guard lock(commits_mutex_);
  commits_.count += 1;
  commits_.units += static_cast<std::int64_t>(batch.size());
  commits_.seconds += std::chrono::duration<double>(clock_.monotonic() - began).count();
}

void SqliteStorage::runTransaction(std::span<Item> items) {
  try {
    connection_->begin();
    store_.session.now = clock_.now();
    for (Item& item : items) runUnit(item, items.size() == 1);
    store_.session.flushCounts();
    connection_->commit();
  } catch (const StoreError&) {
    connection_->rollback();
    store_.session.forgetTransaction();
    throw;
  }
}

void SqliteStorage::runUnit(Item& item, bool alone) {
  if (!alone) connection_->beginUnit();
  item.status = {};
  try {
    item.unit(store_);
  } catch (const StoreError&) {
    throw;
  } catch (const std::exception& bug) {
    item.status = fail(ErrorCode::kInternal, bug.what());
  }
  if (item.status) {
    if (!alone) connection_->endUnit();
    store_.session.endUnit();
  } else {
    if (alone) {
      connection_->rollback();
      connection_->begin();
    } else {
      connection_->rollbackUnit();
    }
    store_.session.forgetUnit();
  }
}

void SqliteStorage::finish(std::vector<Item>& batch) {
  std::vector<std::pair<Executor*, Executor::Task>> tasks;
  tasks.reserve(batch.size());
  for (Item& item : batch) {
    tasks.emplace_back(
        item.on, [done = std::move(item.done), status = std::move(item.status)] { done(status); });
  }
  postAll(std::move(tasks));
}

void SqliteStorage::readLoop() {
  SqliteConnection connection(file_.path(), SqliteAccess::kReadOnly);
  connection.script("PRAGMA cache_size = -8192");
  Store store(connection, options_.rules);
  std::vector<Item> one;
  for (;;) {
    one.clear();
    {
      std::unique_lock lock(reads_.mutex);
      reads_.filled.wait(lock, [this] { return !reads_.items.empty() || reads_.closed; });
      if (reads_.items.empty()) return;
      one.push_back(std::move(reads_.items.front()));
      reads_.items.pop_front();
      if (!reads_.items.empty()) reads_.filled.notify_one();
    }
    Item& item = one.front();
    try {
      connection.script("BEGIN");
      store.session.now = clock_.now();
      item.unit(store);
    } catch (const StoreError& error) {
      item.status = tl::unexpected(asError(error));
    } catch (const std::exception& bug) {
      item.status = fail(ErrorCode::kInternal, bug.what());
    }
    connection.rollback();
    finish(one);
  }
}

}  // namespace muster
