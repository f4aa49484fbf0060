// What is done about the folder of a host, with a service that is a function.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "app/worker/folder_keeping.h"
#include "app/worker/folder_records.h"
#include "app/worker/folder_tending.h"
#include "app/worker/host_folder.h"
#include "tests/support/temp_folder.h"

namespace muster::test {
namespace {

namespace files = std::filesystem;

const Time kNow = fromMillis(1'800'000'000'000);

TEST(FolderEntries, are_files_leftovers_or_records_without_a_file) {
  const FolderListing listing = judgeEntries({{"u~1", true},
                                              {"u~1.json", false},
                                              {"u~2", false},
                                              {"u~2.json", false},
                                              {"u~3.json", false},
                                              {"u~4", true},
                                              {"u~5", false},
                                              {"gone.1", true},
                                              {"new.1", false},
                                              {"record.1", false},
                                              {"notes.txt", false}});
  EXPECT_EQ(listing.held, (std::vector<std::string>{"u~1", "u~4"}));
  EXPECT_EQ(listing.unfinished, (std::vector<std::string>{"u~2", "u~3"}));
  EXPECT_EQ(listing.leftovers, (std::vector<std::string>{"gone.1", "new.1", "record.1"}));
}

TEST(FolderPages, have_at_most_a_thousand_files) {
  struct Case {
    std::size_t files;
    std::vector<std::size_t> pages;
  };
  for (const auto& [count, pages] : {Case{0, {0}}, Case{1, {1}}, Case{1000, {1000}},
                                     Case{1001, {1000, 1}}, Case{2000, {1000, 1000}}}) {
    std::vector<std::size_t> sizes;
    for (const auto& page : pagesOf(std::vector<FolderPage::File>(count))) {
      sizes.push_back(page.size());
    }
    EXPECT_EQ(sizes, pages) << count;
  }
}

TEST(FolderAnswers, name_what_is_deleted) {
  const Time young = kNow - Seconds(3599), old = kNow - Seconds(3600);
  struct Case {
    const char* what;
    FolderAnswer answer;
    HeldFile file;
    bool goes;
  };
  const std::vector<Case> cases = {
      {"named by nobody", {}, {old, true}, false},
      {"to be evicted", {{"u~1"}, {}}, {young, true}, true},
      {"to be evicted for whoever brought it", {{"u~1"}, {}}, {young, false}, true},
      {"without a row, and young", {{}, {"u~1"}}, {young, true}, false},
      {"without a row, and old", {{}, {"u~1"}}, {old, true}, true},
      {"of another service", {{}, {"u~1"}}, {old, false}, false},
      {"another one is meant", {{"u~2", "../id"}, {"u~3"}}, {old, true}, false},
  };
  for (const auto& [what, answer, file, goes] : cases) {
    const auto doomed = filesToDelete(answer, {{"u~1", file}}, kNow);
    EXPECT_EQ(doomed, goes ? std::vector<std::string>{"u~1"} : std::vector<std::string>()) << what;
  }
}

TEST(CacheLimit, brings_a_full_folder_down_to_the_low_watermark) {
  struct Case {
    std::uint64_t in_use, of_cache;
    std::optional<std::uint64_t> most, limit;
  };
  for (const auto& [in_use, of_cache, most, limit] :
       {Case{90, 50, 100, {}}, Case{91, 50, 100, 39}, Case{200, 50, 100, 0}, Case{200, 50, {}, {}},
        Case{200, 0, 100, 0}}) {
    EXPECT_EQ(cacheLimit(in_use, of_cache, most, {90, 80}), limit) << in_use << " " << of_cache;
  }
}

TEST(FileToCome, is_the_same_one_and_not_late) {
  EXPECT_TRUE(isStillToCome("m", "m", kNow - Seconds(3599), kNow));
  EXPECT_FALSE(isStillToCome("m", "m", kNow - Seconds(3600), kNow));
  EXPECT_FALSE(isStillToCome("m", "n", kNow, kNow));
  EXPECT_FALSE(isStillToCome("m", "", kNow, kNow));
  EXPECT_FALSE(isStillToCome("", "", kNow, kNow));
}

TEST(FolderRecords, are_read_as_they_were_written) {
  const FolderRecord record{.uid = "u~1",
                            .id = "models/base",
                            .type = "file",
                            .scope = "s",
                            .tenant = "t",
                            .name = "a \"b\".bin",
                            .size = 12,
                            .sha256 = std::string(64, 'a'),
                            .service = "http://h",
                            .from = "/x/y",
                            .mark = "1:2",
                            .created = "2026-01-01T00:00:00.000Z"};
  const auto read = readRecord(recordText(record));
  ASSERT_TRUE(read);
  EXPECT_EQ(recordText(*read), recordText(record));
  for (const char* text : {"", "{}", R"({"uid":"u~1"})", R"({"uid":"u~1","name":"../x"})",
                           R"({"uid":"../u~1","name":"x"})", R"({"uid":"u~1","name":".."})"}) {
    EXPECT_FALSE(readRecord(text)) << text;
  }
}

class FolderTending : public testing::Test {
 protected:
  FolderTending() { EXPECT_TRUE(HostFolder(path_).prepare()); }

