#include "models/store/sql/resource_rows.h"

#include <fmt/format.h>

#include "models/json/json_writer.h"
#include "models/store/sql/held_resources.h"

namespace muster {
namespace {

constexpr Sql kResourceByUid{MUSTER_SELECT_RESOURCE "WHERE r.uid = $1"};
constexpr Sql kResourceAt{MUSTER_SELECT_RESOURCE "WHERE r.resource_seq = $1"};
constexpr Sql kLivingResource{
    MUSTER_SELECT_RESOURCE
    "WHERE r.resource_id = $1 AND r.state IN ('uploading', 'active', 'stale', 'evicting')"};
constexpr Sql kLastResource{MUSTER_SELECT_RESOURCE
                            "WHERE r.resource_id = $1 ORDER BY r.resource_seq DESC LIMIT 1"};
constexpr Sql kClaimedReaders{
    "SELECT count(DISTINCT f.job_seq) FROM job_refs f JOIN jobs j ON j.seq = f.job_seq "
    "WHERE f.resource_seq = $1 AND j.status = 'claimed'"};
constexpr Sql kInsertResource{
    "INSERT INTO resources (resource_seq, uid, resource_id, type, holder, worker_id, host, scope, "
    "tenant, state, reason, size_bytes, mem_bytes, sha256, stored, place_id, upload_offset, "
    "uploaded_at, uri, path, mime, ttl_ms, expires_at, ref_count, lease_count, metadata, "
    "body_hash, job_id, attempt, created_at, last_used_at, changed_at, synced_at, version) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', $11, $12, $13, 0, '', $14, $15, $16, "
    "$17, $18, $19, $20, 0, 0, $21, $22, $23, $24, $25, $25, $25, NULL, 1)"};
constexpr Sql kSetContent{
    "UPDATE resources SET stored = 1, place_id = $2, sha256 = $3, size_bytes = $4, "
    "upload_offset = NULL, uploaded_at = NULL, state = $5, expires_at = $6, last_used_at = $7, "
    "changed_at = $7, version = version + 1 WHERE resource_seq = $1"};
constexpr Sql kBlobUsers{"SELECT users, size_bytes FROM blobs WHERE place_id = $1 AND sha256 = $2"};
// One that was found in the folder has no known size until then.
constexpr Sql kUseBlob{
    "INSERT INTO blobs (place_id, sha256, size_bytes, users, doomed_at) "
    "VALUES ($1, $2, $3, 1, NULL) ON CONFLICT (place_id, sha256) DO UPDATE SET "
    "users = blobs.users + 1, doomed_at = NULL, size_bytes = excluded.size_bytes"};
constexpr Sql kLeaveBlob{
    "UPDATE blobs SET users = users - 1, "
    "doomed_at = CASE WHEN users = 1 THEN CAST($3 AS BIGINT) ELSE doomed_at END "
    "WHERE place_id = $1 AND sha256 = $2 AND users > 0 RETURNING users, size_bytes"};
constexpr Sql kAddToPlace{
    "UPDATE places SET blob_bytes = blob_bytes + $2, used_bytes = used_bytes + $3 "
    "WHERE place_id = $1"};
constexpr Sql kCountResource{
    "INSERT INTO resource_counts (holder, state, count, size_bytes) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (holder, state) DO UPDATE SET count = resource_counts.count + excluded.count, "
    "size_bytes = resource_counts.size_bytes + excluded.size_bytes"};
constexpr Sql kUsageOfTenant{"SELECT disk_bytes FROM tenant_usage WHERE tenant = $1"};
constexpr Sql kBeginUpload{
    "UPDATE resources SET place_id = $2, upload_offset = 0, uploaded_at = $3, "
    "version = version + 1 WHERE resource_seq = $1"};
constexpr Sql kAdvanceUpload{
    "UPDATE resources SET upload_offset = $3, uploaded_at = $4, version = version + 1 "
    "WHERE resource_seq = $1 AND upload_offset = $2"};
constexpr Sql kDropUpload{
    "UPDATE resources SET place_id = '', upload_offset = NULL, uploaded_at = NULL, "
    "version = version + 1 WHERE resource_seq = $1"};
constexpr Sql kSetResourceState{
    "UPDATE resources SET state = $2, reason = $3, expires_at = $4, changed_at = $5, "
    "version = version + 1 WHERE resource_seq = $1"};
constexpr Sql kAddUsage{
    "INSERT INTO tenant_usage (tenant, disk_bytes) VALUES ($1, $2) "
    "ON CONFLICT (tenant) DO UPDATE SET "
    "disk_bytes = tenant_usage.disk_bytes + excluded.disk_bytes"};
constexpr Sql kEndResource{
    "UPDATE resources SET state = $2, reason = $3, stored = 0, upload_offset = NULL, "
    "uploaded_at = NULL, expires_at = NULL, lease_count = 0, changed_at = $4, "
    "version = version + 1 WHERE resource_seq = $1"};
constexpr Sql kEndLeasesOfResource{"DELETE FROM resource_leases WHERE resource_seq = $1"};
constexpr Sql kAddUses{
    "UPDATE resources SET ref_count = ref_count + $2, lease_count = lease_count + $3, "
    "expires_at = CASE WHEN state = 'active' AND ref_count + $2 = 0 AND lease_count + $3 = 0 "
    "THEN ttl_ms + CAST($4 AS BIGINT) END, "
    "last_used_at = $4, version = version + 1 WHERE resource_seq = $1 "
    "RETURNING state, ref_count, lease_count, expires_at, version"};
constexpr Sql kTouchResource{
    "UPDATE resources SET ttl_ms = $2, expires_at = $3, last_used_at = $4, "
    "version = version + 1 WHERE resource_seq = $1"};

constexpr Sql kMoveToCopy{
    "UPDATE resources SET holder = $2, host = '', version = version + 1 WHERE resource_seq = $1"};
constexpr Sql kSetSize{
    "UPDATE resources SET size_bytes = $2, version = version + 1 WHERE resource_seq = $1"};

// When an unused one is over, if it is used last at that time.
std::optional<Time> endOf(const ResourceRow& row, Time now) {
  if (row.isUsed() || !row.resource.ttl) return std::nullopt;
  if (row.resource.state != ResourceState::kActive) return std::nullopt;
  return now + *row.resource.ttl;
}

std::string quoted(std::string_view text) { return JsonWriter().value(text).take(); }

}  // namespace

tl::unexpected<Error> resourceGone(const Resource& resource) {
  Error error{ErrorCode::kResourceGone,
              "resource '" + resource.id + "' is " + std::string(name(resource.state)) +
                  (resource.reason.empty() ? "" : ": " + resource.reason)};
  error.members = {{"state", quoted(name(resource.state))}, {"reason", quoted(resource.reason)}};
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> notStored(const Resource& resource) {
  Error error{ErrorCode::kNotStored, "the bytes of resource '" + resource.id + "' are not here"};
  error.members = {{"holder", quoted(resource.holder.text())},
                   {"state", quoted(name(resource.state))}};
  return tl::unexpected(std::move(error));
}

bool isOver(const Resource& resource, Time now) {
  return resource.expires_at && *resource.expires_at <= now;
}

Status checkUsable(const Resource& resource, Time now) {
  if (resource.state == ResourceState::kUploading) return notStored(resource);
  if (isOver(resource, now)) {
    Resource over = resource;
    over.state = ResourceState::kEvicting;
    over.reason = resource_reason::kExpired;
    return resourceGone(over);
  }
  const bool may_use =
      resource.state == ResourceState::kActive || resource.state == ResourceState::kStale;
  if (!may_use) return resourceGone(resource);
  return {};
}

bool isHeldElsewhere(const Resource& resource) {
  return resource.holder.kind == Holder::Kind::kHost ||
         resource.holder.kind == Holder::Kind::kWorker;
}

std::int64_t usageOf(const Resource& resource) {
  const bool counts =
      resource.holder.kind == Holder::Kind::kStore || resource.stored || resource.upload_offset;
  if (!counts || !isLiving(resource.state)) return 0;
  return resource.size_bytes.value_or(resource.upload_offset.value_or(0));
}

ResourceRow ResourceRows::read(const SqlRows& row) {
  ResourceRow out;
  Resource& resource = out.resource;
  out.seq = row.integer(0);
  resource.uid = row.string(1);
  resource.id = row.string(2);
  resource.type = row.string(3);
  resource.holder = parseHolder(row.text(4)).value_or(Holder{});
  resource.worker = row.string(5);
  resource.host = row.string(6);
  resource.scope = row.string(7);
  resource.tenant = row.string(8);
  resource.state = parseResourceState(row.text(9)).value_or(ResourceState::kLost);
  resource.reason = row.string(10);
  resource.size_bytes = row.maybeInteger(11);
  resource.mem_bytes = row.maybeInteger(12);
  resource.sha256 = row.string(13);
  resource.stored = row.integer(14) != 0;
  resource.place = row.string(15);
  resource.upload_offset = row.maybeInteger(16);
  resource.uri = row.string(17);
  resource.path = row.string(18);
  resource.mime = row.string(19);
  if (!row.isNull(20)) resource.ttl = Millis(row.integer(20));
  resource.expires_at = row.maybeTime(21);
  resource.ref_count = row.integer(22);
  resource.lease_count = row.integer(23);
  resource.metadata = row.string(24);
  resource.job = row.string(25);
  if (!row.isNull(26)) resource.attempt = static_cast<int>(row.integer(26));
  resource.created_at = row.time(27);
  resource.last_used_at = row.time(28);
  resource.version = row.integer(29);
  out.body_hash = row.string(30);
  return out;
}

std::vector<ResourceRow> ResourceRows::readAll(SqlCursor rows) {
  std::vector<ResourceRow> all;
  while (rows.next()) all.push_back(read(*rows));
  return all;
}

std::optional<ResourceRow> ResourceRows::at(std::int64_t seq) {
  auto rows = s_.db.query(kResourceAt, seq);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

std::optional<ResourceRow> ResourceRows::findLiving(std::string_view id) {
  auto rows = s_.db.query(kLivingResource, id);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

std::optional<ResourceRow> ResourceRows::find(std::string_view name) {
  if (name.starts_with(kUidPrefix)) {
    auto rows = s_.db.query(kResourceByUid, name);
    return rows.next() ? std::optional(read(*rows)) : std::nullopt;
  }
  if (auto living = findLiving(name)) return living;
  auto rows = s_.db.query(kLastResource, name);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

void ResourceRows::countUses(ResourceRow& row) {
  row.resource.in_use_count = row.resource.lease_count;
  if (row.resource.ref_count == 0) return;
  auto rows = s_.db.query(kClaimedReaders, row.seq);
  rows.next();
  row.resource.in_use_count += rows->integer(0);
}

void ResourceRows::insert(ResourceRow& row) {
  Resource& resource = row.resource;
  resource.created_at = s_.now;
  resource.last_used_at = s_.now;
  resource.expires_at = endOf(row, s_.now);
  const auto ttl = resource.ttl ? std::optional(resource.ttl->count()) : std::nullopt;
  const auto uploaded_at = resource.upload_offset ? std::optional(s_.now) : std::nullopt;
  row.seq = s_.db.insert(kInsertResource, resource.uid, resource.id, resource.type,
                         resource.holder.text(), resource.worker, resource.host, resource.scope,
                         resource.tenant, name(resource.state), resource.size_bytes,
                         resource.mem_bytes, resource.sha256, resource.upload_offset, uploaded_at,
                         resource.uri, resource.path, resource.mime, ttl, resource.expires_at,
                         resource.metadata, row.body_hash, resource.job, resource.attempt, s_.now);
  addUsage(resource.tenant, usageOf(resource));
  count(resource, 1);
  HeldResources::noteHolder(s_, resource.holder);
  emit(event_type::kResourceCreated, row);
}

void ResourceRows::useBlob(ResourceRow& row, const std::string& place, const std::string& sha256,
                           std::int64_t bytes) {
  Resource& resource = row.resource;
  std::optional<std::int64_t> users;  // none: there is no such blob
  std::int64_t known_bytes = 0;
  {
    auto rows = s_.db.query(kBlobUsers, place, sha256);
    if (rows.next()) users = rows->integer(0), known_bytes = rows->integer(1);
  }
  s_.db.post(kUseBlob, place, sha256, bytes);
  const bool is_first = users.value_or(0) == 0;
  if (is_first) s_.db.post(kAddToPlace, place, bytes - known_bytes, bytes);
  const std::int64_t before = usageOf(resource);
  count(resource, -1);
  if (resource.state == ResourceState::kUploading) resource.state = ResourceState::kActive;
  resource.stored = true;
  resource.place = place;
  resource.sha256 = sha256;
  resource.size_bytes = bytes;
  resource.upload_offset.reset();
  resource.last_used_at = s_.now;
  resource.expires_at = endOf(row, s_.now);
  resource.version += 1;
  count(resource, 1);
  s_.db.post(kSetContent, row.seq, place, sha256, bytes, name(resource.state), resource.expires_at,
             s_.now);
  addUsage(resource.tenant, usageOf(resource) - before);
}

void ResourceRows::beginUpload(ResourceRow& row, const std::string& place) {
  Resource& resource = row.resource;
  const std::int64_t before = usageOf(resource);
  resource.place = place;
  resource.upload_offset = 0;
  resource.version += 1;
  s_.db.post(kBeginUpload, row.seq, place, s_.now);
  addUsage(resource.tenant, usageOf(resource) - before);
}

bool ResourceRows::advanceUpload(ResourceRow& row, std::int64_t from, std::int64_t to) {
  if (s_.db.execute(kAdvanceUpload, row.seq, from, to, s_.now) == 0) return false;
  Resource& resource = row.resource;
  resource.upload_offset = to;
  resource.version += 1;
  if (!resource.size_bytes) addUsage(resource.tenant, to - from);
  return true;
}

void ResourceRows::dropUpload(ResourceRow& row) {
  Resource& resource = row.resource;
  const std::int64_t before = usageOf(resource);
  resource.place.clear();
  resource.upload_offset.reset();
  resource.version += 1;
  s_.db.post(kDropUpload, row.seq);
  addUsage(resource.tenant, usageOf(resource) - before);
}

Status ResourceRows::checkQuota(const std::string& tenant, std::int64_t more, std::int64_t whole) {
  const std::int64_t most = s_.rules.resources.tenant_max_disk_bytes;
  if (most == 0 || tenant.empty() || more == 0) return {};
  if (whole > most) {
    return fail(ErrorCode::kQuotaTooSmall, fmt::format("a tenant may have {} bytes stored", most));
  }
  std::int64_t used = 0;
  {
    auto rows = s_.db.query(kUsageOfTenant, tenant);
    if (rows.next()) used = rows->integer(0);
  }
  if (used <= most - more) return {};
  Error error{ErrorCode::kQuotaExceeded,
              fmt::format("tenant '{}' has {} of {} bytes stored", tenant, used, most)};
  error.retry_after = std::chrono::seconds(60);
  return tl::unexpected(std::move(error));
}

void ResourceRows::count(const Resource& resource, std::int64_t by) {
  if (!isLiving(resource.state)) return;
  s_.db.post(kCountResource, name(resource.holder.kind), name(resource.state), by,
             by * resource.size_bytes.value_or(0));
}

void ResourceRows::leaveBlob(const Resource& resource) {
  std::int64_t freed = 0;
  {
    auto rows = s_.db.query(kLeaveBlob, resource.place, resource.sha256, s_.now);
    if (rows.next() && rows->integer(0) == 0) freed = rows->integer(1);
  }
  if (freed == 0) return;
  s_.db.post(kAddToPlace, resource.place, 0, -freed);
  freed_ += freed;
}

void ResourceRows::addUsage(const std::string& tenant, std::int64_t bytes) {
  if (tenant.empty() || bytes == 0) return;
  s_.db.post(kAddUsage, tenant, bytes);
}

void ResourceRows::finish(ResourceRow& row, ResourceState state, std::string_view reason) {
  Resource& resource = row.resource;
  addUsage(resource.tenant, -usageOf(resource));
  count(resource, -1);
  if (resource.stored) leaveBlob(resource);
  if (resource.lease_count > 0) s_.db.post(kEndLeasesOfResource, row.seq);
  s_.db.post(kEndResource, row.seq, name(state), reason, s_.now);
  resource.state = state;
  resource.reason = reason;
  resource.stored = false;
  resource.upload_offset.reset();
  resource.expires_at.reset();
  resource.lease_count = 0;
  resource.version += 1;
  const bool lost = state == ResourceState::kLost;
  emit(lost ? event_type::kResourceLost : event_type::kResourceEvicted, row);
}

void ResourceRows::evict(ResourceRow& row, std::string_view reason, bool force) {
  Resource& resource = row.resource;
  if (!isLiving(resource.state)) return;
  if (force || (!row.isUsed() && !isHeldElsewhere(resource))) {
    finish(row, ResourceState::kEvicted, reason);
    return;
  }
  if (resource.state == ResourceState::kEvicting) return;
  setState(row, ResourceState::kEvicting, reason);
}

void ResourceRows::setState(ResourceRow& row, ResourceState state, std::string_view reason) {
  Resource& resource = row.resource;
  const std::int64_t before = usageOf(resource);
  count(resource, -1);
  resource.state = state;
  resource.reason = reason;
  resource.expires_at = endOf(row, s_.now);
  resource.version += 1;
  count(resource, 1);
  s_.db.post(kSetResourceState, row.seq, name(state), reason, resource.expires_at, s_.now);
  addUsage(resource.tenant, usageOf(resource) - before);
}

void ResourceRows::moveToCopy(ResourceRow& row) {
  Resource& resource = row.resource;
  const std::int64_t before = usageOf(resource);
  count(resource, -1);
  resource.holder.kind = resource.stored ? Holder::Kind::kStore : Holder::Kind::kExternal;
  resource.holder.name.clear();
  resource.host.clear();
  resource.version += 1;
  count(resource, 1);
  s_.db.post(kMoveToCopy, row.seq, resource.holder.text());
  addUsage(resource.tenant, usageOf(resource) - before);
}

void ResourceRows::setSize(ResourceRow& row, std::int64_t bytes) {
  Resource& resource = row.resource;
  const std::int64_t before = usageOf(resource);
  count(resource, -1);
  resource.size_bytes = bytes;
  resource.version += 1;
  count(resource, 1);
  s_.db.post(kSetSize, row.seq, bytes);
  addUsage(resource.tenant, usageOf(resource) - before);
}

void ResourceRows::lose(ResourceRow& row, std::string_view reason) {
  if (isLiving(row.resource.state)) finish(row, ResourceState::kLost, reason);
}

void ResourceRows::endEvicting(ResourceRow& row) {
  if (row.resource.state == ResourceState::kEvicting && !row.isUsed()) {
    finish(row, ResourceState::kEvicted, std::string(row.resource.reason));
  }
}

void ResourceRows::addUses(ResourceRow& row, std::int64_t refs, std::int64_t leases) {
  Resource& resource = row.resource;
  {
    auto rows = s_.db.query(kAddUses, row.seq, refs, leases, s_.now);
    if (!rows.next()) return;
    resource.state = parseResourceState(rows->text(0)).value_or(ResourceState::kLost);
    resource.ref_count = rows->integer(1);
    resource.lease_count = rows->integer(2);
    resource.expires_at = rows->maybeTime(3);
    resource.version = rows->integer(4);
  }
  resource.last_used_at = s_.now;
  if (resource.state == ResourceState::kEvicting && !isHeldElsewhere(resource)) endEvicting(row);
}

void ResourceRows::touch(ResourceRow& row, std::optional<Millis> ttl) {
  Resource& resource = row.resource;
  if (ttl) resource.ttl = ttl;
  resource.last_used_at = s_.now;
  resource.expires_at = endOf(row, s_.now);
  resource.version += 1;
  const auto millis = resource.ttl ? std::optional(resource.ttl->count()) : std::nullopt;
  s_.db.post(kTouchResource, row.seq, millis, resource.expires_at, s_.now);
}

void ResourceRows::emit(std::string_view type, const ResourceRow& row) {
  const Resource& resource = row.resource;
  JsonWriter out;
  out.beginObject().field("resource_id", resource.id).field("uid", resource.uid);
  out.field("holder", resource.holder.text());
  if (!resource.reason.empty()) out.field("reason", resource.reason);
  out.endObject();
  Event event;
  event.type = type;
  event.job = resource.job;
  event.worker = resource.worker;
  event.details = out.take();
  s_.emit(std::move(event));
}

}  // namespace muster
