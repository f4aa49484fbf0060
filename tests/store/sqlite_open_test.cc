// Opening an SQLite store: what is made, what is migrated, what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "models/clock.h"
#include "models/store/sqlite/sqlite_file.h"
#include "models/store/storage.h"
#include "models/store_url.h"
#include "tests/store/backend.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeTo(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class SqliteOpenTest : public testing::Test {
 protected:
  tl::expected<std::unique_ptr<Storage>, std::string> open(const std::string& path) {
    StorageOptions options;
    options.url = "sqlite:" + path;
    return openStorage(options, clock);
  }
  std::string refusal(const std::string& path) {
    const auto opened = open(path);
    EXPECT_FALSE(opened) << path << " was opened";
    return opened ? "" : opened.error();
  }
  tl::expected<OpenedSqlite, std::string> plan(const std::string& path, bool dry_run) {
    return openSqlite(path, Durability::kFull, clock.now(), dry_run);
  }
  // Runs SQL on the file as nobody else would.
  void tamper(const std::string& path, const std::string& sql) {
    SqliteConnection(path, SqliteAccess::kReadWrite).script(sql);
  }
  static Names allMigrations() {
    Names names;
    for (const EmbeddedFile& each : kSqliteMigrations) {
      names.emplace_back(each.name.substr(0, each.name.rfind('.')));
    }
    return names;
  }

  Folder folder;
  FakeClock clock;
  const std::string file = folder.file("muster.db");
};

TEST_F(SqliteOpenTest, makesTheFileAndItsFolders) {
  const std::string deep = folder.file("a/b/c.db");
  ASSERT_TRUE(open(deep));
  EXPECT_TRUE(fs::exists(deep));
}

TEST_F(SqliteOpenTest, takesAnEmptyFileForANewStore) {
  writeTo(file, "");
  EXPECT_TRUE(open(file));
}

TEST_F(SqliteOpenTest, keepsAWriteAheadLogAndTheDurabilityThatWasAskedFor) {
  const auto pragma = [](SqlConnection& db, Sql sql) {
    auto rows = db.query(sql);
    rows.next();
    return rows->string(0);
  };
  constexpr Sql kSynchronous{"PRAGMA synchronous"}, kJournal{"PRAGMA journal_mode"};
  for (const auto& [durability, level] :
       {std::pair{Durability::kFull, "2"}, {Durability::kNormal, "1"}}) {
    auto opened = openSqlite(file, durability, clock.now(), false);
    ASSERT_TRUE(opened);
    EXPECT_EQ(pragma(*opened->connection, kSynchronous), level);
    EXPECT_EQ(pragma(*opened->connection, kJournal), "wal");
  }
}

TEST_F(SqliteOpenTest, appliesEachMigrationOnce) {
  const auto first = plan(file, false);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->plan.pending, allMigrations());
  EXPECT_TRUE(first->plan.applied.empty());
  const auto second = plan(file, false);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->plan.applied, allMigrations());
  EXPECT_TRUE(second->plan.pending.empty());
}

TEST_F(SqliteOpenTest, aDryRunChangesNothing) {
  const auto missing = plan(file, true);
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->plan.pending, allMigrations());
  EXPECT_FALSE(fs::exists(file));

  tamper(file, "CREATE TABLE other (a)");
  const std::string before = contentOf(file);
  const auto old = plan(file, true);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->plan.pending, allMigrations());
  EXPECT_EQ(contentOf(file), before);

  fs::remove(file);
  ASSERT_TRUE(plan(file, false));
  const std::string current = contentOf(file);
  const auto again = plan(file, true);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->plan.pending.empty());
  EXPECT_EQ(contentOf(file), current);
}

TEST_F(SqliteOpenTest, aMigrationThatFailsIsUndoneWhole) {
  const std::vector<EmbeddedFile> files = {
      {"0001_good.sql", "CREATE TABLE good (a);"},
      {"0002_bad.sql", "CREATE TABLE half (a); INSERT INTO nowhere VALUES (1);"}};
  SqliteConnection db(file, SqliteAccess::kReadWrite);
  EXPECT_THROW(applyMigrations(db, files, *planMigrations(db, files), clock.now()), StoreError);
  const auto after = planMigrations(db, files);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->applied, Names{"0001_good"});
  EXPECT_EQ(after->pending, Names{"0002_bad"});
  constexpr Sql kHalf{"SELECT 1 FROM sqlite_master WHERE name = 'half'"};
  EXPECT_FALSE(db.query(kHalf).next());

  const std::vector<EmbeddedFile> mended = {files[0], {"0002_bad.sql", "CREATE TABLE half (a);"}};
  applyMigrations(db, mended, *planMigrations(db, mended), clock.now());
  EXPECT_TRUE(planMigrations(db, mended)->pending.empty());
}

