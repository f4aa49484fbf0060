#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tl/expected.hpp>

#include "app/worker/descriptor.h"
#include "models/time.h"

namespace muster {

// Where a host keeps files for resources and jobs:
//   id                    names the folder
//   cache/SHA256          contents, shared by all jobs
//   jobs/JOB.ATTEMPT/     files of a running job, locked by its worker
//   resources/            what the host holds
// Nothing is made before it is used. Several workers share it. Errors are sentences.
class HostFolder {
 public:
  explicit HostFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // Makes the folder, for this user only, and what stands in it always.
  tl::expected<void, std::string> prepare();
  // Removes the folders of jobs that nobody works on any more.
  void sweepJobs(Time now) const;
  // Has the cache hold at most so many bytes: what was used longest ago goes first. What a job has
  // linked costs nothing, and stays.
  void trimCache(std::uint64_t most_bytes) const;

 private:
  std::string path_;
  bool prepared_ = false;
};

// The name of this host: the given one, or the machine's.
std::string hostNameOr(const std::string& named);

// What names the folder at this path; empty: there is none.
std::string folderId(const std::string& path);

// Where to look for the folder: what the variable or the command line names; else what the service
// names, if a folder with that id is there; else the user's own.
std::string hostFolderPath(const std::string& named, const std::string& told,
                           const std::string& told_id,
                           const std::map<std::string, std::string>& environment);

// Makes a folder that this process has alone until the descriptor is closed.
tl::expected<Descriptor, std::string> lockFolder(const std::string& path);

}  // namespace muster