  // Answers that these uids are to go, and notes what it was told.
  SyncFolder service(std::set<std::string> evict) {
    return [this, evict = std::move(evict)](
               const FolderPage& page) -> tl::expected<FolderAnswer, Refusal> {
      ++syncs_;
      FolderAnswer answer;
      named_.clear();
      for (const auto& file : page.files) {
        named_.push_back(file.uid);
        if (evict.contains(file.uid)) answer.evict.push_back(file.uid);
      }
      return answer;
    };
  }
  FolderTended tend(std::set<std::string> evict = {}) {
    const auto tended = tendFolder(path_, {}, service(std::move(evict)), clockTime());
    EXPECT_TRUE(tended) << tended.error().detail;
    return tended.value_or(FolderTended());
  }
  // The machine's: files have its times.
  static Time clockTime() {
    return std::chrono::floor<Millis>(
        std::chrono::file_clock::to_sys(files::file_time_type::clock::now()));
  }
  tl::expected<KeptRow, Refusal> keep(const std::string& name, const std::string& uid) {
    const auto file = describeKept((folder_ / name).string(), path_);
    if (!file) return tl::unexpected(Refusal{422, "bad", file.error(), {}});
    return keepFile(
        path_, *file, [&uid](const KeptFile&) { return KeptRow{.uid = uid, .id = uid}; },
        clockTime());
  }
  FolderRecord recordOf(const std::string& name, const std::string& uid) const {
    return {.uid = uid,
            .id = uid,
            .name = name,
            .from = (folder_ / name).string(),
            .mark = fileMark((folder_ / name).string())};
  }
  files::path resources(const std::string& below) const {
    return files::path(path_) / "resources" / below;
  }

