#include <utility>

#include "models/operations/audit.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr Sql kInsertAudit{
    "INSERT INTO audit (audit_id, at, caller, method, path, status, request_id) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7)"};
#define MUSTER_SELECT_AUDIT \
  "SELECT audit_id, at, caller, method, path, status, request_id FROM audit "
constexpr Sql kNewestAudit{MUSTER_SELECT_AUDIT "ORDER BY audit_id DESC LIMIT $1"};
constexpr Sql kAuditBefore{MUSTER_SELECT_AUDIT
                           "WHERE audit_id < $2 ORDER BY audit_id DESC LIMIT $1"};
constexpr Sql kRemoveOldAudit{
    "DELETE FROM audit WHERE audit_id IN (SELECT audit_id FROM audit ORDER BY audit_id LIMIT $2) "
    "AND at < $1"};

AuditEntry readAuditRow(const SqlRows& row) {
  AuditEntry entry;
  entry.id = row.string(0);
  entry.at = row.time(1);
  entry.by = parseCaller(row.text(2));
  entry.method = row.string(3);
  entry.path = row.string(4);
  entry.status = static_cast<int>(row.integer(5));
  entry.request_id = row.string(6);
  return entry;
}

}  // namespace

void run(const RecordChange& op, Store& store) {
  Session& session = store.session;
  const AuditEntry& entry = op.entry;
  session.db.post(kInsertAudit, session.ids.next(session.now), session.now,
                  callerText(entry.by.name, entry.by.address), entry.method, entry.path,
                  entry.status, entry.request_id);
}

Result<AuditPage> run(const ListAudit& op, Store& store) {
  // A filter looks at what is read, so reading goes on until the page is full or there is no more.
  constexpr int kChunk = 500;
  AuditPage page;
  std::string before = op.cursor;
  for (;;) {
    auto rows = before.empty() ? store.session.db.query(kNewestAudit, kChunk)
                               : store.session.db.query(kAuditBefore, kChunk, before);
    int read = 0;
    for (; rows.next(); ++read) {
      AuditEntry entry = readAuditRow(*rows);
      before = entry.id;
      if (!op.by.empty() && entry.by.name != op.by) continue;
      if (page.entries.size() == static_cast<std::size_t>(op.limit)) {
        page.next_cursor = page.entries.back().id;
        return page;
      }
      page.entries.push_back(std::move(entry));
    }
    if (read < kChunk) return page;
  }
}

Result<std::int64_t> run(const RemoveOldAudit& op, Store& store) {
  return store.session.db.execute(kRemoveOldAudit, op.before, op.limit);
}

}  // namespace muster
