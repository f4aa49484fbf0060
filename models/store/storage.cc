#include "models/store/storage.h"

#include <future>

#include "models/store/postgres/postgres_storage.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store/sqlite/sqlite_storage.h"
#include "models/store_url.h"

namespace muster {

Status Storage::writeAndWait(const Unit& unit, Isolation isolation) {
  std::promise<Status> promise;
  write(
      unit, [&promise](const Status& status) { promise.set_value(status); }, nullptr, isolation);
  return promise.get_future().get();
}

Status Storage::readAndWait(const Unit& unit) {
  std::promise<Status> promise;
  read(unit, [&promise](const Status& status) { promise.set_value(status); });
  return promise.get_future().get();
}

tl::expected<std::unique_ptr<Storage>, std::string> openStorage(const StorageOptions& options,
                                                                const Clock& clock) {
  if (isPostgres(options.url)) return openPostgresStorage(options, clock);
  const auto path = sqlitePath(options.url);
  if (!path) return tl::unexpected(path.error());
  auto file = SqliteFile::open(*path);
  if (!file) return tl::unexpected(file.error());
  // The storage itself flushes the log where full durability is wanted.
  auto opened = openSqlite(*path, Durability::kNormal, clock.now(), false);
  if (!opened) return tl::unexpected(opened.error());
  try {
    return std::make_unique<SqliteStorage>(*std::move(file), std::move(opened->connection), options,
                                           clock);
  } catch (const StoreError& error) {
    return tl::unexpected(error.what());
  }
}

}  // namespace muster
