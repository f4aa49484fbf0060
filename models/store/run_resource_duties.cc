#include "models/operations/resources.h"
#include "models/store/sql/resource_leases.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/resource_rows.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr Sql kDueResources{
    MUSTER_SELECT_RESOURCE
    "WHERE r.state = 'active' AND r.expires_at IS NOT NULL AND r.expires_at <= $1 "
    "ORDER BY r.expires_at, r.resource_seq LIMIT $2"};
constexpr Sql kLateUploads{MUSTER_SELECT_RESOURCE
                           "WHERE r.uploaded_at IS NOT NULL AND r.uploaded_at <= $1 "
                           "ORDER BY r.uploaded_at, r.resource_seq LIMIT $2"};
constexpr Sql kMissedResources{
    "SELECT resource_seq FROM resources WHERE ref_count > 0 AND state IN ('evicted', 'lost') "
    "ORDER BY resource_seq LIMIT $1"};
// The record of one that jobs still refer to stays until they have ended.
constexpr Sql kRemoveGone{
    "DELETE FROM resources WHERE resource_seq IN (SELECT resource_seq FROM resources "
    "WHERE state IN ('evicted', 'lost') AND changed_at < $1 AND ref_count = 0 "
    "ORDER BY changed_at, resource_seq LIMIT $2)"};
constexpr Sql kCountsOfResources{
    "SELECT holder, state, count, size_bytes FROM resource_counts ORDER BY holder, state"};
constexpr Sql kBlobBytes{"SELECT blob_bytes FROM places WHERE place_id = $1"};
constexpr Sql kCountAffinities{"SELECT count(*) FROM affinities WHERE state = $1 AND holder <> ''"};
constexpr Sql kCountUploads{"SELECT count(*) FROM resources WHERE uploaded_at > 0"};

// Jobs that wait for what is gone; those that are claimed may end well, or wait again.
std::int64_t endReadersOfGone(int limit, Store& store) {
  std::vector<std::int64_t> gone;
  {
    auto rows = store.session.db.query(kMissedResources, limit);
    while (rows.next()) gone.push_back(rows->integer(0));
  }
  std::int64_t count = 0;
  ResourceRefs refs(store.session);
  for (const std::int64_t resource : gone) {
    if (count >= limit) break;
    count += refs.endReaders(resource, limit - static_cast<int>(count));
  }
  return count;
}

}  // namespace

Result<std::int64_t> run(const ExpireResources& op, Store& store) {
  SqlConnection& db = store.session.db;
  store.settleEnded();
  std::int64_t count = ResourceLeases(store.session).endDue(op.limit);
  ResourceRows resources(store.session);
  for (auto& row : ResourceRows::readAll(db.query(kDueResources, store.now(), op.limit))) {
    resources.evict(row, resource_reason::kExpired);
    ++count;
  }
  const Time silent_since = store.now() - store.rules().resources.upload_ttl;
  for (auto& row : ResourceRows::readAll(db.query(kLateUploads, silent_since, op.limit))) {
    if (row.resource.holder.kind == Holder::Kind::kStore) {
      resources.evict(row, resource_reason::kUploadExpired, true);
    } else {
      resources.dropUpload(row);
    }
    ++count;
  }
  return count + endReadersOfGone(op.limit, store);
}

Result<std::int64_t> run(const RemoveGoneResources& op, Store& store) {
  return store.session.db.execute(kRemoveGone, op.before, op.limit);
}

Result<CountResources::Reply> run(const CountResources&, Store& store) {
  SqlConnection& db = store.session.db;
  CountResources::Reply reply;
  {
    auto rows = db.query(kCountsOfResources);
    while (rows.next()) {
      const auto state = parseResourceState(rows->text(1));
      if (state) {
        reply.counts.push_back({rows->string(0), *state, rows->integer(2), rows->integer(3)});
      }
    }
  }
  if (const BlobFiles* here = store.rules().resources.blobs) {
    auto rows = db.query(kBlobBytes, here->placeId());
    if (rows.next()) reply.blob_bytes = rows->integer(0);
    reply.blob_bytes_max = store.rules().resources.max_disk_bytes;
  }
  for (const AffinityState state :
       {AffinityState::kActive, AffinityState::kDraining, AffinityState::kStale}) {
    auto rows = db.query(kCountAffinities, name(state));
    if (rows.next()) reply.affinities.emplace_back(state, rows->integer(0));
  }
  auto rows = db.query(kCountUploads);
  if (rows.next()) reply.uploads_open = rows->integer(0);
  return reply;
}

}  // namespace muster
