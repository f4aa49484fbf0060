// Archives of folders: what goes in comes out, and nothing gets out of the folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <map>
#include <random>

#include "app/worker/descriptor.h"
#include "app/worker/tar_header.h"
#include "app/worker/tar_name.h"
#include "app/worker/tar_pack.h"
#include "app/worker/tar_unpack.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

namespace files = std::filesystem;

Descriptor openFolder(const files::path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

tl::expected<std::string, std::string> packed(const files::path& folder) {
  const Descriptor open = openFolder(folder);
  const auto plan = planTar(open.get());
  if (!plan) return tl::unexpected(plan.error());
  std::string archive;
  const auto done = packTar(open.get(), *plan, [&archive](std::string_view piece) {
    archive += piece;
    return true;
  });
  if (!done) return tl::unexpected(done.error());
  EXPECT_EQ(archive.size(), plan->size);
  return archive;
}

// The error, empty if there is none. In pieces of so many bytes.
std::string unpackInto(const files::path& folder, std::string_view archive,
                       std::size_t piece = 1000) {
  const Descriptor open = openFolder(folder);
  TarUnpacker unpacker(open.get());
  for (; !archive.empty(); archive.remove_prefix(std::min(piece, archive.size()))) {
    if (const auto added = unpacker.add(archive.substr(0, piece)); !added) return added.error();
  }
  const auto end = unpacker.finish();
  return end ? "" : end.error();
}

// Every path with what it is.
std::map<std::string, std::string> listed(const files::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : files::recursive_directory_iterator(folder)) {
    const std::string name = files::relative(entry.path(), folder).string();
    struct stat seen {};
    ::lstat(entry.path().c_str(), &seen);
    if (entry.is_symlink()) {
      found[name] = "-> " + files::read_symlink(entry.path()).string();
    } else if (entry.is_directory()) {
      found[name] = "folder";
    } else {
      found[name] = ((seen.st_mode & S_IXUSR) != 0 ? "run " : "") + readFile(entry.path());
    }
  }
  return found;
}

std::string archiveOf(const std::vector<std::pair<TarEntry, std::string>>& entries) {
  std::string archive;
  for (auto [entry, body] : entries) {
    entry.size = body.size();
    archive += tarHeader(entry) + body + std::string(tarPadding(body.size()), '\0');
  }
  return archive + std::string(2 * kTarBlock, '\0');
}

TarEntry fileNamed(const std::string& name) { return {TarEntry::Kind::kFile, name, "", 0644, 0}; }
TarEntry linkNamed(const std::string& name, const std::string& target) {
  return {TarEntry::Kind::kLink, name, target, 0777, 0};
}

// As fileNamed(), of another type: 1 is a hard link, 3 a device.
std::string blockOfType(char type, const std::string& name, const std::string& target) {
  std::string block = tarHeader(linkNamed(name, target));
  block[156] = type;
  unsigned sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  }
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), "%06o", sum);
  return block.replace(148, 6, digits.data(), 6);
}

TEST(TarName, is_a_path_below_the_folder_or_none) {
  const std::vector<std::pair<std::string, std::optional<std::string>>> table = {
      {"a", "a"},
      {"a/b", "a/b"},
      {"./a//b/", "a/b"},
      {"./", ""},
      {"a/./b", "a/b"},
      {"...", "..."},
      {"..a/b..", "..a/b.."},
      {"", std::nullopt},
      {"/", std::nullopt},
      {"/etc/passwd", std::nullopt},
      {"..", std::nullopt},
      {"../a", std::nullopt},
      {"a/../b", std::nullopt},
      {"a/..", std::nullopt},
      {std::string("a\0b", 3), std::nullopt},
      {std::string(255, 'x'), std::string(255, 'x')},
      {std::string(256, 'x'), std::nullopt},
  };
  for (const auto& [name, path] : table) EXPECT_EQ(tarPath(name), path) << name;
}

TEST(TarName, says_whether_a_link_stays_in_the_folder) {
  const std::vector<std::tuple<std::string, std::string, bool>> table = {
      {"a", "b", true},
      {"a", "b/c", true},
      {"a", "./b", true},
      {"d/a", "../b", true},
      {"d/e/a", "../../b", true},
      {"a", ".", true},
      {"a", "..", false},
      {"a", "../b", false},
      {"d/a", "../../b", false},
      {"a", "/etc", false},
      {"a", "", false},
      {"d/a", "b/../c", false},
      {"d/a", "../b/../..", false},
  };
  for (const auto& [path, target, stays] : table) {
    EXPECT_EQ(linkStaysInside(path, target), stays) << path << " -> " << target;
  }
}

