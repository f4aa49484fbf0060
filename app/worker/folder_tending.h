#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "app/client/content.h"
#include "app/worker/descriptor.h"
#include "models/policy/resource_pressure.h"
#include "models/time.h"

namespace muster {

// A page of what a host folder holds, as the service is told of it.
struct FolderPage {
  struct File {
    std::string uid;
    std::uint64_t size = 0;
    std::string sha256;  // empty: not known
  };
  std::string folder_id, data_dir;
  std::vector<File> files;
  bool complete = false;  // the last one
  std::uint64_t bytes_in_use = 0, bytes_free = 0;
  std::optional<std::uint64_t> most_bytes = {};
};
constexpr std::size_t kMostOfPage = 1000;

struct FolderAnswer {
  std::vector<std::string> evict, unknown;
};
using SyncFolder = std::function<tl::expected<FolderAnswer, Refusal>(const FolderPage&)>;
// By a call of the service.
SyncFolder syncBy(AskService ask, const std::string& host);

struct FolderCare {
  std::string service = {};  // URL; empty: the folder is this service's alone
  std::optional<std::uint64_t> most_bytes =
      {};  // what all in it may take; absent: not limited here
  Watermarks marks = {};
};

struct FolderTended {
  bool was_left = false;  // there is no folder, or somebody else tends it
  std::size_t held = 0, deleted = 0;
  std::uint64_t bytes_in_use = 0;
};

// Looks after a host folder once: finishes what was cut off, trims the cache, has the service
// compare what is there with what it knows, and deletes what that says. Safe to repeat, and to be
// killed anywhere. What somebody else tends is left to them. The refusal is the service's, or
// `cannot_write` with a sentence.
tl::expected<FolderTended, Refusal> tendFolder(const std::string& folder, const FolderCare& care,
                                               const SyncFolder& sync, Time now);
// The same by one who has the lock.
tl::expected<FolderTended, Refusal> tendLocked(const std::string& folder, const FolderCare& care,
                                               const SyncFolder& sync, Time now);
// The lock of a folder that is there already; waits for it, or gives a closed one.
Descriptor lockForTending(const std::string& folder, bool waits);

// There is a folder, and nobody has tended it for that long.
bool isTendingDue(const std::string& folder, Millis interval, Time now);

// --- What a scan and an answer lead to. Pure.

// Of each page the files; one empty page for none.
std::vector<std::vector<FolderPage::File>> pagesOf(const std::vector<FolderPage::File>& files);

struct HeldFile {
  Time came_at;
  bool is_ours = true;  // of this service, as far as we know
};
// Which of the files are to be deleted: those to evict at once, those without a row when they are
// old. What the answer names beside our files is no business of ours.
std::vector<std::string> filesToDelete(const FolderAnswer& answer,
                                       const std::map<std::string, HeldFile>& held, Time now);

// To how many bytes the cache is to be trimmed; nothing while the folder is not too full.
std::optional<std::uint64_t> cacheLimit(std::uint64_t in_use, std::uint64_t of_cache,
                                        std::optional<std::uint64_t> most, const Watermarks& marks);

// A file that did not come: whether to go on bringing it.
bool isStillToCome(const std::string& mark_then, const std::string& mark_now, Time recorded_at,
                   Time now);

}  // namespace muster
