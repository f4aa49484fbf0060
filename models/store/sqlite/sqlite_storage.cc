#include "models/store/sqlite/sqlite_storage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kSqliteMaxBatch = 1'000;
constexpr int kSqliteReaders = 2;

// A handle on the write-ahead log of the database, or -1 where no flush is wanted.
int openLog(const std::string& path, Durability durability) {
  if (path == ":memory:" || durability == Durability::kNormal) return -1;
  const int log = ::open((path + "-wal").c_str(), O_RDONLY | O_CLOEXEC);
  if (log < 0) {
    throw StoreError(StoreError::Kind::kOther,
                     fmt::format("cannot open {}-wal: {}", path, std::strerror(errno)));
  }
  return log;
}

}  // namespace

SqliteStorage::SqliteStorage(SqliteFile file, std::unique_ptr<SqliteConnection> writer,
                             StorageOptions options, const Clock& clock)
    : file_(std::move(file)),
      options_(std::move(options)),
      clock_(clock),
      connection_(std::move(writer)),
      store_(*connection_, options_.rules),
      wal_(openLog(file_.path(), options_.durability)) {
  writer_ = std::jthread([this] { writeLoop(); });
  if (wal_ >= 0) syncer_ = std::jthread([this] { syncLoop(); });
  if (file_.path() == ":memory:") return;
  for (int i = 0; i < kSqliteReaders; ++i) readers_.emplace_back([this] { readLoop(); });
}

SqliteStorage::~SqliteStorage() {
  stop();
  if (wal_ >= 0) ::close(wal_);
}

void SqliteStorage::write(Unit unit, Done done, Executor* on, Isolation, Wish) {
  enqueueUnit(writes_, {std::move(unit), std::move(done), on});
}

void SqliteStorage::read(Unit unit, Done done, Executor* on) {
  const bool in_memory = file_.path() == ":memory:";
  enqueueUnit(in_memory ? writes_ : reads_, {std::move(unit), std::move(done), on});
}

void SqliteStorage::note(Unit unit, Done done) {
  WaitingUnit item{std::move(unit), std::move(done), nullptr};
  item.waits_for_disk = false;
  enqueueUnit(writes_, std::move(item));
}

void SqliteStorage::stop() {
  writes_.close();
  reads_.close();
  if (writer_.joinable()) writer_.join();
  readers_.clear();  // joins
  unsynced_.close();
  if (syncer_.joinable()) syncer_.join();
}

Storage::Commits SqliteStorage::commits() {
  const std::lock_guard lock(commits_mutex_);
  return std::exchange(commits_, {});
}

void SqliteStorage::writeLoop() {
  for (;;) {
    Finished finished;
    finished.items = writes_.take(kSqliteMaxBatch);
    if (finished.items.empty()) return;
    const std::int64_t changes = connection_->changes();
    runBatch(finished.items);
    finished.events = std::exchange(committed_, {});
    if (needsSync(finished, connection_->changes() != changes)) {
      deliverFlushed(std::move(finished));
    } else {
      deliver(std::move(finished));
    }
  }
}

void SqliteStorage::deliverFlushed(Finished finished) {
  const std::lock_guard lock(unsynced_.mutex);
  unsynced_.items.push_back(std::move(finished));
  unsynced_.filled.notify_one();
}

// A batch that changed nothing (claims that found no work, say) has nothing to flush, unless it saw
// changes that are not flushed yet.
bool SqliteStorage::needsSync(const Finished& finished, bool changed) {
  if (wal_ < 0 || (!changed && begun_ == flushed_)) return false;
  const auto waits = [](const WaitingUnit& item) { return item.waits_for_disk; };
  const bool some_wait = std::any_of(finished.items.begin(), finished.items.end(), waits);
  const std::lock_guard lock(writes_.mutex);
  if (!some_wait && syncing_ == 0) return false;  // else it would be told of before its elders
  ++syncing_;
  return true;
}

