#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "models/json/resource_json.h"
#include "models/operations/resources.h"
#include "models/store/sql/job_sql.h"
#include "models/store/sql/resource_access.h"
#include "models/store/sql/resource_leases.h"
#include "models/store/sql/resource_refs.h"
#include "models/store/sql/resource_rows.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr std::string_view kPathOpenForUid = "resources/{uid}/";
constexpr Millis kMostTtl = std::chrono::hours(24 * 365);
constexpr Millis kLeaseTtl = Seconds(300);
constexpr int kScopeStep = 1000;
constexpr int kReadersAtOnce = 1000;
constexpr int kResourceLooks = 500;
constexpr int kMostResourceLooks = 20'000;  // for one page, where a filter passes over much

#define MUSTER_LIVING_RESOURCE "r.state IN ('uploading', 'active', 'stale', 'evicting')"
#define MUSTER_NEWEST_RESOURCES "AND r.resource_seq < $1 ORDER BY r.resource_seq DESC LIMIT $2"
constexpr Sql kSameBytes{MUSTER_SELECT_RESOURCE
                         "WHERE r.tenant = $1 AND r.sha256 = $2 AND r.size_bytes = $3 "
                         "AND r.state = 'active' AND r.stored = 1 LIMIT 1"};
constexpr Sql kResourcesOfId{MUSTER_SELECT_RESOURCE
                             "WHERE r.resource_id = $3 " MUSTER_NEWEST_RESOURCES};
constexpr Sql kResourcesOfJob{MUSTER_SELECT_RESOURCE
                              "WHERE r.job_id = $3 AND r.job_id <> '' " MUSTER_NEWEST_RESOURCES};
constexpr Sql kResourcesOfScope{MUSTER_SELECT_RESOURCE
                                "WHERE r.scope = $3 AND r.scope <> '' "
                                "AND " MUSTER_LIVING_RESOURCE " " MUSTER_NEWEST_RESOURCES};
constexpr Sql kResourcesOfHolder{MUSTER_SELECT_RESOURCE
                                 "WHERE r.holder = $3 "
                                 "AND " MUSTER_LIVING_RESOURCE " " MUSTER_NEWEST_RESOURCES};
constexpr Sql kAllResources{MUSTER_SELECT_RESOURCE
                            "WHERE r.resource_seq < $1 ORDER BY r.resource_seq DESC LIMIT $2"};
constexpr Sql kToRelease{MUSTER_SELECT_RESOURCE
                         "WHERE r.scope = $1 AND r.scope <> '' AND " MUSTER_LIVING_RESOURCE
                         " AND r.state <> 'evicting' ORDER BY r.resource_seq LIMIT $2"};

tl::unexpected<Error> badField(std::string pointer, std::string code, std::string detail) {
  return tl::unexpected(Error{ErrorCode::kInvalid,
                              "the resource cannot be registered",
                              {{std::move(pointer), std::move(code), std::move(detail)}}});
}

// From its last use on, whichever way it was given.
Result<std::optional<Millis>> ttlOf(const NewResource& given, const Store& store) {
  if (!given.expires_at) return given.ttl ? given.ttl : store.rules().resources.default_ttl;
  if (*given.expires_at <= store.now()) {
    return badField("/expires_at", "range", "must be in the future");
  }
  if (*given.expires_at - store.now() > kMostTtl) {
    return badField("/expires_at", "range", "must be within a year");
  }
  return *given.expires_at - store.now();
}

// One more of this size: fits into what the tenant may have, and into a place at all.
Status checkSize(const NewResource& given, Store& store) {
  const ResourceRules& rules = store.rules().resources;
  if (given.holder.kind != Holder::Kind::kStore) return {};
  const std::int64_t bytes = given.size_bytes.value_or(0);
  if (bytes > rules.max_disk_bytes) {
    return fail(ErrorCode::kStoreFull,
                fmt::format("no place may have more than {} bytes", rules.max_disk_bytes));
  }
  return ResourceRows(store.session).checkQuota(given.tenant, bytes, bytes);
}

// Bytes of the same tenant that are known to be there.
std::optional<ResourceRow> sameBytes(const Resource& resource, Store& store) {
  if (resource.sha256.empty() || !resource.size_bytes) return std::nullopt;
  std::optional<ResourceRow> same;
  {
    auto rows =
        store.session.db.query(kSameBytes, resource.tenant, resource.sha256, *resource.size_bytes);
    if (rows.next()) same = ResourceRows::read(*rows);
  }
  BlobFiles* here = store.rules().resources.blobs;
  const bool can_look = same && here != nullptr && here->placeId() == same->resource.place;
  if (can_look && !here->has(resource.sha256)) return std::nullopt;
  return same;
}

