// Who may read and write the files of a service.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/launch/probe.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kOfOthers = fs::perms::group_all | fs::perms::others_all;

// The mask of a usual login, whatever that of the test is.
class UsualMask {
 public:
  UsualMask() : before_(::umask(022)) {}
  ~UsualMask() { ::umask(before_); }
  UsualMask(const UsualMask&) = delete;
  UsualMask& operator=(const UsualMask&) = delete;

 private:
  const mode_t before_;
};

bool isPrivate(const fs::path& path) {
  return (fs::status(path).permissions() & kOfOthers) == fs::perms::none;
}

// What a service says that does not start, with its exit code.
std::string refusalToServe(const TempFolder& folder) {
  const UsualMask mask;
  ChildProcess muster(
      {{musterBinary(), "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:data/muster.db"},
       folder.path()});
  // A service that does start says so, and would run for ever.
  eventually(kPatience, [&] { return !muster.running() || !muster.out().empty(); });
  EXPECT_EQ(muster.out(), "");
  return muster.err();
}

TEST(Files, are_for_the_user_of_the_service_alone) {
  const UsualMask mask;
  Probe probe("umask; exit 1", {.store = "sqlite:data/muster.db"});
  EXPECT_EQ(probe.output(), "0022\n") << "workers keep the mask that the service was started with";
  const fs::path data = probe.service().folder() / "data";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(data)) {
    EXPECT_TRUE(isPrivate(entry.path())) << entry.path();
    ++files;
  }
  EXPECT_TRUE(isPrivate(data));
  EXPECT_GE(files, 4) << "the database, its log, its lock and the folder of outputs";
}

TEST(Files, that_others_can_open_are_named_and_left_as_they_are) {
  Service service({.store = "sqlite:data/muster.db"});
  ASSERT_EQ(service.log().find("open to others"), std::string::npos) << service.log();
  ASSERT_EQ(service.stop(), 0);
  const fs::path data = service.folder() / "data";
  constexpr auto kReadable = fs::perms::owner_read | fs::perms::owner_write |
                             fs::perms::group_read | fs::perms::others_read;
  fs::permissions(data, fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  fs::permissions(data / "muster.db", kReadable);
  service.start();
  EXPECT_NE(service.log().find("other users of this machine can open data/muster.db"),
            std::string::npos)
      << service.log();
  EXPECT_NE(service.log().find("chmod go= data/muster.db*"), std::string::npos) << service.log();
  EXPECT_EQ(fs::status(data / "muster.db").permissions(), kReadable);
}

TEST(Files, are_not_followed_through_links) {
  struct {
    const char* name;
    const char* says;
  } const links[] = {{"muster.db", "muster.db is a link"},
                     {"muster.db-lock", "muster.db-lock is a link"},
                     {"worker_output", "worker_output: it is a link"}};
  for (const auto& link : links) {
    const TempFolder folder;
    fs::create_directory(folder / "data");
    const fs::path target = folder / "elsewhere";
    const bool is_folder = std::string_view(link.name) == "worker_output";
    if (is_folder) fs::create_directory(target);
    fs::create_symlink(target, folder / "data" / link.name);
    const std::string said = refusalToServe(folder);
    EXPECT_NE(said.find(link.says), std::string::npos) << link.name << ": " << said;
    EXPECT_EQ(fs::exists(target), is_folder) << "nothing is made through " << link.name;
  }
}

TEST(Files, of_a_service_in_memory_are_in_fresh_folders) {
  const UsualMask mask;
  Probe probe("echo here; exit 1", {.store = "memory:"});
  EXPECT_EQ(probe.output(), "here\n");
  const auto folders = [&] {
    std::vector<fs::path> found;
    // The temporary folder of the service is its own folder.
    for (const auto& entry : fs::directory_iterator(probe.service().folder().path())) {
      if (entry.is_directory()) found.push_back(entry.path());
    }
    return found;
  };
  const auto found = folders();
  ASSERT_EQ(found.size(), 2U) << "one of its workers, one of blobs";
  for (const fs::path& each : found) {
    EXPECT_TRUE(isPrivate(each));
    EXPECT_NE(each.filename(), "muster-" + std::to_string(probe.service().pid()))
        << "nobody else can know its name beforehand";
  }
  EXPECT_EQ(probe.service().stop(), 0);
  EXPECT_TRUE(folders().empty());
}

}  // namespace
}  // namespace muster::test