TEST_F(SqliteOpenTest, refusesADatabaseWhoseMigrationWasChanged) {
  ASSERT_TRUE(open(file));
  tamper(file, "UPDATE schema_migrations SET checksum = 'other'");
  const std::string why = refusal(file);
  EXPECT_NE(why.find(allMigrations().front()), std::string::npos) << why;
  EXPECT_FALSE(plan(file, true)) << "a dry run says so too";
}

TEST_F(SqliteOpenTest, refusesADatabaseOfANewerVersion) {
  ASSERT_TRUE(open(file));
  tamper(file, "INSERT INTO schema_migrations VALUES ('9999_future', 'x', 0)");
  const std::string why = refusal(file);
  EXPECT_NE(why.find("9999_future"), std::string::npos) << why;
  EXPECT_NE(why.find("newer"), std::string::npos) << why;
}

TEST_F(SqliteOpenTest, refusesAFileThatIsNoDatabaseAndLeavesItAlone) {
  const std::string text(8192, 'x');
  writeTo(file, text);
  const std::string why = refusal(file);
  EXPECT_NE(why.find(file), std::string::npos) << why;
  EXPECT_NE(why.find("damaged or not an SQLite database"), std::string::npos) << why;
  EXPECT_EQ(contentOf(file), text);
}

TEST_F(SqliteOpenTest, refusesADamagedDatabaseAndLeavesItAlone) {
  ASSERT_TRUE(open(file));
  std::string content = contentOf(file);
  for (std::size_t i = 100; i < 4096; ++i) content[i] = '\x5a';
  writeTo(file, content);
  const std::string why = refusal(file);
  EXPECT_NE(why.find("damaged"), std::string::npos) << why;
  EXPECT_EQ(contentOf(file), content);
}

TEST_F(SqliteOpenTest, refusesAFolder) {
  fs::create_directory(file);
  EXPECT_NE(refusal(file).find(file), std::string::npos);
  EXPECT_TRUE(fs::is_directory(file));
}

TEST_F(SqliteOpenTest, refusesAPathThatCannotBeMade) {
  writeTo(folder.file("plain"), "x");
  const std::string why = refusal(folder.file("plain/muster.db"));
  EXPECT_NE(why.find("cannot make the folder"), std::string::npos) << why;
}

TEST_F(SqliteOpenTest, refusesASecondServiceOnTheSameFile) {
  auto first = open(file);
  ASSERT_TRUE(first);
  const std::string why = refusal(file);
  EXPECT_NE(why.find("another Muster serves"), std::string::npos) << why;
  EXPECT_TRUE((*first)->writeAndWait([](Store& s) { s.pools().put(PoolId("p"), {}).value(); }));
  first->reset();
  EXPECT_TRUE(open(file));
}

TEST_F(SqliteOpenTest, aLockFileThatWasLeftBehindIsNoLock) {
  writeTo(file + "-lock", "");
  EXPECT_TRUE(open(file));
}

TEST_F(SqliteOpenTest, storesInMemoryAreApart) {
  StorageOptions options;
  options.url = "memory:";
  auto one = openStorage(options, clock), other = openStorage(options, clock);
  ASSERT_TRUE(one && other);
  EXPECT_TRUE((*one)->writeAndWait([](Store& s) { s.pools().put(PoolId("p"), {}).value(); }));
  EXPECT_TRUE(
      (*other)->readAndWait([](Store& s) { EXPECT_EQ(s.pools().find(PoolId("p")), nullptr); }));
}

TEST_F(SqliteOpenTest, knowsWhichUrlsItServes) {
  EXPECT_EQ(sqlitePath("sqlite:data/muster.db"), "data/muster.db");
  EXPECT_EQ(sqlitePath("sqlite:/var/x.db"), "/var/x.db");
  EXPECT_EQ(sqlitePath("memory:"), ":memory:");
  for (const char* url : {"", "sqlite:", "redis://x", "muster.db", "Memory:"}) {
    EXPECT_FALSE(sqlitePath(url)) << url;
    StorageOptions options;
    options.url = url;
    EXPECT_FALSE(openStorage(options, clock)) << url;
  }
}

}  // namespace
}  // namespace muster::test