Resource asShown(ResourceRow row, Store& store) {
  ResourceRows(store.session).countUses(row);
  return std::move(row.resource);
}

Status checkLeaseholder(const LeaseResource& op, Store& store, ResourceLeases::By& by) {
  if (op.job) {
    const auto job = store.jobs().hold(*op.job, false);
    if (!job) return tl::unexpected(noJob(*op.job));
    if (op.lease_token.empty() || !Jobs::holds(*job, {op.lease_token, ""})) {
      return fail(ErrorCode::kLeaseLost, "the job is not held with this lease");
    }
    by.job = job->seq;
    by.attempt = job->job.attempts;
    return {};
  }
  if (op.worker.empty()) return {};
  if (!op.by.worker.empty() && op.by.worker != op.worker) {
    return fail(ErrorCode::kForbidden, "a worker leases for itself");
  }
  if (auto worker = store.workers().claimer(WorkerId(op.worker)); !worker) {
    return tl::unexpected(std::move(worker).error());
  }
  by.worker = op.worker;
  return {};
}

SqlCursor nextResources(const ListResources& op, std::int64_t below, Store& store) {
  SqlConnection& db = store.session.db;
  const bool wants_living = !op.state || isLiving(*op.state);
  if (!op.resource_id.empty()) {
    return db.query(kResourcesOfId, below, kResourceLooks, op.resource_id);
  }
  if (!op.job.empty()) return db.query(kResourcesOfJob, below, kResourceLooks, op.job);
  if (!op.scope.empty() && wants_living) {
    return db.query(kResourcesOfScope, below, kResourceLooks, op.scope);
  }
  if (!op.holder.empty() && wants_living) {
    return db.query(kResourcesOfHolder, below, kResourceLooks, op.holder);
  }
  return db.query(kAllResources, below, kResourceLooks);
}

bool isWanted(const ListResources& op, const Resource& resource) {
  const auto fits = [](const std::string& wanted, std::string_view value) {
    return wanted.empty() || wanted == value;
  };
  return (op.state ? resource.state == *op.state : isLiving(resource.state)) &&
         fits(op.resource_id, resource.id) && fits(op.scope, resource.scope) &&
         fits(op.type, resource.type) && fits(op.holder, resource.holder.text()) &&
         fits(op.tenant, resource.tenant) && fits(op.job, resource.job);
}

// Only we know under which name a host is to keep its file.
std::string pathWithUid(const NewResource& given, const std::string& uid) {
  const bool is_open =
      given.holder.kind == Holder::Kind::kHost && given.path.starts_with(kPathOpenForUid);
  if (!is_open) return given.path;
  return "resources/" + uid + given.path.substr(kPathOpenForUid.size() - 1);
}

}  // namespace

