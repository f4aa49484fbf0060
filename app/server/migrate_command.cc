#include "app/server/migrate_command.h"

#include <fmt/format.h>

#include "app/log/system_clock.h"
#include "models/store/postgres/postgres_storage.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store_url.h"

namespace muster {

int runMigrate(const std::string& store_url, bool dry_run) {
  const auto refuse = [](const std::string& why) {
    fmt::print(stderr, "muster: {}\n", why);
    return 2;
  };
  const auto show = [dry_run](const MigrationPlan& plan) {
    for (const auto& name : plan.applied) fmt::print("{}  already applied\n", name);
    for (const auto& name : plan.pending) {
      fmt::print("{}  {}\n", name, dry_run ? "would be applied" : "applied");
    }
    return 0;
  };
  if (isPostgres(store_url)) {
    const auto plan = migratePostgres(store_url, SystemClock().now(), dry_run);
    return plan ? show(*plan) : refuse(plan.error());
  }
  const auto path = sqlitePath(store_url);
  if (!path) return refuse(path.error());
  if (!dry_run) {
    if (const auto file = SqliteFile::open(*path); !file) return refuse(file.error());
  }
  const auto opened = openSqlite(*path, Durability::kFull, SystemClock().now(), dry_run);
  if (!opened) return refuse(opened.error());
  return show(opened->plan);
}

}  // namespace muster
