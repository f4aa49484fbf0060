#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/blobs/blob_folder.h"
#include "models/store/storage.h"
#include "models/store/store_probe.h"

namespace muster {

enum class CheckVerdict { kOk, kWarn, kFail };

// What `muster doctor` says about one thing.
struct Check {
  std::string name;
  CheckVerdict verdict = CheckVerdict::kOk;
  std::string detail;
  std::string hint = {};  // what to do, unless it is ok
};

// Pure: what was found, judged.
Check judgeDisk(const std::string& name, const std::string& folder, std::uint64_t free_bytes,
                std::uint64_t all_bytes);
Check judgeOpenFiles(std::uint64_t limit);
// `expires`: of the certificate, or why it cannot be served.
Check judgeCertificate(const tl::expected<Time, std::string>& expires, Time now);
// Everything about a store, in the order in which it matters.
std::vector<Check> judgeStore(const StoreFindings& found, bool is_postgres, Durability durability);

// The folder of blobs itself. One that is not there yet is no fault: the service makes it.
Check judgeBlobFolder(const BlobFolderState& state);
// The resources and their files. `most_bytes` is what the folder may hold, `high_pct` the part of
// it above which unused resources are evicted.
std::vector<Check> judgeResources(const StoreFindings::Resources& found, bool is_postgres,
                                  std::int64_t most_bytes, int high_pct);

// 0, or 1 when something failed.
int doctorExit(const std::vector<Check>& checks);
std::string doctorText(const std::vector<Check>& checks, bool color);
std::string doctorJson(const std::vector<Check>& checks);

}  // namespace muster
