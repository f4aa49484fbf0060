#pragma once

#include <string>
#include <vector>

#include "models/embedded_file.h"
#include "models/result.h"
#include "models/store/sql/sql_connection.h"

namespace muster {

// Brings a database to the schema of this binary. Each migration is one transaction; what was
// applied is kept with its checksum, so that a changed or a newer schema is recognised.
struct MigrationPlan {
  std::vector<std::string> applied;  // names, in order
  std::vector<std::string> pending;
};

// The error says what does not fit: a newer database, a changed migration.
tl::expected<MigrationPlan, std::string> planMigrations(SqlConnection& db,
                                                        const std::vector<EmbeddedFile>& files);
// Applies plan.pending; throws StoreError.
void applyMigrations(SqlConnection& db, const std::vector<EmbeddedFile>& files,
                     const MigrationPlan& plan, Time now);

}  // namespace muster
