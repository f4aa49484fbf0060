#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/artifact_json.h"
#include "models/result.h"
#include "models/store/sql/foresight.h"
#include "models/store/sql/session.h"

namespace muster {

// What jobs have stored beside their results. An artifact that was put in a try belongs to the job
// when that try completes, and goes with the job unless it has a time to live of its own.
class JobArtifacts {
 public:
  explicit JobArtifacts(Session& session) : s_(session) {}

  // In the order of names.
  std::vector<StoredArtifact> of(std::int64_t job);
  std::optional<StoredArtifact> find(std::int64_t job, std::string_view name);

  // A report says that the job, which is claimed and held, is done with these artifacts (as
  // readArtifacts() wrote them): those of earlier tries that this one did not replace are dropped,
  // and what the report names is noted; what is kept and shown of them. An error changes nothing:
  // kNotStored (one of this try is still being uploaded), kInvalid (unknown_resource, other_tenant,
  // duplicate_name). A report that may register something (mayRegister) runs in an exclusive unit.
  Result<std::string> keep(const JobRow& row, const std::optional<std::string>& result,
                           const std::string& handed);
  // The last try of the job has ended badly: what earlier ones put is dropped.
  void dropEarlier(const JobRow& row);

  // Notes what the job has put, which replaces what it had under that name.
  void put(const JobRow& row, std::string_view name, std::int64_t resource);

 private:
  struct Row {
    StoredArtifact artifact;
    std::int64_t resource = 0;
  };
  std::vector<Row> rowsOf(std::int64_t job);
  struct Named {
    std::int64_t resource = 0;  // 0: it is to be registered
    NamedArtifact item;
    Resource shown = {};
  };
  Result<std::vector<Named>> judge(const JobRow& row, const std::string& handed,
                                   std::span<const Row> stored);
  std::optional<FieldError> judgeUnknown(const JobRow& row, const NamedArtifact& item);
  void drop(const JobRow& row, std::span<const Row> stored);
  void registerAsHeld(const JobRow& row, Named& named);

  Session& s_;
};

}  // namespace muster
