#include "models/policy/holder_rules.h"

#include <algorithm>

namespace muster {
namespace {

constexpr Millis kTimeToSync = Seconds(3600);

bool isUsed(const Resource& resource) { return resource.ref_count > 0 || resource.lease_count > 0; }

}  // namespace

AfterHolder judgeWithoutHolder(const Resource& resource) {
  if (resource.state == ResourceState::kEvicting && !isUsed(resource)) return AfterHolder::kEvicted;
  return resource.stored || !resource.uri.empty() ? AfterHolder::kCopied : AfterHolder::kLost;
}

AfterHolder judgeRemoved(const Resource& resource) {
  if (!isUsed(resource)) return AfterHolder::kEvicted;
  return judgeWithoutHolder(resource);
}

SyncVerdict judgeNamed(const Resource* resource, const std::string& host) {
  if (resource == nullptr || resource->holder != Holder{Holder::Kind::kHost, host}) {
    return SyncVerdict::kUnknown;
  }
  if (resource->state == ResourceState::kLost) return SyncVerdict::kUnknown;
  if (resource->state == ResourceState::kEvicted) return SyncVerdict::kEvict;
  const bool goes = resource->state == ResourceState::kEvicting && !isUsed(*resource);
  return goes ? SyncVerdict::kEvict : SyncVerdict::kKeep;
}

bool isMissing(const Resource& resource, std::optional<Time> synced_at, Time began, Time now) {
  if (synced_at) return *synced_at < began;
  return resource.state == ResourceState::kEvicting || resource.created_at < now - kTimeToSync;
}

std::vector<ResourceCommand> commandsFor(std::span<const Resource> evicting) {
  std::vector<ResourceCommand> commands;
  for (const Resource& resource : evicting) {
    const bool of_scope = resource.reason == resource_reason::kScopeReleased;
    const std::string scope = of_scope ? resource.scope : "";
    auto command = std::find_if(commands.begin(), commands.end(),
                                [&](const ResourceCommand& each) { return each.scope == scope; });
    if (command == commands.end()) command = commands.insert(command, {scope, {}});
    command->ids.push_back(resource.id);
  }
  return commands;
}

}  // namespace muster
