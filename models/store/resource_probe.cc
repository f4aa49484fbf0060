#include "models/store/resource_probe.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::int64_t kRowsAtOnce = 5000;

constexpr Sql kStoredResources{
    "SELECT resource_seq, sha256, size_bytes, resource_id FROM resources "
    "WHERE stored = 1 AND place_id = $1 AND resource_seq > $2 ORDER BY resource_seq LIMIT $3"};
constexpr Sql kStoredElsewhere{
    "SELECT count(*), coalesce(sum(CASE WHEN p.place_id IS NULL THEN 1 ELSE 0 END), 0), "
    "min(r.place_id) FROM resources r LEFT JOIN places p ON p.place_id = r.place_id "
    "WHERE r.stored = 1 AND r.place_id <> $1"};
constexpr Sql kBytesOfBlobs{
    "SELECT CAST(coalesce(sum(size_bytes), 0) AS BIGINT) FROM blobs WHERE place_id = $1"};
constexpr Sql kOpenUploads{
    "SELECT count(*), coalesce(sum(CASE WHEN uploaded_at < $1 THEN 1 ELSE 0 END), 0), "
    "min(uploaded_at) FROM resources WHERE uploaded_at IS NOT NULL"};

void compareWithFiles(SqlConnection& db, const BlobFolderView& folder,
                      StoreFindings::Resources& found) {
  std::int64_t last = 0;
  for (std::int64_t seen = kRowsAtOnce; seen == kRowsAtOnce;) {
    seen = 0;
    auto rows = db.query(kStoredResources, folder.place_id, last, kRowsAtOnce);
    for (; rows.next(); ++seen) {
      last = rows->integer(0);
      const auto length = folder.length_of(rows->string(1));
      if (length && *length == rows->integer(2)) continue;
      ++(length ? found.damaged : found.missing);
      if (found.example.empty()) found.example = rows->string(3);
    }
    found.stored += seen;
  }
}

}  // namespace

StoreFindings::Resources probeResources(SqlConnection& db, Time now, const BlobFolderView& folder) {
  StoreFindings::Resources found;
  compareWithFiles(db, folder, found);
  {
    auto rows = db.query(kStoredElsewhere, folder.place_id);
    if (rows.next()) {
      found.elsewhere = rows->integer(0);
      found.nowhere = rows->integer(1);
      if (!rows->isNull(2)) found.other_place = rows->string(2);
    }
  }
  {
    auto rows = db.query(kBytesOfBlobs, folder.place_id);
    if (rows.next()) found.blob_bytes = rows->integer(0);
  }
  auto rows = db.query(kOpenUploads, now - folder.upload_ttl);
  if (rows.next()) {
    found.uploads = rows->integer(0);
    found.silent_uploads = rows->integer(1);
    if (!rows->isNull(2)) found.silent_for = std::max(now - rows->time(2), Millis(0));
  }
  return found;
}

}  // namespace muster
