#include "models/policy/ref_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace muster {

std::optional<RefFault> refFault(const Resource& resource, std::string_view tenant, Time now) {
  if (!resource.tenant.empty() && resource.tenant != tenant) return RefFault::kOtherTenant;
  if (resource.state == ResourceState::kUploading) return RefFault::kNotStored;
  if (!isLiving(resource.state) || resource.state == ResourceState::kEvicting) {
    return RefFault::kGone;
  }
  if (resource.expires_at && *resource.expires_at <= now) return RefFault::kGone;
  return std::nullopt;
}

std::string defaultNameOf(std::string_view resource_id) {
  const auto slash = resource_id.rfind('/');
  return std::string(slash == std::string_view::npos ? resource_id : resource_id.substr(slash + 1));
}

std::vector<std::string> namesOfRefs(std::span<const NamelessRef> refs) {
  std::vector<std::string> names(refs.size());
  std::set<std::string> taken;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    names[i] = refs[i].as;
    if (!names[i].empty()) taken.insert(names[i]);
  }
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (!names[i].empty()) continue;
    names[i] = defaultNameOf(refs[i].resource_id);
    if (!taken.insert(names[i]).second) {
      names[i] = refs[i].resource_id;
      taken.insert(names[i]);
    }
  }
  return names;
}

std::string_view reasonOf(RefFault fault) {
  switch (fault) {
    case RefFault::kGone:
      return input_reason::kGone;
    case RefFault::kNotStored:
      return input_reason::kNotStored;
    case RefFault::kOtherTenant:
      return input_reason::kOtherTenant;
  }
  return input_reason::kMissing;
}

InputRefs refsOfInputs(std::span<const NewFlowJob::Input> inputs,
                       std::span<const UpstreamArtifact> artifacts) {
  InputRefs found;
  std::map<std::string, std::int64_t> named;
  const auto refuse = [](std::string_view reason) { return InputRefs{{}, std::string(reason)}; };
  for (const NewFlowJob::Input& input : inputs) {
    bool any = false;
    for (const UpstreamArtifact& artifact : artifacts) {
      if (artifact.from != input.from) continue;
      const std::string shown =
          artifact.child.empty() ? artifact.name : artifact.child + "/" + artifact.name;
      if (!input.artifact.empty() && shown != input.artifact) continue;
      if (artifact.fault) {
        if (input.optional) continue;
        return refuse(reasonOf(*artifact.fault));
      }
      any = true;
      std::string as = shown;
      if (!input.as.empty()) as = input.artifact.empty() ? input.as + "/" + shown : input.as;
      auto [place, is_first] = named.try_emplace(as, artifact.resource);
      if (!is_first && place->second != artifact.resource) {
        as = input.from + "/" + as;
        std::tie(place, is_first) = named.try_emplace(as, artifact.resource);
      }
      if (is_first) found.refs.push_back({artifact.resource, std::move(as)});
    }
    if (!any && !input.optional) return refuse(input_reason::kMissing);
  }
  return found;
}

}  // namespace muster
