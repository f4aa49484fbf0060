#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/resource.h"
#include "models/result.h"
#include "models/store/sql/session.h"

namespace muster {

// The columns of a resource in the order ResourceRows::read() takes them.
#define MUSTER_RESOURCE_COLUMNS                                                                  \
  "r.resource_seq, r.uid, r.resource_id, r.type, r.holder, r.worker_id, r.host, r.scope, "       \
  "r.tenant, r.state, r.reason, r.size_bytes, r.mem_bytes, r.sha256, r.stored, r.place_id, "     \
  "r.upload_offset, r.uri, r.path, r.mime, r.ttl_ms, r.expires_at, r.ref_count, r.lease_count, " \
  "r.metadata, r.job_id, r.attempt, r.created_at, r.last_used_at, r.version, r.body_hash"
#define MUSTER_SELECT_RESOURCE "SELECT " MUSTER_RESOURCE_COLUMNS " FROM resources r "

// A resource as the store keeps it. `in_use_count` is set where it is shown (countUses).
struct ResourceRow {
  std::int64_t seq = 0;
  std::string body_hash;
  Resource resource;

  bool isUsed() const { return resource.ref_count > 0 || resource.lease_count > 0; }
};

inline tl::unexpected<Error> noResource(std::string_view name) {
  return fail(ErrorCode::kNotFound, "there is no resource '" + std::string(name) + "'");
}
// kResourceGone, with the state and the reason.
tl::unexpected<Error> resourceGone(const Resource& resource);
// kNotStored, with the holder and the state.
tl::unexpected<Error> notStored(const Resource& resource);
// Past its time to live, also before it is collected.
bool isOver(const Resource& resource, Time now);
// Whether a job or a lease may begin to use it: kResourceGone (also when it is over), kNotStored
// (it is still being uploaded).
Status checkUsable(const Resource& resource, Time now);
// Its holder has something to remove before it is evicted.
bool isHeldElsewhere(const Resource& resource);

// Reads and changes single resources. What changes one runs in a unit that is exclusive, unless a
// method says otherwise.
class ResourceRows {
 public:
  explicit ResourceRows(Session& session) : s_(session) {}

  static ResourceRow read(const SqlRows& row);
  // In the order of the statement, which selects MUSTER_RESOURCE_COLUMNS.
  static std::vector<ResourceRow> readAll(SqlCursor rows);
  // By uid, or by the id it has among the living; else the last one that had the id.
  std::optional<ResourceRow> find(std::string_view name);
  std::optional<ResourceRow> findLiving(std::string_view id);
  std::optional<ResourceRow> at(std::int64_t seq);

  // Sets in_use_count.
  void countUses(ResourceRow& row);

  // Makes the row, with its event and its share of the tenant's usage. The resource has its uid.
  void insert(ResourceRow& row);
  // It has these bytes now, in the place: one more user of the blob, whose file the caller has
  // published.
  void useBlob(ResourceRow& row, const std::string& place, const std::string& sha256,
               std::int64_t bytes);
  // An upload begins, or begins anew, in the place. That of a copy takes part in the usage of its
  // tenant from here on.
  void beginUpload(ResourceRow& row, const std::string& place);
  // The upload is at `to` now; false if it was not at `from`. In a concurrent unit, too.
  bool advanceUpload(ResourceRow& row, std::int64_t from, std::int64_t to);
  // The upload of a copy is given up; what its holder has stays.
  void dropUpload(ResourceRow& row);

  // It goes, for a resource_reason: at once if nobody uses it and the service or nobody holds it,
  // else it is evicting until then. `force` does not look at its users. What is gone already stays.
  void evict(ResourceRow& row, std::string_view reason, bool force = false);
  // Its holder is gone, and it with it.
  void lose(ResourceRow& row, std::string_view reason);
  // An evicting one whose last user has gone, or whose holder has removed it, is evicted.
  void endEvicting(ResourceRow& row);

  // Uses begin and end: counts go up or down by so much, and its time to live stands still while
  // there are any. In a concurrent unit, too: what the row has now counts, not what was read.
  void addUses(ResourceRow& row, std::int64_t refs, std::int64_t leases);
  void touch(ResourceRow& row, std::optional<Millis> ttl);

  // Its holder is gone, and what is left of it is the copy: the bytes that the service has, or what
  // its uri names.
  void moveToCopy(ResourceRow& row);
  // It has so many bytes, which were not known.
  void setSize(ResourceRow& row, std::int64_t bytes);
  // Its holder is silent, or is back; `reason` is none then.
  void setState(ResourceRow& row, ResourceState state, std::string_view reason);

  void emit(std::string_view type, const ResourceRow& row);

  // Bytes of blobs that lost their last user through this object.
  std::int64_t freedBytes() const { return freed_; }
  // Whether the tenant may have so many bytes more, for a content of `whole` bytes:
  // kQuotaTooSmall, kQuotaExceeded.
  Status checkQuota(const std::string& tenant, std::int64_t more, std::int64_t whole);

 private:
  // Takes the resource out of the counts, or puts it in: before a change of what is counted, and
  // behind it.
  void count(const Resource& resource, std::int64_t by);
  void finish(ResourceRow& row, ResourceState state, std::string_view reason);
  void leaveBlob(const Resource& resource);
  void addUsage(const std::string& tenant, std::int64_t bytes);

  Session& s_;
  std::int64_t freed_ = 0;
};

// What counts against its tenant: the bytes that the service has or expects; of an upload without a
// declared size those that came.
std::int64_t usageOf(const Resource& resource);

}  // namespace muster