  TempFolder folder_;
  const std::string path_ = (folder_ / "host").string();
  int syncs_ = 0;
  std::vector<std::string> named_;  // on the last page
};

TEST_F(FolderTending, names_what_was_kept_until_it_is_evicted) {
  writeFile(folder_ / "a", "one");
  files::create_directories(folder_ / "tree/deep");
  writeFile(folder_ / "tree/deep/b", "two");
  ASSERT_TRUE(keep("a", "u~1"));
  ASSERT_TRUE(keep("tree/", "u~2"));
  EXPECT_FALSE(files::exists(folder_ / "a"));
  EXPECT_FALSE(files::exists(folder_ / "tree"));
  EXPECT_EQ(readFile(keptFile(path_, "u~1")), "one");
  EXPECT_EQ(readFile(keptFile(path_, "u~2") + "/deep/b"), "two");
  EXPECT_EQ(tend().held, 2U);
  EXPECT_EQ(named_, (std::vector<std::string>{"u~1", "u~2"}));
  EXPECT_EQ(syncs_, 1);
  EXPECT_EQ(tend({"u~1"}).deleted, 1U);
  EXPECT_EQ(named_, std::vector<std::string>{"u~2"}) << "the service is told that it is gone";
  EXPECT_EQ(syncs_, 3);
  EXPECT_FALSE(files::exists(resources("u~1")));
  EXPECT_FALSE(files::exists(resources("u~1.json")));
}

TEST_F(FolderTending, finishes_what_a_killed_keeper_began) {
  writeFile(folder_ / "a", "one");
  ASSERT_TRUE(writeRecord(path_, recordOf("a", "u~1")));
  files::create_directory(resources("u~1"));  // it got this far
  EXPECT_EQ(tend().held, 1U);
  EXPECT_FALSE(files::exists(folder_ / "a"));
  EXPECT_EQ(readFile(keptFile(path_, "u~1")), "one");
}

TEST_F(FolderTending, leaves_a_file_that_is_another_by_now) {
  writeFile(folder_ / "a", "one");
  ASSERT_TRUE(writeRecord(path_, recordOf("a", "u~1")));
  writeFile(folder_ / "a", "another");
  EXPECT_EQ(tend().held, 0U);
  EXPECT_EQ(readFile(folder_ / "a"), "another");
  EXPECT_FALSE(files::exists(resources("u~1.json")));
}

TEST_F(FolderTending, finishes_what_was_being_deleted) {
  writeFile(folder_ / "a", "one");
  ASSERT_TRUE(keep("a", "u~1"));
  files::rename(resources("u~1"), resources("gone.1"));  // and then it was killed
  files::create_directory(resources("new.1"));
  EXPECT_EQ(tend().held, 0U);
  EXPECT_TRUE(files::is_empty(resources("")));
}

TEST_F(FolderTending, leaves_a_folder_that_somebody_else_tends) {
  const Descriptor lock = lockForTending(path_, false);
  ASSERT_TRUE(lock.isOpen());
  EXPECT_TRUE(tend().was_left);
  EXPECT_EQ(syncs_, 0);
}

TEST_F(FolderTending, is_due_an_interval_after_the_last_time) {
  EXPECT_FALSE(isTendingDue((folder_ / "none").string(), Seconds(60), clockTime()));
  EXPECT_TRUE(isTendingDue(path_, Seconds(60), clockTime()));
  tend();
  EXPECT_FALSE(isTendingDue(path_, Seconds(60), clockTime()));
  EXPECT_TRUE(isTendingDue(path_, Seconds(60), clockTime() + Seconds(61)));
  EXPECT_FALSE(files::exists(folder_ / "none"));
}

TEST_F(FolderTending, keeps_nothing_that_the_service_refuses) {
  writeFile(folder_ / "a", "one");
  const auto file = describeKept((folder_ / "a").string(), path_);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size, 3U);
  EXPECT_EQ(file->path(), "resources/{uid}/a");
  const auto kept = keepFile(
      path_, *file,
      [](const KeptFile&) -> tl::expected<KeptRow, Refusal> {
        return tl::unexpected(Refusal{409, "resource_exists", "it is there", {}});
      },
      clockTime());
  ASSERT_FALSE(kept);
  EXPECT_EQ(readFile(folder_ / "a"), "one");
  EXPECT_TRUE(files::is_empty(resources("")));
}

TEST_F(FolderTending, keeps_files_and_folders_only) {
  files::create_symlink("nowhere", folder_ / "link");
  EXPECT_FALSE(describeKept((folder_ / "link").string(), path_));
  EXPECT_FALSE(describeKept((folder_ / "missing").string(), path_));
  EXPECT_FALSE(describeKept(path_, path_));
  EXPECT_FALSE(describeKept(folder_.path().string(), path_));
}

}  // namespace
}  // namespace muster::test
