#include "app/worker/folder_records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <random>
#include <set>

#include "app/client/json_fields.h"
#include "app/worker/descriptor.h"
#include "app/worker/file_io.h"
#include "models/json/json_writer.h"
#include "models/resource.h"

namespace muster {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kRecordEnd = ".json";
// Under these names nothing is of use to anybody but the process that made it.
constexpr std::string_view kComing = "new.";
constexpr std::string_view kGoing = "gone.";
constexpr std::string_view kRecordDraft = "record.";
constexpr std::size_t kMostFolderRecordBytes = 65'536;

std::string resourcesIn(const std::string& folder) { return folder + "/resources"; }

std::string freshName(std::string_view begin) {
  std::random_device random("/dev/urandom");
  return fmt::format("{}{:08x}{:08x}", begin, random(), random());
}

auto cannot(const std::string& path) { return tl::unexpected(fileFault(path, errno)); }
auto cannot(const std::string& path, const std::error_code& error) {
  return tl::unexpected(fmt::format("{}: {}", path, error.message()));
}

tl::expected<void, std::string> flushAt(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.isOpen() || ::fsync(file.get()) != 0) return cannot(path);
  return {};
}

using Done = tl::expected<void, std::string>;

// For the file, or for all that is in a folder and then the folder itself; links are left out.
Done eachFile(const std::string& path,
              const std::function<Done(const std::string& file, mode_t mode)>& act) {
  const auto one = [&act](const std::string& file) -> Done {
    struct stat seen {};
    if (::lstat(file.c_str(), &seen) != 0) return cannot(file);
    const bool counts = S_ISREG(seen.st_mode) || S_ISDIR(seen.st_mode);
    return counts ? act(file, seen.st_mode) : Done();
  };
  std::error_code error;
  if (files::is_directory(files::symlink_status(path, error))) {
    for (files::recursive_directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
      if (auto done = one(it->path().string()); !done) return done;
    }
  }
  if (error) return cannot(path, error);
  return one(path);
}

bool isUidName(std::string_view name) {
  return name.starts_with(kUidPrefix) && name.size() > kUidPrefix.size() &&
         name.find('/') == std::string_view::npos;
}

void removeTree(const std::string& path) {
  std::error_code ignored;  // the next tending removes what is left
  files::remove_all(path, ignored);
}

std::uint64_t numberOf(const std::string& text) {
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

}  // namespace

std::string recordText(const FolderRecord& record) {
  JsonWriter out;
  out.beginObject();
  const auto text = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.field(name, value);
  };
  text("uid", record.uid);
  text("resource_id", record.id);
  text("type", record.type);
  text("scope", record.scope);
  text("tenant", record.tenant);
  text("name", record.name);
  out.field("size_bytes", record.size);
  text("sha256", record.sha256);
  text("service", record.service);
  text("from", record.from);
  text("mark", record.mark);
  text("created_at", record.created);
  return out.endObject().take() + "\n";
}

std::optional<FolderRecord> readRecord(const std::string& text) {
  const auto json = JsonAnswer::parse(text);
  if (!json) return std::nullopt;
  const JsonValue root = json->root();
  FolderRecord record{.uid = textOf(root, "uid"),
                      .id = textOf(root, "resource_id"),
                      .type = textOf(root, "type"),
                      .scope = textOf(root, "scope"),
                      .tenant = textOf(root, "tenant"),
                      .name = textOf(root, "name"),
                      .size = numberOf(textOf(root, "size_bytes")),
                      .sha256 = textOf(root, "sha256"),
                      .service = textOf(root, "service"),
                      .from = textOf(root, "from"),
                      .mark = textOf(root, "mark"),
                      .created = textOf(root, "created_at")};
  const bool is_name = !record.name.empty() && record.name != "." && record.name != ".." &&
                       record.name.find('/') == std::string::npos;
  if (!isUidName(record.uid) || !is_name) return std::nullopt;
  return record;
}

std::string fileMark(const std::string& path) {
  struct stat seen {};
  if (::lstat(path.c_str(), &seen) != 0) return "";
  return fmt::format("{}:{}:{}:{}.{:09}", seen.st_dev, seen.st_ino,
                     S_ISDIR(seen.st_mode) ? 0 : seen.st_size, seen.st_mtim.tv_sec,
                     seen.st_mtim.tv_nsec);
}

FolderListing judgeEntries(const std::vector<FolderEntry>& entries) {
  FolderListing listing;
  std::set<std::string> held;
  for (const auto& [name, has_content] : entries) {
    if (isUidName(name) && has_content) held.insert(name);
    for (const auto begin : {kComing, kGoing, kRecordDraft}) {
      if (name.starts_with(begin)) listing.leftovers.push_back(name);
    }
  }
  for (const auto& [name, has_content] : entries) {
    if (!isUidName(name) || !name.ends_with(kRecordEnd)) continue;
    const std::string uid = name.substr(0, name.size() - kRecordEnd.size());
    if (!held.contains(uid)) listing.unfinished.push_back(uid);
  }
  listing.held.assign(held.begin(), held.end());
  return listing;
}