Result<RegisterResource::Reply> run(const RegisterResource& op, Store& store) {
  Session& session = store.session;
  ResourceRows resources(session);
  const NewResource& given = op.resource;
  const std::string body = hashText(given);
  if (auto known = given.id.empty() ? std::nullopt : resources.findLiving(given.id)) {
    if (isOver(known->resource, store.now())) {
      resources.evict(*known, resource_reason::kExpired);
    }
    const ResourceState state = known->resource.state;
    if (isLiving(state)) {
      const bool is_same = known->body_hash == body && state != ResourceState::kEvicting &&
                           ResourceAccess(session).sees(op.by, *known);
      if (is_same) return RegisterResource::Reply{asShown(*std::move(known), store), false};
      return fail(ErrorCode::kResourceExists, "resource '" + given.id + "' is " +
                                                  std::string(name(state)) +
                                                  ", and was registered with another body");
    }
  }
  const auto ttl = ttlOf(given, store);
  if (!ttl) return tl::unexpected(ttl.error());
  if (auto ok = checkSize(given, store); !ok) return tl::unexpected(std::move(ok).error());

  ResourceRow row;
  row.body_hash = body;
  Resource& resource = row.resource;
  resource.uid = std::string(kUidPrefix) + session.ids.next(store.now());
  resource.id = given.id.empty() ? resource.uid : given.id;
  resource.type = given.type;
  resource.holder = given.holder;
  resource.scope = given.scope;
  resource.tenant = given.tenant;
  resource.size_bytes = given.size_bytes;
  resource.mem_bytes = given.mem_bytes;
  resource.sha256 = given.sha256;
  resource.mime = given.mime;
  resource.uri = given.uri;
  resource.path = pathWithUid(given, resource.uid);
  resource.metadata = given.metadata;
  resource.ttl = *ttl;
  if (auto ok = ResourceAccess(session).place(resource, op.by); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  if (resource.holder.kind == Holder::Kind::kStore) {
    resource.state = ResourceState::kUploading;
    resource.upload_offset = 0;
  }
  resources.insert(row);
  if (resource.state == ResourceState::kUploading) {
    if (const auto same = sameBytes(resource, store)) {
      resources.useBlob(row, same->resource.place, resource.sha256, *resource.size_bytes);
    }
  }
  return RegisterResource::Reply{std::move(resource), true};
}

Result<Resource> run(const FindResource& op, Store& store) {
  auto row = ResourceAccess(store.session).find(op.name, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  return asShown(*std::move(row), store);
}

Result<ListResources::Reply> run(const ListResources& op, Store& store) {
  ListResources::Reply reply;
  ResourceAccess access(store.session);
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  std::from_chars(op.cursor.data(), op.cursor.data() + op.cursor.size(), below);
  for (int looks = 0; looks < kMostResourceLooks; looks += kResourceLooks) {
    auto rows = ResourceRows::readAll(nextResources(op, below, store));
    for (ResourceRow& row : rows) {
      const bool matches = isWanted(op, row.resource) && access.sees(op.by, row);
      if (matches && reply.resources.size() == static_cast<std::size_t>(op.limit)) {
        reply.next_cursor = std::to_string(below);
        return reply;
      }
      below = row.seq;
      if (matches) reply.resources.push_back(asShown(std::move(row), store));
    }
    if (rows.size() < static_cast<std::size_t>(kResourceLooks)) return reply;
  }
  reply.next_cursor = std::to_string(below);
  return reply;
}

Result<Resource> run(const DeleteResource& op, Store& store) {
  auto row = ResourceAccess(store.session).find(op.name, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  if (op.force && !op.by.is_admin) {
    return fail(ErrorCode::kForbidden, "only an administrator deletes what jobs refer to");
  }
  if (!isLiving(row->resource.state)) return asShown(*std::move(row), store);
  if (row->resource.ref_count > 0 && !op.force) {
    return fail(ErrorCode::kResourceInUse, fmt::format("{} jobs refer to resource '{}'",
                                                       row->resource.ref_count, row->resource.id));
  }
  ResourceRows resources(store.session);
  resources.evict(*row, resource_reason::kDeleted, op.force);
  if (op.force && row->resource.ref_count > 0) {
    // Those that are more than that end with the next ticks (ExpireResources).
    ResourceRefs(store.session).endReaders(row->seq, kReadersAtOnce);
    store.settleEnded();
    row = resources.at(row->seq).value();
  }
  return asShown(*std::move(row), store);
}

Result<LeaseResource::Reply> run(const LeaseResource& op, Store& store) {
  auto row = ResourceAccess(store.session).find(op.name, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  if (auto ok = checkUsable(row->resource, store.now()); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  ResourceLeases::By by;
  if (auto ok = checkLeaseholder(op, store, by); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  LeaseResource::Reply reply;
  if (op.ttl || !op.job) reply.expires_at = store.now() + op.ttl.value_or(kLeaseTtl);
  reply.lease_id = ResourceLeases(store.session).take(*row, by, reply.expires_at);
  reply.resource = asShown(*std::move(row), store);
  return reply;
}

Result<Resource> run(const ReleaseResource& op, Store& store) {
  auto row = ResourceAccess(store.session).find(op.name, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  ResourceLeases(store.session).release(*row, op.lease_id);
  return asShown(*std::move(row), store);
}

Result<Resource> run(const TouchResource& op, Store& store) {
  auto row = ResourceAccess(store.session).find(op.name, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  const bool is_uploading = row->resource.state == ResourceState::kUploading;
  if (auto ok = checkUsable(row->resource, store.now()); !ok && !is_uploading) {
    return tl::unexpected(std::move(ok).error());
  }
  ResourceRows(store.session).touch(*row, op.ttl);
  return asShown(*std::move(row), store);
}

Result<ReleaseScope::Reply> run(const ReleaseScope& op, Store& store) {
  Session& session = store.session;
  if (!op.by.worker.empty() && !ResourceAccess(session).ownsScope(op.by.worker, op.scope)) {
    return fail(ErrorCode::kForbidden, "a worker releases the scopes of its own jobs");
  }
  auto rows = ResourceRows::readAll(session.db.query(kToRelease, op.scope, kScopeStep + 1));
  ReleaseScope::Reply reply;
  reply.more = rows.size() > static_cast<std::size_t>(kScopeStep);
  if (reply.more) rows.pop_back();
  ResourceRows resources(session);
  for (ResourceRow& row : rows) {
    (row.isUsed() ? reply.deferred : reply.released) += 1;
    resources.evict(row, resource_reason::kScopeReleased);
  }
  return reply;
}

}  // namespace muster
