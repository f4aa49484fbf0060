#include "models/store/migrator.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/store/random.h"

namespace muster {
namespace {

constexpr Sql kApplied{"SELECT name, checksum FROM schema_migrations ORDER BY name"};
constexpr Sql kRememberMigration{
    "INSERT INTO schema_migrations (name, checksum, applied_at) VALUES ($1, $2, $3)"};

std::string stem(std::string_view file) { return std::string(file.substr(0, file.rfind('.'))); }

}  // namespace

tl::expected<MigrationPlan, std::string> planMigrations(SqlConnection& db,
                                                        const std::vector<EmbeddedFile>& files) {
  MigrationPlan plan;
  if (!db.hasTable("schema_migrations")) {
    for (const EmbeddedFile& file : files) plan.pending.push_back(stem(file.name));
    return plan;
  }
  auto rows = db.query(kApplied);
  while (rows.next()) {
    const std::string name = rows->string(0);
    const auto known = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& file) {
      return stem(file.name) == name;
    });
    if (known == files.end()) {
      return tl::unexpected(fmt::format(
          "the database has the schema '{}' of a newer version of Muster; this is version {}. "
          "Start that version, or restore the backup made before the upgrade",
          name, MUSTER_VERSION));
    }
    if (sha256Hex(known->content) != rows->text(1)) {
      return tl::unexpected(
          fmt::format("the migration '{}' was applied with another content than this binary has; "
                      "the database and the binary do not belong together",
                      name));
    }
    plan.applied.push_back(name);
  }
  for (const EmbeddedFile& file : files) {
    if (std::find(plan.applied.begin(), plan.applied.end(), stem(file.name)) ==
        plan.applied.end()) {
      plan.pending.push_back(stem(file.name));
    }
  }
  return plan;
}

void applyMigrations(SqlConnection& db, const std::vector<EmbeddedFile>& files,
                     const MigrationPlan& plan, Time now) {
  for (const std::string& name : plan.pending) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& candidate) {
      return stem(candidate.name) == name;
    });
    db.script("BEGIN");
    try {
      db.script(
          "CREATE TABLE IF NOT EXISTS schema_migrations "
          "(name TEXT PRIMARY KEY, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)");
      db.script(std::string(file->content));
      db.execute(kRememberMigration, name, sha256Hex(file->content), now);
      db.script("COMMIT");
    } catch (...) {
      db.script("ROLLBACK");
      throw;
    }
  }
}

}  // namespace muster
