#include "models/store/sql/resource_places.h"

#include <fmt/format.h>

namespace muster {
namespace {

constexpr int kEvictedForOne = 200;  // to make room for one upload, in one unit

constexpr Sql kBytesOfPlace{"SELECT used_bytes, blob_bytes FROM places WHERE place_id = $1"};
constexpr Sql kBytesOfUploads{
    "SELECT CAST(coalesce(sum(coalesce(size_bytes, upload_offset)), 0) AS BIGINT) FROM resources "
    "WHERE uploaded_at IS NOT NULL AND place_id = $1"};
// Of which the holder has not said yet that they are gone.
constexpr Sql kBytesEvicting{
    "SELECT CAST(coalesce(sum(size_bytes), 0) AS BIGINT) FROM resources "
    "WHERE state = 'evicting' AND place_id = $1 AND stored = 1"};
constexpr Sql kIdleResources{
    MUSTER_SELECT_RESOURCE
    "WHERE r.place_id = $1 AND r.state = 'active' AND r.stored = 1 AND r.ref_count = 0 "
    "AND r.lease_count = 0 ORDER BY r.last_used_at, r.resource_seq LIMIT $2"};
constexpr Sql kAdoptBlob{
    "INSERT INTO blobs (place_id, sha256, size_bytes, users, doomed_at) "
    "VALUES ($1, $2, 0, 0, $3) ON CONFLICT (place_id, sha256) DO NOTHING"};
constexpr Sql kDoomedBlobs{
    "SELECT sha256, size_bytes, doomed_at FROM blobs WHERE place_id = $1 AND users = 0 AND "
    "doomed_at <= $2 "
    "ORDER BY doomed_at LIMIT $3"};
constexpr Sql kDeleteBlob{"DELETE FROM blobs WHERE place_id = $1 AND sha256 = $2 AND users = 0"};
constexpr Sql kPutOffBlob{
    "UPDATE blobs SET doomed_at = $3 WHERE place_id = $1 AND sha256 = $2 AND users = 0"};
constexpr Sql kTakeFromPlace{"UPDATE places SET blob_bytes = blob_bytes - $2 WHERE place_id = $1"};

std::int64_t sumOf(SqlCursor rows) { return rows.next() ? rows->integer(0) : 0; }

// Without an overflow, whatever the whole is.
std::int64_t percent(std::int64_t whole, int part) {
  return whole / 100 * part + whole % 100 * part / 100;
}

}  // namespace

ResourcePlaces::Level ResourcePlaces::level() {
  Level level;
  {
    auto rows = s_.db.query(kBytesOfPlace, place());
    if (rows.next()) level = {rows->integer(0), rows->integer(1)};
  }
  const std::int64_t uploads = sumOf(s_.db.query(kBytesOfUploads, place()));
  level.used += uploads;
  level.files += uploads;
  return level;
}

ResourcePlaces::Step ResourcePlaces::evictIdle(std::int64_t bytes, int limit) {
  const auto idle = ResourceRows::readAll(s_.db.query(kIdleResources, place(), limit));
  Step step;
  ResourceRows resources(s_);
  std::int64_t going = 0;  // what its holder has to remove first counts as gone
  for (ResourceRow row : idle) {
    if (resources.freedBytes() + going >= bytes) return step;
    resources.evict(row, resource_reason::kPressure);
    if (isLiving(row.resource.state)) going += row.resource.size_bytes.value_or(0);
    ++step.count;
  }
  step.more =
      resources.freedBytes() + going < bytes && idle.size() == static_cast<std::size_t>(limit);
  return step;
}

Status ResourcePlaces::makeRoom(std::int64_t bytes) {
  const std::int64_t most = s_.rules.resources.max_disk_bytes;
  std::int64_t used = level().used;
  bool more = false;
  if (bytes <= most && used > most - bytes) {
    more = evictIdle(used - (most - bytes), kEvictedForOne).more;
    used = level().used;
  }
  if (bytes <= most && used <= most - bytes) return {};
  Error error{ErrorCode::kStoreFull,
              fmt::format("{} bytes of {} are in use and cannot be evicted", used, most)};
  error.retry_after = std::chrono::seconds(more ? 1 : 60);
  return tl::unexpected(std::move(error));
}

void ResourcePlaces::adopt(std::span<const std::string> strays) {
  for (const std::string& sha256 : strays) {
    s_.db.post(kAdoptBlob, place(), sha256, s_.now - s_.rules.resources.blob_grace);
  }
}

ResourcePlaces::Step ResourcePlaces::evictAboveWatermark(int limit) {
  const ResourceRules& rules = s_.rules.resources;
  const std::int64_t used = level().used - sumOf(s_.db.query(kBytesEvicting, place()));
  if (used <= percent(rules.max_disk_bytes, rules.high_watermark_pct)) return {};
  return evictIdle(used - percent(rules.max_disk_bytes, rules.low_watermark_pct), limit);
}

ResourcePlaces::Step ResourcePlaces::collect(int limit, Time settled) {
  const ResourceRules& rules = s_.rules.resources;
  std::int64_t too_many = level().files - rules.max_disk_bytes;
  const Time before = s_.now - rules.blob_grace;
  struct Doomed {
    std::string sha256;
    std::int64_t bytes;
    Time since;
  };
  std::vector<Doomed> doomed;
  {
    auto rows = s_.db.query(kDoomedBlobs, place(), too_many > 0 ? s_.now : before, limit);
    while (rows.next()) doomed.push_back({rows->string(0), rows->integer(1), rows->time(2)});
  }
  Step step;
  step.more = doomed.size() == static_cast<std::size_t>(limit);
  for (const Doomed& blob : doomed) {
    if (blob.since > before && too_many <= 0) break;
    if (blob.since >= settled) {
      step.more = true;
      break;
    }
    // A rollback from here on leaves a row without a file, which a new user of the blob makes good:
    // it brings its own bytes.
    if (!rules.blobs->removeBlob(blob.sha256)) {
      s_.db.post(kPutOffBlob, place(), blob.sha256, s_.now);  // so that it is in nobody's way
      continue;
    }
    s_.db.post(kDeleteBlob, place(), blob.sha256);
    s_.db.post(kTakeFromPlace, place(), blob.bytes);
    too_many -= blob.bytes;
    ++step.count;
  }
  return step;
}

}  // namespace muster
