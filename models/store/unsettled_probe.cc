#include "models/store/unsettled_probe.h"

#include <algorithm>

namespace muster {
namespace {

// When a flow was cancelled or retried is not kept, so only the ends of jobs tell since when.
constexpr Sql kLeftToSettle{
    "SELECT (SELECT count(*) FROM flow_jobs WHERE todo <> 0) + "
    "(SELECT count(*) FROM flows WHERE todo <> 0), "
    "(SELECT min(j.finished_at) FROM flow_jobs f JOIN jobs j ON j.seq = f.seq "
    "WHERE f.todo <> 0 AND f.todo < 3)"};

}  // namespace

StoreFindings::Unsettled probeUnsettled(SqlConnection& db, Time now) {
  StoreFindings::Unsettled left;
  auto rows = db.query(kLeftToSettle);
  if (!rows.next()) return left;
  left.count = rows->integer(0);
  if (!rows->isNull(1)) left.oldest = std::max(now - rows->time(1), Millis(0));
  return left;
}

}  // namespace muster
