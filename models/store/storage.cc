#include "models/store/storage.h"

#include <future>

#include "models/store/postgres/postgres_storage.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store/sqlite/sqlite_storage.h"

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

bool isPostgres(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

std::string withoutPassword(const std::string& url) {
  if (!isPostgres(url)) return url;
  std::string shown = url;
  const std::size_t user = shown.find("://") + 3;
  const std::size_t at = shown.substr(0, shown.find_first_of("/?", user)).rfind('@');
  const std::size_t colon = shown.find(':', user);
  if (at != std::string::npos && colon < at) shown.replace(colon, at - colon, ":***");
  constexpr std::string_view kParameter = "password=";
  for (std::size_t from = shown.find(kParameter); from != std::string::npos;) {
    from += kParameter.size();
    shown.replace(from, std::min(shown.find('&', from), shown.size()) - from, "***");
    from = shown.find(kParameter, from);
  }
  return shown;
}

tl::expected<std::string, std::string> sqlitePath(const std::string& url) {
  if (url == "memory:") return ":memory:";
  constexpr std::string_view kScheme = "sqlite:";
  if (url.starts_with(kScheme) && url.size() > kScheme.size()) return url.substr(kScheme.size());
  return tl::unexpected("the store '" + url +
                        "' is not known; use sqlite:PATH, memory: or postgresql://HOST/DATABASE");
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
