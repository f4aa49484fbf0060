#include <gtest/gtest.h>

#include <set>

#include "models/store/sqlite/sqlite_connection.h"
#include "tests/support/http.h"
#include "tests/support/resource_client.h"
#include "tests/support/service.h"

namespace muster::test {
namespace {

namespace fs = std::filesystem;

// The real `muster doctor`, in a folder of its own.
class Doctor : public testing::Test {
 protected:
  int run(std::vector<std::string> args, const std::string& listen = "127.0.0.1:1") {
    args.insert(args.begin(), {musterBinary(), "doctor"});
    ChildProcess muster({args, folder_.path(), {"MUSTER_LISTEN=" + listen}, true});
    const int code = muster.wait().value_or(-1);
    out_ = muster.out();
    return code;
  }
  void migrate(const std::string& store) {
    ChildProcess muster({{musterBinary(), "migrate", "--store", store}, folder_.path()});
    ASSERT_EQ(muster.wait(), 0) << muster.err();
  }
  // The line of a check, and the hint below it.
  std::string line(const std::string& mark, const std::string& name) const {
    const auto at = out_.find(mark + "  " + name);
    if (at == std::string::npos) return "";
    const auto end = out_.find('\n', at);
    return out_.substr(
        at, out_.compare(end, 3, "\n  ") == 0 ? out_.find('\n', end + 1) - at : end - at);
  }
  bool says(const std::string& mark, const std::string& name, const std::string& text) const {
    return line(mark, name).find(text) != std::string::npos;
  }
  static std::set<std::string> filesIn(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  }

