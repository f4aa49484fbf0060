#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/affinity.h"
#include "models/ids.h"
#include "models/resource.h"
#include "models/result.h"

namespace muster {

class Store;

// Who asks for something about a resource. A worker with its own token may only see and touch what
// its claimed jobs refer to, what it made, and what its host holds; all else is not there for it
// (kNotFound). `worker` is empty for everybody else.
struct ResourceCaller {
  std::string worker = {};
  bool is_admin = false;  // may use `force`
};

// A resource in a path or a request: its uid, or the id that it has among the living. An id that
// only gone ones had names the last of them.
using ResourceName = std::string;

// All that write are exclusive, but for AdvanceUpload, which may be concurrent. Find…, List… and
// Count… only read.

// Makes a record. A resource with the holder `store` begins as an upload, and is active at once
// where the same tenant has bytes with this `sha256` and `size_bytes` already. The same id and body
// again is the same resource. kResourceExists (another body), kInvalid (holder_too_short_lived,
// range of expires_at), kUnavailable (its worker or host is not there), kQuotaExceeded,
// kStoreFull, kForbidden (a worker registers for itself and its own host).
struct RegisterResource {
  NewResource resource;
  ResourceCaller by = {};
  struct Reply {
    Resource resource;
    bool is_new = true;
  };
};
Result<RegisterResource::Reply> run(const RegisterResource& op, Store& store);

// kNotFound. One that is gone is shown, too.
struct FindResource {
  ResourceName name;
  ResourceCaller by = {};
  using Reply = Resource;
};
Result<Resource> run(const FindResource& op, Store& store);

// Newest first. Empty filters match all; without a state only living ones.
struct ListResources {
  std::string resource_id = {}, scope = {}, type = {}, holder = {}, tenant = {}, job = {};
  std::optional<ResourceState> state = {};
  std::string cursor = {};
  int limit = 50;
  ResourceCaller by = {};
  struct Reply {
    std::vector<Resource> resources;
    std::string next_cursor;  // empty: that was the last page
  };
};
Result<ListResources::Reply> run(const ListResources& op, Store& store);

// Evicts it; it stays `evicting` while it is leased, or until its holder has removed it.
// kNotFound, kResourceInUse (a living job or a running flow refers to it), which `force` overrides:
// then its blocked and pending readers end as `resource_lost`. One that is gone already is given as
// it is. kForbidden (`force` by one who is no admin).
struct DeleteResource {
  ResourceName name;
  bool force = false;
  ResourceCaller by = {};
  using Reply = Resource;
};
Result<Resource> run(const DeleteResource& op, Store& store);

// A hold for a time. The same worker or job gets the same lease, with a new end. kNotFound,
// kResourceGone (also when it is over and not collected yet), kNotStored (still uploading),
// kLeaseLost (the job is not held), kGone (the worker has ended), kForbidden (for another worker).
struct LeaseResource {
  ResourceName name;
  std::string worker = {};        // this, or
  std::optional<JobId> job = {};  // this with its token; neither: nobody's
  std::string lease_token = {};
  std::optional<Millis> ttl = {};  // absent: with a job until the try ends, else 5 minutes
  ResourceCaller by = {};
  struct Reply {
    std::string lease_id;
    std::optional<Time> expires_at;
    Resource resource;
  };
};
Result<LeaseResource::Reply> run(const LeaseResource& op, Store& store);

// kNotFound (no such resource). A lease that is over is nothing to complain of.
struct ReleaseResource {
  ResourceName name;
  std::string lease_id;
  ResourceCaller by = {};
  using Reply = Resource;
};
Result<Resource> run(const ReleaseResource& op, Store& store);

// Its time to live begins anew, with another length if one is given. kNotFound, kResourceGone.
struct TouchResource {
  ResourceName name;
  std::optional<Millis> ttl = {};
  ResourceCaller by = {};
  using Reply = Resource;
};
Result<Resource> run(const TouchResource& op, Store& store);

// All of the scope go; those in use go with their last user. A step of at most 1000. kForbidden (a
// worker may name job:ID and flow:ID of its own jobs only).
struct ReleaseScope {
  std::string scope;
  ResourceCaller by = {};
  struct Reply {
    std::int64_t released = 0;
    std::int64_t deferred = 0;
    bool more = false;
  };
};
Result<ReleaseScope::Reply> run(const ReleaseScope& op, Store& store);

// --- Content. Bytes are written to a file by the caller, between these operations.

// Where the next part of an upload goes, in this node's place: the first part gives an upload its
// place, and makes room for it by evicting what is idle. The upload stands where `offset` says, or
// at 0 without one. Exclusive. kNotFound, kResourceGone, kContentExists (it is complete),
// kElsewhere (its upload has begun in the place of another node, whose address is `leader_url`; or
// this node has no place), kNotStored (its holder takes no bytes), kWrongOffset (with
// `upload_offset`), kInvalid with the code wrong_size (it would be longer than declared; nothing
// changes), kStoreFull; kQuotaExceeded and kQuotaTooSmall for content that was not counted before.
struct BeginPart {
  ResourceName name;
  std::optional<std::int64_t> offset;  // absent: the whole content, from its beginning
  std::int64_t bytes = 0;              // of the part
  ResourceCaller by = {};
  using Reply = Resource;
};
Result<Resource> run(const BeginPart& op, Store& store);

// A part has been written and flushed: the upload is at `to` now. May be concurrent. kWrongOffset
// if another was faster; kNotFound, kResourceGone, kContentExists, kInvalid (wrong_size).
struct AdvanceUpload {
  std::string uid;
  std::int64_t from = 0, to = 0;
  using Reply = Resource;
};
Result<Resource> run(const AdvanceUpload& op, Store& store);

// The last part has been written and flushed too, and the whole has this length and sum: the blob
// is published and the resource is active. The same again has the same answer. kWrongOffset (it is
// further than that, or has not begun), kContentExists, kResourceGone, kElsewhere; kInvalid with
// the code checksum_mismatch or wrong_size, and kStoreBusy (the file of the upload is gone): then
// the upload begins anew at 0.
struct FinishUpload {
  std::string uid;
  std::int64_t size_bytes = 0;
  std::string sha256;
  using Reply = Resource;
};
Result<Resource> run(const FinishUpload& op, Store& store);

// Where the bytes are. Reading counts as no use. kNotFound, kResourceGone, kNotStored.
struct FindContent {
  ResourceName name;
  ResourceCaller by = {};
  bool is_signed = false;  // the address was signed: whoever has it may read
  struct Reply {
    Resource resource;
    std::string node_url;  // of the healthy node that has the place; empty: there is none, or here
    bool is_here = false;
  };
};
Result<FindContent::Reply> run(const FindContent& op, Store& store);

// --- Duties, each for a bounded number of rows; how many there were.

// Past their time to live, of the leader: idle resources are evicted, leases and uploads that are
// over end; so do jobs that wait for what is gone (`resource_lost`).
struct ExpireResources {
  int limit = 500;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const ExpireResources& op, Store& store);

// Records of resources that went before are removed.
struct RemoveGoneResources {
  Time before;
  int limit = 500;
  using Reply = std::int64_t;
};
Result<std::int64_t> run(const RemoveGoneResources& op, Store& store);

// This node's place is there. Writes only what has changed, so it may be called often: where nodes
// share a folder, the place is that of the last one that said so.
struct AnnouncePlace {
  std::string node_id;  // empty: the only one
  std::string node_url;
};
Status run(const AnnouncePlace& op, Store& store);

// What this node does for its place: blobs without a user are removed after the grace, and above
// the high watermark idle resources are evicted, longest unused first, down to the low one.
// `strays` are blobs in the folder that are old enough to have a row; those without one are
// removed. While the files are more than the place may have, the grace is not waited for.
// A file that is removed is gone at once, but that nobody uses it is on the disk only when the
// operation that said so is answered. So `settled` is the `at` of a step that has been answered:
// only blobs that had no user before are removed. Absent: all that have none.
struct TendPlace {
  std::vector<std::string> strays = {};
  int limit = 200;
  std::optional<Time> settled = {};
  struct Reply {
    Time at{};                 // of this step
    std::int64_t removed = 0;  // files
    std::int64_t evicted = 0;  // resources
    bool more = false;
  };
};
Result<TendPlace::Reply> run(const TendPlace& op, Store& store);

// Of these uploads those that no resource is waiting for: their files may go.
struct FindStrayUploads {
  std::vector<std::string> uids;
  using Reply = std::vector<std::string>;
};
Result<std::vector<std::string>> run(const FindStrayUploads& op, Store& store);

// For the metrics.
struct CountResources {
  struct Count {
    std::string holder;  // its kind
    ResourceState state;
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };
  struct Reply {
    std::vector<Count> counts;        // of the living
    std::int64_t blob_bytes = 0;      // in this node's place
    std::int64_t blob_bytes_max = 0;  // that may be there
    std::int64_t uploads_open = 0;
    std::vector<std::pair<AffinityState, std::int64_t>> affinities = {};  // that are bound
  };
};
Result<CountResources::Reply> run(const CountResources& op, Store& store);

}  // namespace muster
