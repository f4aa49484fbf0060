#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app/client/artifact_upload.h"
#include "app/worker/host_folder.h"
#include "app/worker/input_files.h"
#include "app/worker/output_plan.h"

namespace muster {

// Why files of a job could not be had or handed over.
struct FileFault {
  std::string what;
  bool is_missing = false;  // an input that is gone, and will not come back
  bool stopped = false;     // we were told to stop meanwhile
};

// How its files travel.
struct FileTransport {
  AskService ask;
  std::function<bool()> stop;         // asked between pieces
  std::function<void()> pause;        // before something is looked at again
  std::optional<double> ttl_seconds;  // of artifacts
  std::optional<std::uint64_t> most_cache_bytes;
};

// The files of one try of a job: what it is given, and what it leaves. Nothing is made before it is
// used; all is removed with this object.
class JobFiles {
 public:
  JobFiles(HostFolder& host, const ClaimedJob& job);
  ~JobFiles();
  JobFiles(const JobFiles&) = delete;
  JobFiles& operator=(const JobFiles&) = delete;

  std::string inputDir() const { return folder_ + "/inputs"; }
  std::string resourcesFile() const { return folder_ + "/resources.json"; }
  std::string outputDir() const { return folder_ + "/outputs"; }

  // Puts the inputs where the command finds them. The job has some.
  tl::expected<void, FileFault> fetchInputs(const FileTransport& transport);

  // While the command runs: keeps others from what it has made by now.
  void guard();

  // The beginning or the rest of a standard output that is too large for a result. The first
  // failure is kept for uploadOutputs().
  void spill(std::string_view bytes);
  bool spilled() const { return spill_.isOpen() || !spill_fault_.empty(); }

  // Has everything that the command left become artifacts.
  tl::expected<void, FileFault> uploadOutputs(const FileTransport& transport);

 private:
  using Done = tl::expected<void, FileFault>;

  Done make();
  tl::expected<std::string, FileFault> place(const ClaimedInput& input,
                                             const FileTransport& transport) const;
  tl::expected<std::string, FileFault> fetch(const ClaimedInput& input,
                                             const FileTransport& transport) const;
  tl::expected<std::vector<FoundOutput>, FileFault> findOutputs() const;
  Done upload(const FoundOutput& output, const std::string& path,
              const FileTransport& transport) const;

  HostFolder& host_;
  const ClaimedJob& job_;
  std::string folder_;
  Descriptor lock_;
  Descriptor spill_;
  std::string spill_fault_;
};

}  // namespace muster
