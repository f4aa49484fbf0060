#pragma once

#include <string>

#include "models/operations/resources.h"
#include "models/store/sql/resource_rows.h"

namespace muster {

// Who may see which resources, and who may hold some. Reads only.
class ResourceAccess {
 public:
  explicit ResourceAccess(Session& session) : s_(session) {}

  // A worker sees what its claimed jobs refer to, what it made and what its host holds; everybody
  // else sees all.
  bool sees(const ResourceCaller& by, const ResourceRow& row);
  // The resource of this name. kNotFound, also for one that is not seen.
  Result<ResourceRow> find(const ResourceName& name, const ResourceCaller& by);
  // Whether the scope is that of a claimed job of the worker, or of its flow.
  bool ownsScope(const std::string& worker, std::string_view scope);

  // Who holds a new resource, where it is and who made it. kInvalid (holder_too_short_lived),
  // kUnavailable, kForbidden, as RegisterResource says.
  Status place(Resource& resource, const ResourceCaller& by);

 private:
  std::string hostOf(const std::string& worker);
  bool isUp(const std::string& host);

  Session& s_;
};

}  // namespace muster