  const TempFolder folder_;
  std::string out_;
};

TEST_F(Doctor, findsNothingWrongBesideAServiceAndAfterIt) {
  Service service({.store = "sqlite:muster.db"});
  const std::string store = "sqlite:" + service.database();
  EXPECT_EQ(run({"--store", store}, "127.0.0.1:" + std::to_string(service.port())), 0) << out_;
  EXPECT_TRUE(says("ok  ", "store", "a service is at work with it")) << out_;
  EXPECT_TRUE(says("ok  ", "migrations", "are applied")) << out_;
  EXPECT_TRUE(says("ok  ", "service", "runs at")) << out_;
  EXPECT_NE(out_.find("flush"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("FAIL"), std::string::npos) << out_;
  EXPECT_EQ(service.stop(), 0);

  const auto before = filesIn(service.folder().path());
  EXPECT_EQ(run({"--store", store, "-o", "json"}), 0) << out_;
  EXPECT_TRUE(out_.starts_with(R"({"checks":[{"name":"settings","verdict":"ok")")) << out_;
  EXPECT_NE(out_.find("does not run"), std::string::npos) << out_;
  EXPECT_EQ(filesIn(service.folder().path()), before) << "nothing is left behind";
}

TEST_F(Doctor, findsTemplatesThatCannotRun) {
  fs::create_directory(folder_ / "there");
  writeFile(folder_ / "there/run.sh", "#!/bin/sh\n");
  writeFile(folder_ / "muster.yml",
            "store: \"memory:\"\ntemplates:\n"
            "  gone: {run: [no_such_program]}\n"
            "  nowhere: {run: [sh], cwd: no_such_folder}\n"
            "  mode: {worker: [./run.sh], cwd: there}\n");
  EXPECT_EQ(run({}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "template gone", "not found in PATH")) << out_;
  EXPECT_TRUE(says("FAIL", "template nowhere", "cannot be entered")) << out_;
  EXPECT_TRUE(says("FAIL", "template mode", "chmod +x")) << out_;
  EXPECT_FALSE(line("ok  ", "template echo").empty()) << out_;
  fs::permissions(folder_ / "there/run.sh", fs::perms::owner_all);
  run({});
  EXPECT_TRUE(says("ok  ", "template mode", "runs ./run.sh")) << out_;
}

TEST_F(Doctor, showsEveryFaultOfTheSettings) {
  writeFile(folder_ / "muster.yml", "no_such_key: 1\nmax_retries: many\n");
  EXPECT_EQ(run({}), 2);
  EXPECT_TRUE(says("FAIL", "settings", "no_such_key")) << out_;
  EXPECT_NE(out_.find("max_retries is \"many\""), std::string::npos) << out_;
  EXPECT_EQ(run({"--no-such-option"}), 2);
}

TEST_F(Doctor, saysWhereTheStoreCannotBe) {
  EXPECT_EQ(run({"--store", "sqlite:deep/down/muster.db"}), 0) << out_;
  EXPECT_TRUE(says("warn", "store", "deep/down does not exist")) << out_;
  EXPECT_FALSE(fs::exists(folder_ / "deep"));

  fs::create_directory(folder_ / "locked");
  fs::permissions(folder_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(run({"--store", "sqlite:locked/muster.db"}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "store", "cannot be written")) << out_;
  EXPECT_EQ(run({"--store", "sqlite:locked/down/muster.db"}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "store", "cannot be made in")) << out_;

  writeFile(folder_ / "text.db", std::string(8192, 'x'));
  EXPECT_EQ(run({"--store", "sqlite:text.db"}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "store", "cannot be read")) << out_;
}

TEST_F(Doctor, warns_of_a_database_that_others_can_open) {
  fs::create_directory(folder_ / "data");
  migrate("sqlite:data/muster.db");
  fs::permissions(folder_ / "data", fs::perms::owner_all | fs::perms::others_exec);
  EXPECT_EQ(run({"--store", "sqlite:data/muster.db"}), 0) << out_;
  EXPECT_EQ(line("warn", "files"), "") << out_;
  fs::permissions(folder_ / "data/muster.db", fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(run({"--store", "sqlite:data/muster.db"}), 0) << out_;
  EXPECT_TRUE(says("warn", "files", "other users of this machine can open")) << out_;
  EXPECT_TRUE(says("warn", "files", "chmod go= ")) << out_;
  fs::create_symlink("muster.db", folder_ / "data/link.db");
  EXPECT_EQ(run({"--store", "sqlite:data/link.db"}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "store", "is a link")) << out_;
}

TEST_F(Doctor, namesMigrationsOfAnOlderAndANewerFile) {
  const std::string file = (folder_ / "muster.db").string();
  migrate("sqlite:" + file);
  const auto tamper = [&](const std::string& sql) {
    SqliteConnection(file, SqliteAccess::kReadWrite).script(sql);
  };
  tamper("DELETE FROM schema_migrations WHERE name NOT LIKE '0001%'");
  EXPECT_EQ(run({"--store", "sqlite:" + file}), 0) << out_;
  EXPECT_TRUE(says("warn", "migrations", "pending: 0002_")) << out_;
  EXPECT_TRUE(says("warn", "migrations", "muster migrate")) << out_;
  tamper("INSERT INTO schema_migrations VALUES ('9999_later', 'x', 1)");
  EXPECT_EQ(run({"--store", "sqlite:" + file}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "migrations", "newer version of Muster")) << out_;
}

TEST_F(Doctor, says_what_flows_have_left_to_settle) {
  const std::string file = (folder_ / "muster.db").string();
  migrate("sqlite:" + file);
  EXPECT_EQ(run({"--store", "sqlite:" + file}), 0) << out_;
  EXPECT_TRUE(says("ok  ", "flows", "nothing is left to settle")) << out_;
  SqliteConnection(file, SqliteAccess::kReadWrite)
      .script(
          "INSERT INTO flow_jobs (seq, flow_seq, parent_seq, depth, name, body_hash, may_fail, "
          "delay_ms, remaining, children_open, children_failed, children_cancelled, ended_as, "
          "todo, told_to) VALUES (7, 1, 0, 1, 'a', '', 0, 0, 0, 0, 0, 0, 0, 1, 0)");
  EXPECT_EQ(run({"--store", "sqlite:" + file}), 0) << out_;
  EXPECT_TRUE(says("warn", "flows", "1 left to settle")) << out_;
  EXPECT_TRUE(says("warn", "flows", "start the service")) << out_;
}

// Of a service with a folder of blobs at `folder`, with two resources and an upload in it. Gives
// the file of the resource `a`.
fs::path storeResources(Service& service, const fs::path& folder) {
  Http http(service.url());
  ResourceClient resources(http);
  const std::string sum = resources.createStored("a", "some bytes")["sha256"].asString();
  resources.createStored("b", "other bytes");
  resources.create(R"("resource_id":"c","type":"file","size_bytes":6)");
  EXPECT_EQ(resources.patch("c", 0, "abc").status, 200);
  return folder / sum.substr(0, 2) / sum;
}

TEST_F(Doctor, finds_resources_without_their_file) {
  Service service({.store = "sqlite:muster.db"});
  const std::string store = "sqlite:" + service.database();
  const fs::path blobs = service.folder() / "blobs";
  const fs::path file = storeResources(service, blobs);
  EXPECT_EQ(run({"--store", store}), 0) << out_;
  EXPECT_TRUE(says("ok  ", "resources", "2 resources stored here, each with its file")) << out_;
  EXPECT_TRUE(says("ok  ", "uploads", "1 open")) << out_;
  EXPECT_TRUE(says("ok  ", "room for blobs", "of 20.0 GiB are in use")) << out_;
  EXPECT_FALSE(line("ok  ", "disk of blobs").empty()) << out_;

  writeFile(file, "some");
  EXPECT_EQ(run({"--store", store}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "resources", "1 with one of another length, like 'a'")) << out_;
  fs::remove(file);
  EXPECT_EQ(run({"--store", store}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "resources", "1 without a file")) << out_;
  EXPECT_TRUE(says("FAIL", "resources", "muster resources delete")) << out_;
  EXPECT_EQ(service.stop(), 0);
}

TEST_F(Doctor, finds_what_is_wrong_with_the_folder_of_blobs) {
  Service service({.store = "sqlite:muster.db"});
  const std::string store = "sqlite:" + service.database();
  const fs::path blobs = service.folder() / "blobs";
  storeResources(service, blobs);
  EXPECT_EQ(service.stop(), 0);
  EXPECT_EQ(run({"--store", store}), 0) << out_;
  fs::permissions(blobs, fs::perms::others_read, fs::perm_options::add);
  EXPECT_EQ(run({"--store", store}), 0) << out_;
  EXPECT_TRUE(says("warn", "blobs", "chmod go= " + blobs.string())) << out_;
  fs::permissions(blobs, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(run({"--store", store}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "blobs", "cannot be written")) << out_;
  fs::permissions(blobs, fs::perms::owner_all);

  writeFile(folder_ / "muster.yml", "blob_dir: elsewhere\n");
  EXPECT_EQ(run({"--store", store}), 1) << out_;
  EXPECT_TRUE(says("ok  ", "blobs", "which the service makes at its start")) << out_;
  EXPECT_TRUE(says("FAIL", "resources", "2 resources with bytes in a folder that no service has"))
      << out_;
  EXPECT_FALSE(fs::exists(folder_ / "elsewhere"));
  fs::remove(folder_ / "muster.yml");
  SqliteConnection(service.database(), SqliteAccess::kReadWrite)
      .script("UPDATE resources SET uploaded_at = 1 WHERE uploaded_at IS NOT NULL");
  EXPECT_EQ(run({"--store", store}), 0) << out_;
  EXPECT_TRUE(says("warn", "uploads", "1 of 1 got no part")) << out_;
}

TEST_F(Doctor, finds_resources_without_their_file_on_postgresql) {
  const PostgresDatabase database;
  const fs::path blobs = folder_ / "blobs";
  Service service({.store = database.url(), .settings = "blob_dir: " + blobs.string() + "\n"});
  const fs::path file = storeResources(service, blobs);
  EXPECT_EQ(run({"--store", database.url()}), 0) << out_;
  EXPECT_TRUE(says("ok  ", "resources", "2 in folders of other nodes")) << out_;
  writeFile(folder_ / "muster.yml", "blob_dir: " + blobs.string() + "\n");
  EXPECT_EQ(run({"--store", database.url()}), 0) << out_;
  EXPECT_TRUE(says("ok  ", "resources", "2 resources stored here, each with its file")) << out_;
  fs::remove(file);
  EXPECT_EQ(run({"--store", database.url()}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "resources", "1 without a file")) << out_;
}

TEST_F(Doctor, looksAtPostgresql) {
  PostgresDatabase database(true);
  EXPECT_EQ(run({"--store", database.url()}), 0) << out_;
  EXPECT_TRUE(says("ok  ", "migrations", "the store is empty")) << out_;
  EXPECT_EQ(run({"--store", database.url() + "&pgbouncer=on"}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "migrations", "PgBouncer is in between")) << out_;
  migrate(database.url());
  EXPECT_EQ(run({"--store", database.url()}), 0) << out_;
  EXPECT_TRUE(says("ok  ", "store", "PostgreSQL 1")) << out_;
  EXPECT_TRUE(says("ok  ", "migrations", "are applied")) << out_;
  EXPECT_FALSE(line("ok  ", "clock").empty()) << out_;
  EXPECT_TRUE(says("ok  ", "sessions", "each connection has its own")) << out_;
  EXPECT_NE(out_.find("until a commit is durable"), std::string::npos) << out_;
  EXPECT_TRUE(says("ok  ", "flows", "nothing is left to settle")) << out_;
  database.execute("DELETE FROM schema_migrations WHERE name NOT LIKE '0001%'");
  EXPECT_EQ(run({"--store", database.url()}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "migrations", "pending: 0002_")) << out_;
}

TEST_F(Doctor, saysThatPostgresqlIsAway) {
  EXPECT_EQ(run({"--store", "postgresql://someone:secret@127.0.0.1:1/none"}), 1) << out_;
  EXPECT_TRUE(says("FAIL", "store", "cannot connect to PostgreSQL")) << out_;
  EXPECT_EQ(out_.find("secret"), std::string::npos) << out_;
  EXPECT_EQ(line("ok  ", "sessions"), "") << "nothing is said of what was not seen";
}

}  // namespace
}  // namespace muster::test
