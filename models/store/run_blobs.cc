#include <fmt/format.h>

#include <limits>

#include "models/json/worker_json.h"
#include "models/operations/resources.h"
#include "models/store/sql/resource_access.h"
#include "models/store/sql/resource_places.h"
#include "models/store/sql/resource_rows.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr Sql kPlaceNode{
    "SELECT p.node_url, n.status FROM places p "
    "LEFT JOIN distributed_nodes n ON n.node_id = p.node_id WHERE p.place_id = $1"};
// What is there already counts from the start: the rows of blobs are copied, places are not.
constexpr Sql kAnnouncePlace{
    "INSERT INTO places (place_id, node_id, node_url, blob_bytes, used_bytes, announced_at) "
    "SELECT $1, $2, $3, CAST(coalesce(sum(size_bytes), 0) AS BIGINT), "
    "CAST(coalesce(sum(CASE WHEN users > 0 THEN size_bytes END), 0) AS BIGINT), "
    "CAST($4 AS BIGINT) FROM blobs WHERE place_id = $1"};
constexpr Sql kFindPlace{"SELECT node_id, node_url FROM places WHERE place_id = $1"};
constexpr Sql kMovePlace{
    "UPDATE places SET node_id = $2, node_url = $3, announced_at = $4 WHERE place_id = $1"};
constexpr Sql kStrayUploads{
    "SELECT d.c0 FROM /*texts $1*/ d WHERE NOT EXISTS (SELECT 1 FROM resources r "
    "WHERE r.uid = d.c0 AND r.upload_offset IS NOT NULL)"};

tl::unexpected<Error> wrongOffset(const Resource& resource) {
  const std::string at = std::to_string(resource.upload_offset.value_or(0));
  Error error{ErrorCode::kWrongOffset, "the upload is at " + at};
  error.members = {{"upload_offset", at}};
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> contentExists(const Resource& resource) {
  return fail(ErrorCode::kContentExists, "resource '" + resource.id + "' has its content already");
}

tl::unexpected<Error> wrongSize(std::int64_t declared, std::int64_t got) {
  return tl::unexpected(Error{
      ErrorCode::kInvalid,
      "the content is not what was announced",
      {{"/size_bytes", "wrong_size", fmt::format("is {}, and {} bytes came", declared, got)}}});
}

// Where the place is, if its node is there: "" for the only node, or none.
std::string urlOf(const std::string& place, Store& store) {
  auto rows = store.session.db.query(kPlaceNode, place);
  return rows.next() && rows->text(1) == "healthy" ? rows->string(0) : std::string();
}

tl::unexpected<Error> elsewhere(const Resource& resource, Store& store) {
  Error error{ErrorCode::kElsewhere,
              "the bytes of resource '" + resource.id + "' belong into the place of another node"};
  error.leader_url = urlOf(resource.place, store);
  error.retry_after = std::chrono::seconds(5);
  return tl::unexpected(std::move(error));
}

// Whether bytes may be uploaded to it.
Status checkTakesBytes(const Resource& resource) {
  if (!isLiving(resource.state) || resource.state == ResourceState::kEvicting) {
    return resourceGone(resource);
  }
  const Holder::Kind kind = resource.holder.kind;
  if (kind != Holder::Kind::kStore && kind != Holder::Kind::kHost) return notStored(resource);
  if (resource.stored) return contentExists(resource);
  return {};
}

// The bytes in the part, or with the first one all that were declared, fit in.
Status checkRoom(const ResourceRow& row, std::int64_t from, std::int64_t bytes, bool is_first,
                 Store& store) {
  const Resource& resource = row.resource;
  std::int64_t whole = from + bytes;
  std::int64_t more_for_tenant = bytes, more_in_place = bytes;
  if (resource.size_bytes) {
    whole = *resource.size_bytes;
    more_for_tenant = usageOf(resource) > 0 ? 0 : whole;
    more_in_place = is_first ? whole : 0;
  }
  ResourceRows resources(store.session);
  if (auto ok = resources.checkQuota(resource.tenant, more_for_tenant, whole); !ok) return ok;
  if (more_in_place == 0) return {};
  return ResourcePlaces(store.session).makeRoom(more_in_place);
}

}  // namespace

