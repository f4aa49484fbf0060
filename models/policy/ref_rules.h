#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/flow.h"
#include "models/resource.h"
#include "models/time.h"

namespace muster {

// Why no living job may begin to refer to a resource. kGone: it is evicted, evicting, lost, or past
// its end. kNotStored: it is still being uploaded.
enum class RefFault { kGone, kNotStored, kOtherTenant };
std::optional<RefFault> refFault(const Resource& resource, std::string_view tenant, Time now);

// The name under which a job sees a resource that has no other: the last segment of its id.
std::string defaultNameOf(std::string_view resource_id);

// A ref whose name is to be found. `as` empty: not said.
struct NamelessRef {
  std::string resource_id;
  std::string as;
};
// The names of the refs of a job, in their order: as said, else the default name, or the whole id
// where an earlier ref has that name.
std::vector<std::string> namesOfRefs(std::span<const NamelessRef> refs);

// An artifact of an upstream job, or of a child of one.
struct UpstreamArtifact {
  std::string from;   // name of the upstream job
  std::string child;  // name of its child, empty: the upstream job's own
  std::string name;
  std::int64_t resource = 0;
  std::optional<RefFault> fault;
};
// Reasons of jobs that do not find their inputs.
namespace input_reason {
constexpr std::string_view kMissing = "input_missing";
constexpr std::string_view kGone = "resource_evicted";
constexpr std::string_view kNotStored = "not_stored";
constexpr std::string_view kOtherTenant = "other_tenant";
}  // namespace input_reason
std::string_view reasonOf(RefFault fault);

// What the inputs of a job come to.
struct InputRefs {
  struct Ref {
    std::int64_t resource = 0;
    std::string as;
    bool operator==(const Ref&) const = default;
  };
  std::vector<Ref> refs;
  std::string reason;  // not empty: the job cannot run, and `refs` are none
};
// An artifact appears under its name, that of a child as CHILD/NAME; `as` replaces the name of one
// artifact, and is a folder for all. A name that an earlier artifact has gets FROM/ in front. An
// optional input does without what is not there.
InputRefs refsOfInputs(std::span<const NewFlowJob::Input> inputs,
                       std::span<const UpstreamArtifact> artifacts);

}  // namespace muster
