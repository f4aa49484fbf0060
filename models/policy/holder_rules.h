#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/resource.h"

namespace muster {

// What becomes of a resource whose holder does not have it any more.
enum class AfterHolder {
  kEvicted,  // it was to go, and nobody used it
  kLost,
  kCopied,  // there is a copy, which is the resource from now on
};
AfterHolder judgeWithoutHolder(const Resource& resource);
// The same where the holder has removed it: one that nobody uses was its own to remove.
AfterHolder judgeRemoved(const Resource& resource);

// What a host that tells what is in its folder is to do about a file.
enum class SyncVerdict { kKeep, kEvict, kUnknown };
// `resource` is the row of the file, null: there is none.
SyncVerdict judgeNamed(const Resource* resource, const std::string& host);

// A resource of the host that the last page of a sync did not bring: whether it is gone. The pages
// began at `began`; `synced_at` is when its host last named it.
bool isMissing(const Resource& resource, std::optional<Time> synced_at, Time began, Time now);

// What a worker is told to do about resources that it holds.
struct ResourceCommand {
  std::string scope;             // that was released; empty: these are to be evicted
  std::vector<std::string> ids;  // of resources
};
// For what is evicting, in its order: one for each released scope, one for all else.
std::vector<ResourceCommand> commandsFor(std::span<const Resource> evicting);

}  // namespace muster
