#include <sqlite3.h>

#include <fstream>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

void runSql(const std::string& database, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(database.c_str(), &db), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message != nullptr ? message : "");
  sqlite3_free(message);
  sqlite3_close(db);
}

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

// Runs `muster` with these arguments to its end; code -1 when it does not end by itself.
Outcome muster(const std::vector<std::string>& arguments, const fs::path& folder) {
  Command command{{musterBinary()}, folder, {}, true};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  ChildProcess process(command);
  const int code = process.wait().value_or(-1);
  return {code, process.out(), process.err()};
}

// An SQLite database with one job in it, as a stopped service leaves it.
class Database : public testing::Test {
 protected:
  Database() {
    Service service({.store = "sqlite:muster.db"});
    PoolClient pool(service.url(), "p");
    job_ = pool.push(R"("data":"kept")");
    EXPECT_EQ(service.stop(), 0) << service.log();
    for (const auto& file : fs::directory_iterator(service.folder().path())) {
      if (file.path().filename().string().starts_with("muster.db")) {
        fs::copy(file.path(), folder_ / file.path().filename().string());
      }
    }
  }
  Outcome serve() {
    return muster({"serve", "--listen", "127.0.0.1:0", "--store", store()}, run_.path());
  }
  Outcome migrate() { return muster({"migrate", "--dry-run", "--store", store()}, run_.path()); }
  std::string file() const { return (folder_ / "muster.db").string(); }
  std::string store() const { return "sqlite:" + file(); }

  TempFolder folder_;
  TempFolder run_;
  Json::Value job_;
};