TEST(Tar, a_folder_comes_out_as_it_went_in) {
  TempFolder from, to;
  const std::string long_name = std::string(120, 'n') + "/" + std::string(130, 'm');
  files::create_directories(from / "sub/empty");
  files::create_directories((from / long_name).parent_path());
  writeFile(from / "a.txt", "hello");
  writeFile(from / "sub/none", "");
  writeFile(from / "sub/block", std::string(512, 'b'));
  writeFile(from / "sub/large", std::string(200'001, 'l'));
  writeFile(from / long_name, "long");
  writeFile(from / "run.sh", "#!/bin/sh\n");
  files::permissions(from / "run.sh", files::perms::owner_all);
  files::create_symlink("../a.txt", from / "sub/link");
  files::create_symlink(std::string(150, 't'), from / "nowhere");
  files::create_hard_link(from / "a.txt", from / "same.txt");
  const auto archive = packed(from.path());
  ASSERT_TRUE(archive) << archive.error();
  for (const std::size_t piece : {1UL, 511UL, 100'000UL}) {
    TempFolder again;
    ASSERT_EQ(unpackInto(again.path(), *archive, piece), "");
    EXPECT_EQ(listed(again.path()), listed(from.path()));
    struct stat seen {};
    ASSERT_EQ(::stat((again / "a.txt").c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 0222, 0U) << "not read-only";
  }
}

TEST(Tar, the_same_folder_gives_the_same_bytes) {
  TempFolder one, other;
  for (const char* name : {"b", "a", "c"}) writeFile(one / name, name);
  for (const char* name : {"c", "b", "a"}) writeFile(other / name, name);
  files::last_write_time(other / "a", files::file_time_type::min() + std::chrono::hours(1));
  EXPECT_EQ(*packed(one.path()), *packed(other.path()));
}

TEST(Tar, others_can_read_it_and_it_reads_that_of_others) {
  TempFolder from, to, back;
  const std::string deep = "d/" + std::string(60, 'x') + "/" + std::string(60, 'y');
  files::create_directories(from / deep);
  writeFile(from / (deep + "/f"), "f");
  writeFile(from / "g", "g");
  files::create_hard_link(from / "g", from / "h");
  writeFile(to / "own.tar", *packed(from.path()));
  ASSERT_EQ(
      std::system(("tar -xf " + (to / "own.tar").string() + " -C " + back.path().string()).c_str()),
      0);
  EXPECT_EQ(listed(back.path()), listed(from.path()));
  for (const char* format : {"gnu", "posix", "ustar"}) {
    TempFolder again;
    const std::string theirs = (to / format).string();
    const std::string command = std::string("tar --format=") + format + " -cf " + theirs + " -C " +
                                from.path().string() + " .";
    ASSERT_EQ(std::system(command.c_str()), 0) << format;
    ASSERT_EQ(unpackInto(again.path(), readFile(theirs)), "") << format;
    EXPECT_EQ(listed(again.path()), listed(from.path())) << format;
  }
}

TEST(Tar, what_leads_out_of_the_folder_is_not_packed) {
  const auto refused = [](const std::function<void(const TempFolder&)>& make) {
    TempFolder folder;
    files::create_directories(folder / "d");
    make(folder);
    return !packed(folder.path());
  };
  EXPECT_TRUE(refused([](const TempFolder& f) { files::create_symlink("/etc", f / "d/l"); }));
  EXPECT_TRUE(refused([](const TempFolder& f) { files::create_symlink("../..", f / "d/l"); }));
  EXPECT_FALSE(refused([](const TempFolder& f) { files::create_symlink("..", f / "d/l"); }));
  EXPECT_TRUE(refused([](const TempFolder& f) { ::mkfifo((f / "d/p").c_str(), 0600); }));
  EXPECT_TRUE(refused([](const TempFolder& f) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", (f / "s").c_str());
    const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
    ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  }));
}

TEST(Tar, what_leads_out_of_the_folder_is_not_unpacked) {
  const std::vector<std::pair<const char*, std::string>> archives = {
      {"absolute", archiveOf({{fileNamed("/tmp/out"), "x"}})},
      {"above", archiveOf({{fileNamed("../out"), "x"}})},
      {"on the way", archiveOf({{fileNamed("in/../../out"), "x"}})},
      {"a link to the root", archiveOf({{linkNamed("l", "/"), ""}})},
      {"a link above", archiveOf({{linkNamed("l", "../out"), ""}})},
      {"through a link", archiveOf({{linkNamed("l", "in"), ""}, {fileNamed("l/out"), "x"}})},
      {"a file in the place of a link",
       archiveOf({{linkNamed("l", "in"), ""}, {fileNamed("l"), "x"}})},
      {"twice", archiveOf({{fileNamed("a"), "x"}, {fileNamed("a"), "y"}})},
      {"a device", blockOfType('3', "null", "") + std::string(1024, '\0')},
      {"a pipe", blockOfType('6', "pipe", "") + std::string(1024, '\0')},
      {"a hard link above", blockOfType('1', "h", "../out") + std::string(1024, '\0')},
      {"a hard link through a link", tarHeader(linkNamed("l", "in")) +
                                         blockOfType('1', "h", "l/secret") +
                                         std::string(1024, '\0')},
      {"a long name above", archiveOf({{fileNamed("../" + std::string(200, 'o')), "x"}})},
      {"no end", tarHeader(fileNamed("a"))},
      {"no archive", std::string(2048, 'z')},
  };
  for (const auto& [what, archive] : archives) {
    TempFolder around;
    files::create_directories(around / "here/in");
    writeFile(around / "here/in/secret", "s");
    writeFile(around / "out", "before");
    EXPECT_NE(unpackInto(around / "here", archive), "") << what;
    EXPECT_EQ(readFile(around / "out"), "before") << what;
    EXPECT_FALSE(files::exists(around / "here/in/out")) << what;
  }
}

// Cut and damaged archives: whatever comes of them stays in the folder. The seed is fixed.
TEST(Tar, a_damaged_archive_never_writes_outside_of_its_folder) {
  TempFolder from;
  files::create_directories(from / "d/e");
  writeFile(from / "d/e/f", std::string(700, 'f'));
  writeFile(from / (std::string(110, 'p') + "q"), "pax");
  files::create_symlink("../d", from / "d/l");
  const std::string whole = *packed(from.path());
  std::mt19937 random(42);
  const std::vector<std::string> words = {"../", "/", "..", "d/l/", "\0", "7777777", "path=../x\n"};
  for (int round = 0; round < 400; ++round) {
    std::string archive = whole;
    for (unsigned i = 0; i < 1 + random() % 4; ++i) {
      const std::size_t at = random() % archive.size();
      if (random() % 3 == 0) {
        archive.resize(std::max<std::size_t>(at, 1));
      } else if (random() % 2 == 0) {
        archive[at] = static_cast<char>(random());
      } else {
        const std::string& word = words[random() % words.size()];
        archive.replace(at, std::min(word.size(), archive.size() - at), word);
      }
    }
    // With right sums the damage gets further.
    for (std::size_t at = 0; at + kTarBlock <= archive.size(); at += kTarBlock) {
      if (archive.compare(at + 257, 5, "ustar") != 0) continue;
      unsigned sum = 0;
      for (std::size_t i = 0; i < kTarBlock; ++i) {
        sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(archive[at + i]);
      }
      std::array<char, 8> digits{};
      std::snprintf(digits.data(), digits.size(), "%06o", sum);
      archive.replace(at + 148, 6, digits.data(), 6);
    }
    TempFolder around;
    files::create_directories(around / "here");
    unpackInto(around / "here", archive, 1 + random() % 2000);
    EXPECT_EQ(std::distance(files::directory_iterator(around.path()), {}), 1) << "round " << round;
    for (const auto& entry : files::recursive_directory_iterator(around / "here")) {
      if (!entry.is_symlink()) continue;
      const auto relative =
          files::relative(entry.path().parent_path(), around / "here") / entry.path().filename();
      EXPECT_TRUE(linkStaysInside(relative.lexically_normal().string(),
                                  files::read_symlink(entry.path()).string()));
    }
  }
}

}  // namespace
}  // namespace muster::test
