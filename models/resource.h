#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/time.h"

namespace muster {

// kActive: all of it is there. kStale: its holder is silent. kEvicting: it takes no new user, and
// goes with its last one. The last two are final.
enum class ResourceState { kUploading, kActive, kStale, kEvicting, kEvicted, kLost };

std::string_view name(ResourceState state);
std::optional<ResourceState> parseResourceState(std::string_view text);
inline bool isLiving(ResourceState state) {
  return state != ResourceState::kEvicted && state != ResourceState::kLost;
}

// Why a resource is evicting, evicted or lost.
namespace resource_reason {
constexpr std::string_view kExpired = "expired";
constexpr std::string_view kPressure = "pressure";
constexpr std::string_view kReleased = "released";
constexpr std::string_view kScopeReleased = "scope_released";
constexpr std::string_view kDeleted = "deleted";
constexpr std::string_view kReplaced = "replaced";  // an artifact, by another of its name
constexpr std::string_view kUploadExpired = "upload_expired";
constexpr std::string_view kWorkerLost = "worker_lost";
constexpr std::string_view kHostLost = "host_lost";
constexpr std::string_view kNotHeld = "not_held";
}  // namespace resource_reason

// Who has a resource. As text: "store", "external", "host:NAME" or "worker:ID".
struct Holder {
  enum class Kind { kStore, kExternal, kHost, kWorker };
  Kind kind = Kind::kStore;
  std::string name;  // of the host or the worker

  std::string text() const;
  bool operator==(const Holder&) const = default;
};
std::string_view name(Holder::Kind kind);
std::optional<Holder> parseHolder(std::string_view text);

// What begins with it is a uid, which the service makes.
constexpr std::string_view kUidPrefix = "u~";

// 1 to 256 of letters, digits and ._~:/-, no segment between slashes empty, "." or "..". Names of
// artifacts and scopes are of this form; the id of a resource does not begin with kUidPrefix
// besides.
bool isSlashedName(std::string_view text);
bool isResourceId(std::string_view text);

// A reusable thing: bytes that the service keeps, a file on a host, what a worker has in memory, or
// a record of something elsewhere.
struct Resource {
  std::string uid;
  std::string id;  // chosen; unique among the living
  std::string type;
  Holder holder;
  std::string worker;  // that holds or made it; empty: none
  std::string host;    // where it is, empty: none
  std::string scope;   // empty: none
  std::string tenant;  // empty: none
  ResourceState state = ResourceState::kActive;
  std::string reason;  // empty: none
  std::optional<std::int64_t> size_bytes;
  std::optional<std::int64_t> mem_bytes;
  std::string sha256;                         // hex, empty: not known
  bool stored = false;                        // the service has its bytes
  std::string place;                          // of its bytes, or of their upload; empty: none yet
  std::optional<std::int64_t> upload_offset;  // absent: nothing is being uploaded
  std::string uri, path, mime;                // empty: none
  std::optional<Millis> ttl;                  // from its last use
  std::optional<Time> expires_at;             // while nothing uses it
  std::int64_t ref_count = 0;                 // living jobs that refer to it
  std::int64_t lease_count = 0;
  std::int64_t in_use_count = 0;  // leases, and claimed jobs that refer to it
  std::string metadata;           // JSON object, empty: none
  std::string job;                // of the job whose artifact it is, empty: none
  std::optional<int> attempt;     // of that job
  Time created_at;
  Time last_used_at;
  std::int64_t version = 1;
};

// A resource as a client asks for it.
struct NewResource {
  std::string id;  // empty: its uid
  std::string type;
  Holder holder;
  std::string scope, tenant;
  std::optional<std::int64_t> size_bytes, mem_bytes;
  std::string sha256, mime, uri, path;
  std::optional<Millis> ttl;
  std::optional<Time> expires_at;
  std::string metadata;  // JSON object, empty: none
};

// What a claimed job has of a resource that it refers to.
struct JobInput {
  std::string as;  // the name under which the job sees it
  Resource resource;
};

}  // namespace muster