Result<Resource> run(const BeginPart& op, Store& store) {
  auto row = ResourceAccess(store.session).find(op.name, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  Resource& resource = row->resource;
  if (auto ok = checkTakesBytes(resource); !ok) return tl::unexpected(std::move(ok).error());
  BlobFiles* here = store.rules().resources.blobs;
  if (here == nullptr || (!resource.place.empty() && resource.place != here->placeId())) {
    return elsewhere(resource, store);
  }
  const std::int64_t at = resource.upload_offset.value_or(0);
  if (op.offset && *op.offset != at) return wrongOffset(resource);
  const std::int64_t from = op.offset ? at : 0;
  if (op.bytes < 0 || from > std::numeric_limits<std::int64_t>::max() - op.bytes) {
    return wrongSize(resource.size_bytes.value_or(from), op.bytes);
  }
  if (resource.size_bytes && from + op.bytes > *resource.size_bytes) {
    return wrongSize(*resource.size_bytes, from + op.bytes);
  }
  const bool is_first = resource.place.empty() || !resource.upload_offset;
  ResourceRows resources(store.session);
  const bool begins_anew = !is_first && at != from;
  if (begins_anew) resources.beginUpload(*row, here->placeId());
  if (auto ok = checkRoom(*row, from, op.bytes, is_first, store); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  if (is_first) resources.beginUpload(*row, here->placeId());
  return resource;
}

Result<Resource> run(const AdvanceUpload& op, Store& store) {
  ResourceRows resources(store.session);
  auto row = resources.find(op.uid);
  if (!row) return noResource(op.uid);
  if (auto ok = checkTakesBytes(row->resource); !ok) return tl::unexpected(std::move(ok).error());
  const auto declared = row->resource.size_bytes;
  if (op.from < 0 || op.to < op.from || (declared && op.to > *declared)) {
    return wrongSize(declared.value_or(op.from), op.to);
  }
  if (resources.advanceUpload(*row, op.from, op.to)) return std::move(row->resource);
  row = resources.find(op.uid);
  if (!row) return noResource(op.uid);
  if (auto ok = checkTakesBytes(row->resource); !ok) return tl::unexpected(std::move(ok).error());
  return wrongOffset(row->resource);
}

Result<Resource> run(const FinishUpload& op, Store& store) {
  ResourceRows resources(store.session);
  auto row = resources.find(op.uid);
  if (!row) return noResource(op.uid);
  Resource& resource = row->resource;
  const bool is_there =
      resource.stored && resource.sha256 == op.sha256 && resource.size_bytes == op.size_bytes;
  if (is_there && isLiving(resource.state)) return resource;  // the answer was lost
  if (auto ok = checkTakesBytes(resource); !ok) return tl::unexpected(std::move(ok).error());
  BlobFiles* here = store.rules().resources.blobs;
  if (here == nullptr || resource.place != here->placeId()) return elsewhere(resource, store);
  if (!resource.upload_offset || *resource.upload_offset > op.size_bytes) {
    return wrongOffset(resource);
  }
  if (resource.size_bytes && *resource.size_bytes != op.size_bytes) {
    resources.beginUpload(*row, resource.place);
    return wrongSize(*resource.size_bytes, op.size_bytes);
  }
  if (!resource.sha256.empty() && resource.sha256 != op.sha256) {
    resources.beginUpload(*row, resource.place);
    return tl::unexpected(Error{ErrorCode::kInvalid,
                                "the content is not what was announced",
                                {{"/sha256", "checksum_mismatch", "the bytes have " + op.sha256}}});
  }
  if (!here->publish(resource.uid, op.sha256)) {
    resources.beginUpload(*row, resource.place);
    Error error{ErrorCode::kStoreBusy, "the file of the upload is gone: it begins anew"};
    error.retry_after = std::chrono::seconds(1);
    return tl::unexpected(std::move(error));
  }
  resources.useBlob(*row, here->placeId(), op.sha256, op.size_bytes);
  return resource;
}

Result<FindContent::Reply> run(const FindContent& op, Store& store) {
  const ResourceCaller by = op.is_signed ? ResourceCaller{} : op.by;
  auto row = ResourceAccess(store.session).find(op.name, by);
  if (!row) return tl::unexpected(std::move(row).error());
  if (!isLiving(row->resource.state)) return resourceGone(row->resource);
  if (!row->resource.stored) return notStored(row->resource);
  FindContent::Reply reply;
  reply.resource = std::move(row->resource);
  const BlobFiles* here = store.rules().resources.blobs;
  reply.is_here = here != nullptr && here->placeId() == reply.resource.place;
  if (!reply.is_here) reply.node_url = urlOf(reply.resource.place, store);
  return reply;
}

Status run(const AnnouncePlace& op, Store& store) {
  const BlobFiles* here = store.rules().resources.blobs;
  if (here == nullptr) return {};
  SqlConnection& db = store.session.db;
  bool is_known = false;
  {
    auto rows = db.query(kFindPlace, here->placeId());
    is_known = rows.next();
    if (is_known && rows->text(0) == op.node_id && rows->text(1) == op.node_url) return {};
  }
  const Sql sql = is_known ? kMovePlace : kAnnouncePlace;
  db.post(sql, here->placeId(), op.node_id, op.node_url, store.now());
  return {};
}

Result<TendPlace::Reply> run(const TendPlace& op, Store& store) {
  TendPlace::Reply reply;
  if (store.rules().resources.blobs == nullptr) return reply;
  ResourcePlaces places(store.session);
  places.adopt(op.strays);
  const auto evicted = places.evictAboveWatermark(op.limit);
  const auto removed = places.collect(op.limit, op.settled.value_or(Time::max()));
  reply.at = store.now();
  reply.evicted = evicted.count;
  reply.removed = removed.count;
  reply.more = evicted.more || removed.more;
  return reply;
}

Result<std::vector<std::string>> run(const FindStrayUploads& op, Store& store) {
  std::vector<std::string> strays;
  auto rows = store.session.db.query(kStrayUploads, writeTexts(op.uids));
  while (rows.next()) strays.push_back(rows->string(0));
  return strays;
}

}  // namespace muster
