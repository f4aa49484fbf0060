#include "app/worker/job_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "app/client/sha256.h"
#include "app/worker/content_cache.h"
#include "app/worker/file_io.h"
#include "app/worker/folder_records.h"
#include "app/worker/tar_name.h"
#include "app/worker/tar_pack.h"
#include "app/worker/tar_unpack.h"

namespace muster {
namespace {

constexpr std::size_t kFilePiece = 65'536;
constexpr int kMostUploads = 3;  // of one artifact, where the service has lost what it had of it
constexpr const char* kFolderType = "dir";

auto fault(std::string what) { return tl::unexpected(FileFault{.what = std::move(what)}); }

FileFault faultOf(const std::string& about, const Refusal& refusal) {
  FileFault found{.what = fmt::format("{}: {}", about, refusal.detail)};
  found.is_missing = refusal.status == 404 || refusal.status == 410;
  found.stopped = refusal.code == "stopped";
  return found;
}

std::error_code makeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error;
}

// False when `take` has had enough.
tl::expected<bool, int> readPieces(int fd, const std::function<bool(std::string_view)>& take) {
  std::string room(kFilePiece, '\0');
  while (true) {
    const ssize_t count = ::read(fd, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(errno);
    if (count == 0) return true;
    if (!take(std::string_view(room).substr(0, static_cast<std::size_t>(count)))) return false;
  }
}

// The same file under another name; where that cannot be, or could be written into, a copy.
tl::expected<void, std::string> linkOrCopy(const std::string& from, const std::string& to) {
  struct stat seen {};
  const bool is_fixed = ::stat(from.c_str(), &seen) == 0 && (seen.st_mode & 0222) == 0;
  if (is_fixed && ::link(from.c_str(), to.c_str()) == 0) return {};
  std::error_code error;
  std::filesystem::copy_file(from, to, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", to, error.message()));
  if (::chmod(to.c_str(), 0444) != 0) return tl::unexpected(fileFault(to, errno));
  return {};
}

tl::expected<void, std::string> copyFolder(const std::string& from, const std::string& to) {
  namespace files = std::filesystem;
  std::error_code error;
  files::copy(from, to, files::copy_options::recursive | files::copy_options::copy_symlinks, error);
  if (error) return tl::unexpected(fmt::format("{}: {}", from, error.message()));
  for (files::recursive_directory_iterator it(to, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_symlink() || !it->is_regular_file()) continue;
    files::permissions(
        it->path(),
        files::perms::owner_write | files::perms::group_write | files::perms::others_write,
        files::perm_options::remove, error);
  }
  if (error) return tl::unexpected(fmt::format("{}: {}", to, error.message()));
  return {};
}

tl::expected<void, std::string> unpack(const std::string& archive, const std::string& to) {
  if (const auto error = makeFolders(to)) return tl::unexpected(to + ": " + error.message());
  const Descriptor folder(::open(to.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  const Descriptor file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder.isOpen() || !file.isOpen()) return tl::unexpected(fileFault(archive, errno));
  TarUnpacker unpacker(folder.get());
  tl::expected<void, std::string> added;
  const auto read = readPieces(file.get(), [&](std::string_view piece) {
    added = unpacker.add(piece);
    return added.has_value();
  });
  if (!read) return tl::unexpected(fileFault(archive, read.error()));
  return added ? unpacker.finish() : added;
}

FoundOutput::Kind kindOf(const struct stat& file) {
  return S_ISREG(file.st_mode)   ? FoundOutput::Kind::kFile
         : S_ISDIR(file.st_mode) ? FoundOutput::Kind::kFolder
                                 : FoundOutput::Kind::kOther;
}

}  // namespace

JobFiles::JobFiles(HostFolder& host, const ClaimedJob& job) : host_(host), job_(job) {
  // A try that was given back has its number again. What it left may be in use, or is swept.
  const std::string name = fmt::format("{}/jobs/{}.{}", host_.path(), job.id, job.attempt);
  folder_ = name;
  for (int again = 2; ::access(folder_.c_str(), F_OK) == 0; ++again) {
    folder_ = fmt::format("{}-{}", name, again);
  }
}

JobFiles::~JobFiles() {
  std::error_code ignored;  // what is left is swept
  if (::access(folder_.c_str(), F_OK) == 0) std::filesystem::remove_all(folder_, ignored);
}

JobFiles::Done JobFiles::make() {
  if (lock_.isOpen()) return {};
  if (auto prepared = host_.prepare(); !prepared) return fault(prepared.error());
  auto locked = lockFolder(folder_);
  if (!locked) return fault(locked.error());
  lock_ = *std::move(locked);
  return {};
}

void JobFiles::guard() {
  // A failure is met again when there is something to upload.
  if (!lock_.isOpen() && ::access(folder_.c_str(), F_OK) == 0) static_cast<void>(make());
}

JobFiles::Done JobFiles::fetchInputs(const FileTransport& transport) {
  if (const std::string wrong = inputNamesFault(job_.inputs); !wrong.empty()) return fault(wrong);
  if (auto made = make(); !made) return made;
  for (const std::string& folder : {inputDir(), outputDir()}) {
    if (const auto error = makeFolders(folder)) return fault(folder + ": " + error.message());
  }
  std::vector<PlacedInput> placed;
  for (const ClaimedInput& input : job_.inputs) {
    auto path = place(input, transport);
    if (!path) return tl::unexpected(std::move(path).error());
    placed.push_back({input, *std::move(path)});
  }
  const std::string list = resourcesFile();
  const Descriptor file(::open(list.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  if (!file.isOpen()) return fault(fileFault(list, errno));
  if (const int error = writeAll(file.get(), resourcesJson(placed)); error != 0) {
    return fault(fileFault(list, error));
  }
  if (transport.most_cache_bytes) host_.trimCache(*transport.most_cache_bytes);
  return {};
}

tl::expected<std::string, FileFault> JobFiles::place(const ClaimedInput& input,
                                                     const FileTransport& transport) const {
  const std::string to = inputDir() + "/" + input.as;
  const auto about = fmt::format("the input {}", input.resource_id);
  const auto error = makeFolders(std::filesystem::path(to).parent_path().string());
  if (error) return fault(fmt::format("{}: {}", to, error.message()));
  std::string from = input.uid.empty() ? "" : keptFile(host_.path(), input.uid);
  if (from.empty() && !input.path.empty()) {
    // Of the host folder, whether it is named from there or from the root.
    const auto path = (std::filesystem::path(host_.path()) / input.path).lexically_normal();
    const bool is_below = path.string().starts_with(host_.path() + "/");
    if (is_below && ::access(path.c_str(), R_OK) == 0) from = path.string();
  }
  const bool is_of_host = !input.path.empty() || input.holder.starts_with("host:");
  if (from.empty() && is_of_host && input.content_path.empty()) {
    return tl::unexpected(FileFault{
        fmt::format("{} is not in the folder of this host, {}", about, host_.path()), true});
  }
  std::error_code is_folder_error;
  if (!from.empty() && std::filesystem::is_directory(from, is_folder_error)) {
    if (const auto copied = copyFolder(from, to); !copied) {
      return fault(fmt::format("{}: {}", about, copied.error()));
    }
    return to;
  }
  if (from.empty() && input.content_path.empty()) return std::string();  // it is listed
  const bool is_own = from.empty() && !isSha256Hex(input.sha256);
  if (from.empty()) {
    auto fetched = fetch(input, transport);
    if (!fetched) return tl::unexpected(std::move(fetched).error());
    from = *std::move(fetched);
  }
  const auto there = input.type == kFolderType ? unpack(from, to) : linkOrCopy(from, to);
  if (is_own) ::unlink(from.c_str());
  if (!there) return fault(fmt::format("{}: {}", about, there.error()));
  return to;
}

tl::expected<std::string, FileFault> JobFiles::fetch(const ClaimedInput& input,
                                                     const FileTransport& transport) const {
  const auto about = fmt::format("cannot fetch the input {}", input.resource_id);
  const CacheWait wait{transport.stop, transport.pause};
  if (isSha256Hex(input.sha256)) {
    auto cached = fetchIntoCache(transport.ask, input.content_path, host_.path() + "/cache",
                                 input.sha256, wait);
    if (!cached) return tl::unexpected(faultOf(about, cached.error()));
    return *std::move(cached);
  }
  const std::string file = folder_ + "/content";
  const auto fetched = fetchIntoFile(transport.ask, input.content_path, file, wait);
  if (!fetched) return tl::unexpected(faultOf(about, fetched.error()));
  return file;
}

void JobFiles::spill(std::string_view bytes) {
  if (!spill_fault_.empty()) return;
  if (!spill_.isOpen()) {
    if (const auto made = make(); !made) {
      spill_fault_ = made.error().what;
      return;
    }
    const std::string path = folder_ + "/stdout";
    spill_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!spill_.isOpen()) {
      spill_fault_ = fileFault(path, errno);
      return;
    }
  }
  if (const int error = writeAll(spill_.get(), bytes); error != 0) {
    spill_fault_ = fileFault("cannot keep standard output", error);
  }
}

tl::expected<std::vector<FoundOutput>, FileFault> JobFiles::findOutputs() const {
  const std::string path = outputDir();
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder && errno == ENOENT) return std::vector<FoundOutput>();
  if (!folder) return fault(fileFault(path, errno));
  std::vector<FoundOutput> found;
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr && errno != 0) return fault(fileFault(path, errno));
    if (entry == nullptr) return found;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat file {};
    if (::fstatat(::dirfd(folder.get()), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0) {
      return fault(fileFault(path + "/" + name, errno));
    }
    found.push_back({name, kindOf(file)});
  }
}

JobFiles::Done JobFiles::uploadOutputs(const FileTransport& transport) {
  if (!spill_fault_.empty()) return fault(spill_fault_);
  auto found = findOutputs();
  if (!found) return tl::unexpected(std::move(found).error());
  if (found->empty() && !spill_.isOpen()) return {};
  const auto planned = planOutputs(*std::move(found), spill_.isOpen());
  if (!planned) return fault(planned.error());
  if (auto made = make(); !made) return made;
  for (const FoundOutput& output : *planned) {
    auto done = upload(output, outputDir() + "/" + output.name, transport);
    if (!done) return done;
  }
  if (!spill_.isOpen()) return {};
  return upload({kStdoutArtifact}, folder_ + "/stdout", transport);
}

JobFiles::Done JobFiles::upload(const FoundOutput& output, const std::string& path,
                                const FileTransport& transport) const {
  const bool is_folder = output.kind == FoundOutput::Kind::kFolder;
  const std::string about = fmt::format("cannot hand over the output {}", output.name);
  NewArtifact artifact{.job = job_.id,
                       .lease_token = job_.lease_token,
                       .name = output.name,
                       .type = is_folder ? kFolderType : "file",
                       .ttl_seconds = transport.ttl_seconds};
  for (int tries = 1;; ++tries) {
    const Descriptor file(::open(
        path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_folder ? O_DIRECTORY : O_NONBLOCK)));
    struct stat seen {};
    if (!file.isOpen() || ::fstat(file.get(), &seen) != 0) return fault(fileFault(path, errno));
    TarPlan plan;
    if (is_folder) {
      auto planned = planTar(file.get());
      if (!planned) return fault(fmt::format("{}: {}", about, planned.error()));
      plan = *std::move(planned);
    }
    artifact.size = is_folder ? plan.size : static_cast<std::uint64_t>(seen.st_size);
    ArtifactUpload sending(transport.ask, artifact);
    std::optional<Refusal> refusal;
    std::uint64_t read = 0;
    const auto take = [&](std::string_view piece) {
      if (transport.stop()) {
        refusal = Refusal{422, "stopped", "stopped", {}};
        return false;
      }
      read += piece.size();
      if (auto added = sending.add(piece); !added) refusal = added.error();
      return !refusal;
    };
    if (is_folder) {
      const auto packed = packTar(file.get(), plan, take);
      if (!packed) return fault(fmt::format("{}: {}", about, packed.error()));
    } else if (const auto whole = readPieces(file.get(), take); !whole) {
      return fault(fmt::format("{}: {}", about, fileFault(path, whole.error())));
    }
    if (!refusal && read != *artifact.size) {
      return fault(about + ": something still writes into it");
    }
    if (!refusal) {
      if (const auto sent = sending.finish(); !sent) refusal = sent.error();
    }
    if (!refusal) return {};
    const bool began_anew = refusal->status == 404 || refusal->status == 409 ||
                            refusal->status == 410 || refusal->code == "checksum_mismatch";
    if (!began_anew || refusal->code == "lease_lost" || tries == kMostUploads) {
      return tl::unexpected(faultOf(about, *refusal));
    }
  }
}

}  // namespace muster
