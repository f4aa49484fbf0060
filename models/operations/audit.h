#pragma once

#include <string>

#include "models/audit.h"
#include "models/result.h"

namespace muster {

class Store;

// Keeps what was changed. Id and time of the entry are set here.
struct RecordChange {
  AuditEntry entry;
};
void run(const RecordChange& op, Store& store);

// The changes that were kept, newest first.
struct ListAudit {
  std::string cursor;  // empty: from the newest
  std::string by;      // only of this token; empty: of all
  int limit = 50;
  using Reply = AuditPage;
};
Result<AuditPage> run(const ListAudit& op, Store& store);

// Removes up to `limit` entries that are older; how many there were.
struct RemoveOldAudit {
  Time before;
  int limit = 500;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const RemoveOldAudit& op, Store& store);

}  // namespace muster