TEST(Stopping, leaves_nothing_behind_where_nothing_was_to_last) {
  const TempFolder temporary;
  Service service({.store = "memory:", .env = {"TMPDIR=" + temporary.path().string()}});
  PoolClient(service.url(), "p").push();
  EXPECT_EQ(service.stop(), 0) << service.log();
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

TEST(Stopping, is_clean_and_loses_nothing) {
  Service service;
  Json::Value pending;
  Json::Value claimed;
  {
    PoolClient pool(service.url(), "p");
    claimed = pool.push();
    claimed = pool.claimOne();
    pending = pool.push();
  }
  service.restart();
  PoolClient pool(service.url(), "p");
  EXPECT_EQ(pool.job(pending)["status"], "pending");
  EXPECT_EQ(pool.job(claimed)["status"], "claimed");
  EXPECT_EQ(pool.report("complete", claimed).status, 200) << "the lease holds over a restart";
}

TEST(Stopping, a_parked_claim_is_answered_promptly) {
  Service service;
  PendingReply claim(service.url(),
                     {"POST", "/v1/pools/p/claim", R"({"worker_id":"w","wait_seconds":30})"});
  EXPECT_FALSE(claim.finished(200ms));
  service.interrupt();
  EXPECT_TRUE(claim.finished(20s)) << "the claim still waits";
  EXPECT_TRUE(claim.reply().status == 200 || claim.reply().status == 503) << claim.reply();
  EXPECT_EQ(service.awaitExit(), 0) << service.log();
}

TEST(Stopping, an_open_stream_does_not_hold_it_up) {
  Service service;
  PendingReply stream(service.url(), {"GET", "/v1/events/stream"});
  ASSERT_TRUE(stream.until(kPatience, [](const Reply& reply) { return !reply.headers.empty(); }));
  service.interrupt();
  EXPECT_TRUE(stream.finished(kPatience));
  EXPECT_EQ(service.awaitExit(), 0) << service.log();
}

TEST(Stopping, finishes_what_is_in_flight) {
  Service service;
  std::string items = R"({"data":0})";
  for (int i = 0; i < 999; ++i) items += R"(,{"data":0})";
  PendingReply push(service.url(),
                    {"POST", "/v1/pools/p/jobs/batch", R"({"items":[)" + items + "]}"});
  push.until(20ms, [](const Reply&) { return false; });
  service.interrupt();
  ASSERT_TRUE(push.finished(kPatience));
  EXPECT_EQ(service.awaitExit(), 0) << service.log();
  service.start();
  const int kept = PoolClient(service.url(), "p").stats()["queue_depth"].asInt();
  EXPECT_EQ(kept, push.reply().status == 201 ? 1000 : kept) << push.reply();
  EXPECT_TRUE(kept == 0 || kept == 1000) << kept;
}

TEST(Starting, the_database_is_made_with_its_folder) {
  const TempFolder folder;
  Service service({.store = "sqlite:" + (folder / "a/b/jobs.db").string()});
  EXPECT_EQ(Http(service.url()).get("/readyz").status, 200);
  EXPECT_TRUE(fs::exists(folder / "a/b/jobs.db"));
}

TEST(Starting, a_second_service_on_the_same_file_is_refused) {
  Service first({.store = "sqlite:muster.db"});
  const TempFolder folder;
  const Outcome second = muster(
      {"serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + first.database()}, folder.path());
  EXPECT_EQ(second.code, 2) << second.err;
  EXPECT_NE(second.err.find("muster.db"), std::string::npos) << second.err;
  EXPECT_TRUE(second.out.empty()) << second.out;
  EXPECT_EQ(Http(first.url()).get("/readyz").status, 200);
}

TEST(Starting, an_address_in_use_is_said_and_refused) {
  Service first;
  const TempFolder folder;
  const Outcome second = muster(
      {"serve", "--listen", "127.0.0.1:" + std::to_string(first.port()), "--store", "memory:"},
      folder.path());
  EXPECT_GT(second.code, 0) << second.err;
  EXPECT_NE(second.err.find(std::to_string(first.port())), std::string::npos) << second.err;
  EXPECT_TRUE(second.out.empty()) << second.out;
}

TEST(Starting, other_addresses_need_tokens) {
  const TempFolder folder;
  const Outcome outcome =
      muster({"serve", "--listen", "0.0.0.0:0", "--store", "memory:"}, folder.path());
  EXPECT_EQ(outcome.code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("token"), std::string::npos) << outcome.err;
}

TEST(Starting, all_faults_of_the_settings_are_reported_with_their_lines) {
  const TempFolder folder;
  writeFile(folder / "muster.yml", "listen: nowhere\nlease_secnds: 5\nretention_hours: soon\n");
  const Outcome outcome = muster({"serve", "--store", "memory:"}, folder.path());
  EXPECT_EQ(outcome.code, 2);
  for (const char* place : {"muster.yml:1", "muster.yml:2", "muster.yml:3", "lease_seconds"}) {
    EXPECT_NE(outcome.err.find(place), std::string::npos) << place << " in " << outcome.err;
  }
}

TEST(Starting, memory_forgets) {
  Service service({.store = "memory:"});
  PoolClient(service.url(), "p").push();
  service.restart();
  EXPECT_EQ(PoolClient(service.url(), "p").stats()["queue_depth"], 0);
}

TEST_F(Database, of_a_newer_version_is_refused_and_untouched) {
  runSql(file(), "INSERT INTO schema_migrations VALUES ('9999_tomorrow', 'x', 0)");
  const std::string before = readFile(file());
  const Outcome outcome = serve();
  EXPECT_GT(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("newer"), std::string::npos) << outcome.err;
  EXPECT_EQ(readFile(file()), before);
  EXPECT_GT(migrate().code, 0);
}

TEST_F(Database, with_a_changed_migration_is_refused) {
  runSql(file(), "UPDATE schema_migrations SET checksum = 'other'");
  const Outcome outcome = serve();
  EXPECT_GT(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("migration"), std::string::npos) << outcome.err;
}

TEST_F(Database, that_is_no_database_is_refused_and_untouched) {
  writeFile(file(), std::string(100'000, 'x'));
  for (const char* rest : {"muster.db-wal", "muster.db-shm"}) fs::remove(folder_ / rest);
  const Outcome outcome = serve();
  EXPECT_GT(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(file()), std::string::npos) << outcome.err;
  EXPECT_EQ(readFile(file()), std::string(100'000, 'x'));
}

TEST_F(Database, that_is_damaged_is_never_served_as_if_it_were_whole) {
  std::string bytes = readFile(file());
  ASSERT_GT(bytes.size(), 8192U);
  for (std::size_t i = 4096; i < bytes.size(); i += 3) bytes[i] = static_cast<char>(i * 7);
  writeFile(file(), bytes);
  const Outcome outcome = serve();
  EXPECT_GT(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(file()), std::string::npos) << outcome.err;
}

TEST_F(Database, that_is_read_only_is_refused_with_the_reason) {
  fs::create_directory(folder_ / "blobs");
  fs::permissions(file(), fs::perms::owner_read);
  fs::permissions(folder_.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const Outcome outcome = serve();
  EXPECT_GT(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(file()), std::string::npos) << outcome.err;
  EXPECT_TRUE(outcome.out.empty()) << outcome.out;
}

TEST_F(Database, that_is_a_read_only_file_in_a_writable_folder_is_refused_too) {
  fs::permissions(file(), fs::perms::owner_read);
  const Outcome outcome = serve();
  EXPECT_GT(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find(file()), std::string::npos) << outcome.err;
}

TEST_F(Database, a_dry_run_of_migrate_tells_and_changes_nothing) {
  const std::string before = readFile(file());
  const Outcome done = migrate();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(readFile(file()), before);
  const TempFolder empty;
  const std::string missing = (empty / "new.db").string();
  const Outcome planned =
      muster({"migrate", "--dry-run", "--store", "sqlite:" + missing}, run_.path());
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(planned.out.find("0001"), std::string::npos) << planned.out << planned.err;
  EXPECT_FALSE(fs::exists(missing));
  const Outcome made = muster({"migrate", "--store", "sqlite:" + missing}, run_.path());
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(fs::exists(missing));
}

}  // namespace
}  // namespace muster::test
