#include "app/worker/folder_tending.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "app/client/json_fields.h"
#include "app/worker/file_io.h"
#include "app/worker/folder_records.h"
#include "app/worker/host_folder.h"
#include "models/json/json_writer.h"

namespace muster {
namespace {

// The service gives a row so long for its file to be named, and we a file for its row.
constexpr Millis kTimeToMeet = Seconds(3600);
constexpr int kMostSyncs = 100;
constexpr Millis kSyncTimeout = Seconds(30);

Refusal folderFault(std::string what) { return {422, "cannot_write", std::move(what), {}}; }

std::string lockPath(const std::string& folder) { return folder + "/lock"; }

std::uint64_t freeBytes(const std::string& folder) {
  struct statvfs seen {};
  if (::statvfs(folder.c_str(), &seen) != 0) return 0;
  return static_cast<std::uint64_t>(seen.f_bavail) * seen.f_frsize;
}

std::vector<std::string> textsOf(JsonValue value, const char* name) {
  std::vector<std::string> texts;
  for (const auto& item : itemsOf(value, name)) {
    if (auto text = item.string()) texts.push_back(*std::move(text));
  }
  return texts;
}

struct Scan {
  std::vector<FolderPage::File> files;
  std::map<std::string, HeldFile> held;
  std::uint64_t bytes = 0;  // of the files
};

// A record without its file: it is being brought since before its keeper died, or was deleted.
void finishOne(const std::string& folder, const std::string& uid, Time now) {
  const auto record = findRecord(folder, uid);
  if (record && isStillToCome(record->mark, fileMark(record->from), cameAt(folder, uid), now) &&
      bringFile(folder, *record, record->from) &&
      protectFiles(folder + "/resources/" + uid + "/" + record->name)) {
    return;
  }
  deleteRecord(folder, uid);
}

tl::expected<Scan, std::string> scanFolder(const std::string& folder, const FolderCare& care,
                                           Time now) {
  auto entries = listResources(folder);
  if (!entries) return tl::unexpected(entries.error());
  FolderListing listing = judgeEntries(*entries);
  if (!listing.unfinished.empty() || !listing.leftovers.empty()) {
    for (const std::string& uid : listing.unfinished) finishOne(folder, uid, now);
    for (const std::string& name : listing.leftovers) deleteLeftover(folder, name);
    entries = listResources(folder);
    if (!entries) return tl::unexpected(entries.error());
    listing = judgeEntries(*entries);
  }
  Scan scan;
  for (const std::string& uid : listing.held) {
    const auto record = findRecord(folder, uid);
    const std::uint64_t bytes = bytesBelow(folder + "/resources/" + uid);
    scan.bytes += bytes;
    scan.files.push_back({uid, bytes, record ? record->sha256 : ""});
    const bool is_ours = !record || record->service.empty() || care.service.empty() ||
                         record->service == care.service;
    scan.held.emplace(uid, HeldFile{cameAt(folder, uid), is_ours});
  }
  return scan;
}

tl::expected<FolderAnswer, Refusal> syncAll(const std::string& folder, const FolderCare& care,
                                            const Scan& scan, std::uint64_t in_use,
                                            const SyncFolder& sync) {
  FolderPage page{.folder_id = folderId(folder),
                  .data_dir = folder,
                  .files = {},
                  .bytes_in_use = in_use,
                  .bytes_free = freeBytes(folder),
                  .most_bytes = care.most_bytes};
  FolderAnswer all;
  auto pages = pagesOf(scan.files);
  for (std::size_t at = 0; at < pages.size(); ++at) {
    page.files = std::move(pages[at]);
    page.complete = at + 1 == pages.size();
    auto answer = sync(page);
    if (!answer) return answer;
    all.evict.insert(all.evict.end(), answer->evict.begin(), answer->evict.end());
    all.unknown.insert(all.unknown.end(), answer->unknown.begin(), answer->unknown.end());
  }
  return all;
}

}  // namespace

SyncFolder syncBy(AskService ask, const std::string& host) {
  return [ask = std::move(ask), path = apiPath({"v1", "hosts", host, "sync"})](
             const FolderPage& page) -> tl::expected<FolderAnswer, Refusal> {
    JsonWriter body;
    body.beginObject().field("folder_id", page.folder_id).field("data_dir", page.data_dir);
    body.key("resources").beginArray();
    for (const auto& [uid, size, sha256] : page.files) {
      body.beginObject().field("uid", uid).field("size_bytes", size);
      if (!sha256.empty()) body.field("sha256", sha256);
      body.endObject();
    }
    body.endArray().field("complete", page.complete);
    body.field("disk_bytes_in_use", page.bytes_in_use).field("disk_bytes_free", page.bytes_free);
    body.field("disk_limit_bytes", page.most_bytes).endObject();
    const auto answer =
        ask({.method = "POST", .path = path, .body = body.take(), .timeout = kSyncTimeout});
    if (!answer) return tl::unexpected(answer.error());
    const auto json = JsonAnswer::parse(answer->body);
    if (!json) {
      return tl::unexpected(
          Refusal{answer->status, "not_json", "the answer is not JSON; is this a Muster service?"});
    }
    return FolderAnswer{textsOf(json->root(), "evict"), textsOf(json->root(), "unknown")};
  };
}

Descriptor lockForTending(const std::string& folder, bool waits) {
  const std::string path = lockPath(folder);
  if (folderId(folder).empty()) return Descriptor();
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (lock.isOpen() && ::flock(lock.get(), waits ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) lock.close();
  }
  return lock;
}

bool isTendingDue(const std::string& folder, Millis interval, Time now) {
  if (::access((folder + "/id").c_str(), R_OK) != 0) return false;
  struct stat seen {};
  if (::stat(lockPath(folder).c_str(), &seen) != 0) return errno == ENOENT;
  const Time last = fromMillis(static_cast<std::int64_t>(seen.st_mtim.tv_sec) * 1000 +
                               seen.st_mtim.tv_nsec / 1'000'000);
  return now - last >= interval || last - now > interval;
}

tl::expected<FolderTended, Refusal> tendFolder(const std::string& folder, const FolderCare& care,
                                               const SyncFolder& sync, Time now) {
  const Descriptor lock = lockForTending(folder, false);
  if (!lock.isOpen()) return FolderTended{.was_left = true};
  // Now, and not when it is done: a service that does not answer is asked again an interval later.
  ::futimens(lock.get(), nullptr);
  return tendLocked(folder, care, sync, now);
}

tl::expected<FolderTended, Refusal> tendLocked(const std::string& folder, const FolderCare& care,
                                               const SyncFolder& sync, Time now) {
  FolderTended tended;
  for (int syncs = 0; syncs < kMostSyncs; ++syncs) {
    auto scan = scanFolder(folder, care, now);
    if (!scan) return tl::unexpected(folderFault(scan.error()));
    std::uint64_t of_cache = bytesBelow(folder + "/cache");
    const auto limit = cacheLimit(scan->bytes + of_cache, of_cache, care.most_bytes, care.marks);
    if (limit) {
      HostFolder(folder).trimCache(*limit);
      of_cache = bytesBelow(folder + "/cache");
    }
    tended.held = scan->files.size();
    tended.bytes_in_use = scan->bytes + of_cache;
    const auto answer = syncAll(folder, care, *scan, tended.bytes_in_use, sync);
    if (!answer) return tl::unexpected(answer.error());
    const auto doomed = filesToDelete(*answer, scan->held, now);
    const auto before = tended.deleted;
    for (const std::string& uid : doomed) tended.deleted += deleteHeld(folder, uid) ? 1 : 0;
    if (tended.deleted == before) break;
  }
  return tended;
}

std::vector<std::vector<FolderPage::File>> pagesOf(const std::vector<FolderPage::File>& files) {
  std::vector<std::vector<FolderPage::File>> pages;
  for (std::size_t at = 0; at == 0 || at < files.size(); at += kMostOfPage) {
    const auto from = files.begin() + static_cast<std::ptrdiff_t>(at);
    const auto count = std::min(kMostOfPage, files.size() - at);
    pages.emplace_back(from, from + static_cast<std::ptrdiff_t>(count));
  }
  return pages;
}

std::vector<std::string> filesToDelete(const FolderAnswer& answer,
                                       const std::map<std::string, HeldFile>& held, Time now) {
  std::set<std::string> doomed;
  for (const std::string& uid : answer.evict) {
    if (held.contains(uid)) doomed.insert(uid);
  }
  for (const std::string& uid : answer.unknown) {
    const auto found = held.find(uid);
    if (found == held.end() || !found->second.is_ours) continue;
    if (now - found->second.came_at >= kTimeToMeet) doomed.insert(uid);
  }
  return {doomed.begin(), doomed.end()};
}

std::optional<std::uint64_t> cacheLimit(std::uint64_t in_use, std::uint64_t of_cache,
                                        std::optional<std::uint64_t> most,
                                        const Watermarks& marks) {
  if (!most) return std::nullopt;
  const auto limit = static_cast<std::int64_t>(std::min<std::uint64_t>(*most, INT64_MAX));
  const auto free =
      static_cast<std::uint64_t>(bytesToFree(static_cast<std::int64_t>(in_use), 0, limit, marks));
  if (free == 0) return std::nullopt;
  return of_cache - std::min(of_cache, free);
}

bool isStillToCome(const std::string& mark_then, const std::string& mark_now, Time recorded_at,
                   Time now) {
  return !mark_then.empty() && mark_then == mark_now && now - recorded_at < kTimeToMeet;
}

}  // namespace muster