tl::expected<std::vector<FolderEntry>, std::string> listResources(const std::string& folder) {
  std::vector<FolderEntry> entries;
  const std::string path = resourcesIn(folder);
  std::error_code error;
  for (files::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code unreadable;
    const bool is_folder = it->symlink_status(unreadable).type() == files::file_type::directory;
    const bool is_empty = is_folder && files::is_empty(it->path(), unreadable);
    if (unreadable) return cannot(it->path().string(), unreadable);
    entries.push_back({it->path().filename().string(), is_folder && !is_empty});
  }
  if (error && error != std::errc::no_such_file_or_directory) return cannot(path, error);
  return entries;
}

tl::expected<void, std::string> writeRecord(const std::string& folder, const FolderRecord& record) {
  const std::string path = resourcesIn(folder) + "/" + record.uid + std::string(kRecordEnd);
  const std::string draft = resourcesIn(folder) + "/" + freshName(kRecordDraft);
  {
    const Descriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.isOpen()) return cannot(draft);
    if (const int error = writeAll(file.get(), recordText(record)); error != 0) {
      return tl::unexpected(fileFault(draft, error));
    }
    if (::fsync(file.get()) != 0) return cannot(draft);
  }
  if (std::rename(draft.c_str(), path.c_str()) != 0) return cannot(path);
  return flushAt(resourcesIn(folder));
}

std::optional<FolderRecord> findRecord(const std::string& folder, const std::string& uid) {
  const std::string path = resourcesIn(folder) + "/" + uid + std::string(kRecordEnd);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.isOpen()) return std::nullopt;
  std::string text(kMostFolderRecordBytes, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  auto record = readRecord(text);
  return record && record->uid == uid ? std::move(record) : std::nullopt;
}

tl::expected<std::string, std::string> stageCopy(const std::string& folder,
                                                 const std::string& from) {
  const std::string to = resourcesIn(folder) + "/" + freshName(kComing);
  std::error_code error;
  files::copy(from, to, files::copy_options::recursive | files::copy_options::copy_symlinks, error);
  if (error) {
    removeTree(to);
    return cannot(to, error);
  }
  return to;
}

tl::expected<void, std::string> flushFiles(const std::string& path) {
  return eachFile(path, [](const std::string& file, mode_t) { return flushAt(file); });
}

tl::expected<void, std::string> protectFiles(const std::string& path) {
  return eachFile(path, [](const std::string& file, mode_t mode) -> Done {
    if (S_ISREG(mode) && ::chmod(file.c_str(), mode & 0555) != 0) return cannot(file);
    return {};
  });
}

tl::expected<void, std::string> bringFile(const std::string& folder, const FolderRecord& record,
                                          const std::string& from) {
  const std::string place = resourcesIn(folder) + "/" + record.uid;
  const std::string to = place + "/" + record.name;
  struct stat seen {};
  if (::lstat(to.c_str(), &seen) == 0) return {};
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) return cannot(place);
  if (std::rename(from.c_str(), to.c_str()) != 0) {
    if (errno != EXDEV) return cannot(from);
    const auto staged = stageCopy(folder, from);
    if (!staged) return tl::unexpected(staged.error());
    if (auto flushed = flushFiles(*staged); !flushed) return flushed;
    if (std::rename(staged->c_str(), to.c_str()) != 0) return cannot(to);
    removeTree(from);
  }
  if (auto flushed = flushAt(place); !flushed) return flushed;
  return flushAt(resourcesIn(folder));
}

bool deleteHeld(const std::string& folder, const std::string& uid) {
  const std::string path = resourcesIn(folder) + "/" + uid;
  const std::string gone = freshName(kGoing);
  // In one step, since half of a folder would still look like all of it.
  if (std::rename(path.c_str(), (resourcesIn(folder) + "/" + gone).c_str()) != 0) return false;
  deleteRecord(folder, uid);
  deleteLeftover(folder, gone);
  return true;
}

void deleteLeftover(const std::string& folder, const std::string& name) {
  removeTree(resourcesIn(folder) + "/" + name);
}

void deleteRecord(const std::string& folder, const std::string& uid) {
  const std::string path = resourcesIn(folder) + "/" + uid;
  ::unlink((path + std::string(kRecordEnd)).c_str());
  ::rmdir(path.c_str());  // it may have been made for a file that never came
}

std::string keptFile(const std::string& folder, const std::string& uid) {
  const auto record = isUidName(uid) ? findRecord(folder, uid) : std::nullopt;
  if (!record) return "";
  const std::string path = resourcesIn(folder) + "/" + uid + "/" + record->name;
  return ::access(path.c_str(), R_OK) == 0 ? path : "";
}

Time cameAt(const std::string& folder, const std::string& uid) {
  const std::string path = resourcesIn(folder) + "/" + uid;
  struct stat seen {};
  if (::lstat((path + std::string(kRecordEnd)).c_str(), &seen) != 0 &&
      ::lstat(path.c_str(), &seen) != 0) {
    return fromMillis(0);
  }
  return fromMillis(static_cast<std::int64_t>(seen.st_mtim.tv_sec) * 1000);
}

std::uint64_t bytesBelow(const std::string& path) {
  std::uint64_t total = 0;
  std::error_code error;
  for (files::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    struct stat seen {};
    if (::lstat(it->path().c_str(), &seen) != 0 || !S_ISREG(seen.st_mode)) continue;
    total += static_cast<std::uint64_t>(seen.st_size);
  }
  return total;
}

}  // namespace muster
