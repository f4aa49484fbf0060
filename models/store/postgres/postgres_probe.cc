#include <fmt/format.h>

#include "models/store/postgres/postgres_connection.h"
#include "models/store/resource_probe.h"
#include "models/store/store_probe.h"
#include "models/store/unsettled_probe.h"
#include "models/store_url.h"

namespace muster {
namespace {

constexpr Sql kVersion{"SELECT current_setting('server_version')"};
constexpr Sql kClock{"SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"};
// A process id alone may be that of another server, where the address names several.
constexpr Sql kSession{
    "SELECT pid || ' since ' || backend_start FROM pg_stat_get_activity(pg_backend_pid())"};
constexpr Sql kProbeBegin{"BEGIN"};
// As the store does where full durability is wanted.
constexpr Sql kWait{
    "SELECT set_config('synchronous_commit', 'on', true) "
    "WHERE current_setting('synchronous_commit') = 'off'"};
constexpr Sql kWriteLog{"SELECT pg_logical_emit_message(true, 'muster', 'doctor')"};

std::string firstText(PostgresConnection& db, Sql sql) {
  auto rows = db.query(sql);
  return rows.next() ? rows->string(0) : "";
}

// A pooler hands the session of one to the other as soon as its transaction is over.
bool sharesSessions(PostgresConnection& first, const PostgresPlace& place) {
  PostgresConnection second(place, PostgresAccess::kReadOnly, Durability::kNormal);
  SeenSessions seen;
  for (int round = 0; round < 3; ++round) {
    for (const auto& [number, db] : {std::pair(1, &first), std::pair(2, &second)}) {
      seen.emplace_back(number, firstText(*db, kSession));
      db->rollback();
    }
  }
  return areShared(seen);
}

Millis clockAhead(PostgresConnection& db, const Clock& clock) {
  const Time before = clock.now();
  auto rows = db.query(kClock);
  const Time after = clock.now();
  rows.next();
  return before + (after - before) / 2 - rows->time(0);
}

}  // namespace

StoreFindings probePostgres(const std::string& url, const Clock& clock,
                            const BlobFolderView* blobs) {
  StoreFindings found;
  auto place = postgresPlace(url);
  if (!place) {
    found.fault = place.error();
    found.remedy = "correct `store`";
    return found;
  }
  // Whatever is in between: nothing here needs a session, and without full durability the
  // connection adds nothing to a commit.
  found.pgbouncer_on = std::exchange(place->bouncer, true);
  found.remedy = "is the server up, and are address, user, password and pg_hba.conf right?";
  try {
    PostgresConnection db(*place, PostgresAccess::kReadWrite, Durability::kNormal);
    found.store = fmt::format("PostgreSQL {} at {}", firstText(db, kVersion), withoutPassword(url));
    db.rollback();
    found.remedy = "see the server's log; the user needs a database of its own that it may write";
    found.clock_ahead = clockAhead(db, clock);
    db.rollback();
    found.migrations = planMigrations(db, kPostgresMigrations);
    db.rollback();
    if (hasAllMigrations(found)) {
      const Time now = clock.now() - *found.clock_ahead;
      found.unsettled = probeUnsettled(db, now);
      if (blobs != nullptr) found.resources = probeResources(db, now, *blobs);
      db.rollback();
    }
    found.shared_sessions = sharesSessions(db, *place);
    found.flush = medianDuration(clock, [&db] {
      db.post(kProbeBegin);
      db.post(kWait);
      db.post(kWriteLog);
      db.commit();
    });
  } catch (const StoreError& error) {
    found.fault = error.what();
  }
  return found;
}

}  // namespace muster
