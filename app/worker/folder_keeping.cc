#include "app/worker/folder_keeping.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "app/client/sha256.h"
#include "app/worker/descriptor.h"
#include "app/worker/file_io.h"
#include "app/worker/folder_records.h"
#include "app/worker/tar_pack.h"

namespace muster {
namespace {

namespace files = std::filesystem;

constexpr std::size_t kSumPiece = 65'536;

auto cannotKeep(std::string what) {
  return tl::unexpected(Refusal{422, "cannot_write", std::move(what), {}});
}

tl::expected<void, std::string> sumFile(int fd, KeptFile& file) {
  Sha256 sum;
  std::string room(kSumPiece, '\0');
  while (true) {
    const ssize_t count = ::read(fd, room.data(), room.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(fileFault(file.source, errno));
    if (count == 0) break;
    sum.add(std::string_view(room).substr(0, static_cast<std::size_t>(count)));
    file.size += static_cast<std::uint64_t>(count);
  }
  file.sha256 = sum.hex();
  return {};
}

// As the tar that it would be if it were uploaded.
tl::expected<void, std::string> sumFolder(int fd, KeptFile& file) {
  const auto plan = planTar(fd);
  if (!plan) return tl::unexpected(plan.error());
  Sha256 sum;
  const auto packed = packTar(fd, *plan, [&sum](std::string_view piece) {
    sum.add(piece);
    return true;
  });
  if (!packed) return tl::unexpected(packed.error());
  file.size = plan->size;
  file.sha256 = sum.hex();
  return {};
}

bool isBelowOrSame(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

bool isOnDeviceOf(const std::string& source, const std::string& folder) {
  struct stat one {
  }, other{};
  return ::lstat(source.c_str(), &one) == 0 &&
         ::stat((folder + "/resources").c_str(), &other) == 0 && one.st_dev == other.st_dev;
}

}  // namespace

tl::expected<KeptFile, std::string> describeKept(const std::string& source,
                                                 const std::string& folder) {
  std::error_code error;
  auto path = files::absolute(source, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // of "pages/"
  // Names that lead there are resolved, its own is not.
  const auto parent = files::canonical(path.parent_path(), error);
  if (error) return tl::unexpected(source + ": " + error.message());
  KeptFile file{.source = (parent / path.filename()).string(),
                .name = path.filename().string(),
                .sha256 = {}};
  const Descriptor opened(
      ::open(file.source.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat seen {};
  if (!opened.isOpen() || ::fstat(opened.get(), &seen) != 0) {
    return tl::unexpected(errno == ELOOP ? source + ": is a link; give what it leads to"
                                         : fileFault(source, errno));
  }
  if (::access(parent.c_str(), W_OK) != 0) {
    return tl::unexpected(source + ": cannot be moved: " + fileFault(parent.string(), errno));
  }
  file.is_folder = S_ISDIR(seen.st_mode);
  if (!file.is_folder && !S_ISREG(seen.st_mode)) {
    return tl::unexpected(source + ": is neither a file nor a folder");
  }
  const std::string own = files::weakly_canonical(folder, error).string();
  if (isBelowOrSame(own, file.source) || isBelowOrSame(file.source, own + "/resources") ||
      isBelowOrSame(file.source, own + "/cache")) {
    return tl::unexpected(source + ": is of the host folder already, " + folder);
  }
  const auto summed = file.is_folder ? sumFolder(opened.get(), file) : sumFile(opened.get(), file);
  if (!summed) return tl::unexpected(summed.error());
  return file;
}

tl::expected<KeptRow, Refusal> keepFile(const std::string& folder, const KeptFile& file,
                                        const RegisterKept& enlist, Time now) {
  std::string from = file.source;
  const std::string source_mark = fileMark(file.source);
  const bool is_copied = !isOnDeviceOf(file.source, folder);
  if (is_copied) {
    auto staged = stageCopy(folder, file.source);
    if (!staged) return cannotKeep(staged.error());
    from = *std::move(staged);
  }
  const auto fail = [&](std::string what) {
    if (is_copied) deleteLeftover(folder, files::path(from).filename().string());
    return cannotKeep(std::move(what));
  };
  if (const auto flushed = flushFiles(from); !flushed) return fail(flushed.error());
  auto row = enlist(file);
  if (!row) {
    if (is_copied) deleteLeftover(folder, files::path(from).filename().string());
    return row;
  }
  const FolderRecord record{.uid = row->uid,
                            .id = row->id,
                            .type = row->type,
                            .scope = row->scope,
                            .tenant = row->tenant,
                            .name = file.name,
                            .size = file.size,
                            .sha256 = file.sha256,
                            .service = row->service,
                            .from = from,
                            .mark = fileMark(from),
                            .created = formatTime(now)};
  if (const auto written = writeRecord(folder, record); !written) return fail(written.error());
  if (const auto brought = bringFile(folder, record, from); !brought) {
    deleteRecord(folder, row->uid);
    return fail(brought.error());
  }
  const std::string kept = folder + "/resources/" + row->uid + "/" + file.name;
  if (const auto fixed = protectFiles(kept); !fixed) return cannotKeep(fixed.error());
  // What is left: the original of a copy, or all of it, if the same is kept already.
  std::error_code ignored;
  if (is_copied) files::remove_all(from, ignored);
  if (fileMark(file.source) == source_mark) files::remove_all(file.source, ignored);
  return row;
}

}  // namespace muster