// While the disk is busy a commit would only wait behind it: what arrives meanwhile joins the
// open transaction. False when it is time to commit.
bool SqliteStorage::gatherMore(std::vector<WaitingUnit>& batch) {
  std::unique_lock lock(writes_.mutex);
  writes_.filled.wait(lock, [this] { return syncing_ == 0 || !writes_.items.empty(); });
  if (syncing_ == 0 || batch.size() >= kSqliteMaxBatch) return false;
  std::move(writes_.items.begin(), writes_.items.end(), std::back_inserter(batch));
  writes_.items.clear();
  return true;
}

bool SqliteStorage::flush() {
  const std::int64_t written = written_;
  // What the disk lost it will not give back at a second try: nothing more is promised.
  broken_ = broken_ || (options_.flush ? options_.flush(wal_) : ::fdatasync(wal_)) != 0;
  if (!broken_) flushed_ = written;
  return !broken_;
}

void SqliteStorage::syncLoop() {
  std::string why;
  for (;;) {
    auto batches = unsynced_.take(kSqliteMaxBatch);
    if (batches.empty()) break;
    const bool durable = flush();
    if (!durable && why.empty()) why = std::strerror(errno);
    int writes = 0;
    for (Finished& batch : batches) {
      writes += batch.is_read ? 0 : 1;
      for (WaitingUnit& item : batch.items) {
        if (durable || !item.status) continue;
        item.status = fail(ErrorCode::kStoreUnavailable, "the disk failed to keep the log: " + why);
      }
      deliver(std::move(batch));
    }
    const std::lock_guard lock(writes_.mutex);
    syncing_ -= writes;
    if (syncing_ == 0) writes_.filled.notify_one();
  }
  if (written_ != flushed_) flush();
}

void SqliteStorage::runBatch(std::vector<WaitingUnit>& batch) {
  if (broken_) {
    for (WaitingUnit& item : batch) {
      item.status = fail(ErrorCode::kStoreUnavailable, "the disk failed; restart the service");
    }
    return;
  }
  const auto began = clock_.monotonic();
  const auto together = [this, &batch] {
    std::size_t run = 0;
    do {
      for (; run < batch.size(); ++run) batch[run].unit(store_);
    } while (gatherMore(batch));
  };
  const Status all = attempt([&] { runTransaction(together); });
  if (batch.size() == 1) {
    batch.front().status = all;
  } else if (!all) {
    for (WaitingUnit& item : batch) {
      item.status = attempt([&] { runTransaction([&] { item.unit(store_); }); });
    }
  }
  const std::lock_guard lock(commits_mutex_);
  commits_.count += 1;
  commits_.units += static_cast<std::int64_t>(batch.size());
  commits_.seconds += std::chrono::duration<double>(clock_.monotonic() - began).count();
}

void SqliteStorage::runTransaction(const std::function<void()>& work) {
  const std::int64_t before = begun_;
  try {
    connection_->begin();
    const std::int64_t changes = connection_->changes();
    store_.session.begin(clock_.now(), std::nullopt);
    work();
    store_.finish();
    if (connection_->changes() != changes) ++begun_;
    connection_->commit();
    written_ = begun_.load();
    auto events = store_.session.takeEvents();
    std::move(events.begin(), events.end(), std::back_inserter(committed_));
  } catch (...) {
    connection_->rollback();
    begun_ = before;
    store_.session.forget();
    throw;
  }
  store_.session.committed();
}

void SqliteStorage::deliver(Finished finished) {
  answerUnits(std::move(finished.items));
  if (!finished.events.empty() && options_.on_commit) options_.on_commit(finished.events);
}

void SqliteStorage::readLoop() {
  SqliteConnection connection(file_.path(), SqliteAccess::kReadOnly);
  connection.script("PRAGMA cache_size = -8192");
  Store store(connection, options_.rules);
  for (;;) {
    Finished finished;
    finished.is_read = true;
    finished.items = reads_.take(1);
    if (finished.items.empty()) return;
    WaitingUnit& item = finished.items.front();
    item.status = attempt([&] {
      connection.script("BEGIN");
      store.session.begin(clock_.now(), std::nullopt);
      item.unit(store);
    });
    connection.rollback();
    if (!item.status) store.session.forget();
    if (wal_ >= 0 && begun_ != flushed_) {
      deliverFlushed(std::move(finished));
    } else {
      deliver(std::move(finished));
    }
  }
}

}  // namespace muster
