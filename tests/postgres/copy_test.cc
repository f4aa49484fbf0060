// From SQLite to PostgreSQL.
#include "models/store/sqlite/sqlite_connection.h"
#include "tests/support/resource_client.h"
#include "tests/support/service_fixture.h"
#include "tests/support/tokens.h"

namespace muster::test {
namespace {

class Copy : public testing::Test {
 protected:
  struct Run {
    std::optional<int> exit_code;
    std::string out, err;
  };
  Run copy(const std::string& to, const std::vector<std::string>& options = {"-o", "json"}) {
    const TempFolder folder;
    std::vector<std::string> argv = {
        musterBinary(), "copy", "--from", "sqlite:" + source_.database(), "--to", to};
    argv.insert(argv.end(), options.begin(), options.end());
    ChildProcess command({argv, folder.path()});
    const auto exit_code = command.wait();
    return {exit_code, command.out(), command.err()};
  }

  Service source_{{.store = "sqlite:muster.db"}};
};

TEST_F(Copy, everything_is_there_afterwards_and_goes_on) {
  PoolClient before(source_.url(), "p");
  const Json::Value done = before.push(R"("data":{"text":"\u0000 é 𝄞","big":1234567890123456789})");
  EXPECT_EQ(before.report("complete", before.claimOne("w1"), R"("result":[1e300,0.1,null])").status,
            200);
  const Json::Value failed = before.push();
  EXPECT_EQ(before.report("fail", before.claimOne("w1"), R"("error":"broke")").status, 200);
  const Json::Value held = before.push(R"("data":2,"tenant":"t","priority":9)");
  const Json::Value lease = before.claimOne("w2");
  before.push(R"("data":3,"placement":{"requires_capabilities":["gpu"]},"unique_key":"k")");
  const std::string done_path = "/v1/jobs/" + done["id"].asString();
  const std::string shown = before.http().get(done_path).body;
  const std::string attempts =
      before.http().get("/v1/jobs/" + failed["id"].asString() + "/attempts").body;
  const std::string events = before.http().get("/v1/events?limit=200").body;
  const Json::Value stats = before.stats();
  EXPECT_EQ(source_.stop(), 0);

  PostgresDatabase database(true);
  const Run run = copy(database.url());
  ASSERT_EQ(run.exit_code, 0) << run.err;

  Service moved({.store = database.url()});
  PoolClient after(moved.url(), "p");
  EXPECT_EQ(after.http().get(done_path).body, shown);
  EXPECT_EQ(after.http().get("/v1/jobs/" + failed["id"].asString() + "/attempts").body, attempts);
  EXPECT_TRUE(after.http()
                  .get("/v1/events?limit=200")
                  .body.starts_with(events.substr(0, events.rfind(']'))))
      << "the events of before, and perhaps new ones";
  for (const char* name : {"queue_depth", "claimed", "done", "poisoned", "cancelled"}) {
    EXPECT_EQ(after.stats()[name], stats[name]) << name;
  }
  EXPECT_EQ(after.report("complete", lease, R"("result":1)").status, 200) << "the lease is good";
  EXPECT_EQ(after.tryPush(R"("data":4,"unique_key":"k")").json["data"], 3) << "the key is taken";
  const Json::Value fresh = after.push();
  EXPECT_EQ(after.http().get("/v1/jobs/" + fresh["id"].asString()).status, 200);
  EXPECT_EQ(held["id"], lease["id"]);
}

TEST_F(Copy, a_flow_goes_on_where_it_was) {
  PoolClient before(source_.url(), "p");
  const Reply created = before.http().post("/v1/flows", R"({"name":"report",
      "callbacks":[{"when":"succeeded","job":{"pool_id":"told","data":{}}}],
      "jobs":[{"name":"fetch","pool_id":"p","data":{}},
              {"name":"left","pool_id":"p","data":{},"after":["fetch"]},
              {"name":"right","pool_id":"p","data":{},"after":["fetch"]},
              {"name":"merge","pool_id":"p","data":{},"after":["left","right"]},
              {"name":"alarm","pool_id":"p","data":{},"after_failure":["merge"]}]})");
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string flow = "/v1/flows/" + created.json["flow"]["flow_id"].asString();
  EXPECT_EQ(before.report("complete", before.claimOne("w1"), R"("result":"fetched")").status, 200);
  EXPECT_EQ(before.report("complete", before.claimOne("w1"), R"("result":"l")").status, 200);
  const Json::Value right = before.claimOne("w2");
  EXPECT_EQ(right["name"], "right");
  const std::string shown = before.http().get(flow).body;
  const std::string jobs = before.http().get(flow + "/jobs").body;
  const std::string edges = before.http().get(flow + "/edges").body;
  EXPECT_EQ(before.stats()["blocked"], 2);
  EXPECT_EQ(source_.stop(), 0);

  PostgresDatabase database(true);
  const Run run = copy(database.url());
  ASSERT_EQ(run.exit_code, 0) << run.err;

  Service moved({.store = database.url()});
  PoolClient after(moved.url(), "p");
  EXPECT_EQ(after.http().get(flow).body, shown);
  EXPECT_EQ(after.http().get(flow + "/jobs").body, jobs);
  EXPECT_EQ(after.http().get(flow + "/edges").body, edges);
  EXPECT_EQ(after.stats()["blocked"], 2);
  EXPECT_EQ(after.report("complete", right, R"("result":"r")").status, 200) << "the lease is good";
  const Json::Value merge = after.claimOne("w1");
  EXPECT_EQ(merge["name"], "merge");
  EXPECT_EQ(merge["upstream"]["count"], 2);
  EXPECT_EQ(merge["upstream"]["items"][0]["result"], "l") << "from before the move";
  EXPECT_EQ(after.report("complete", merge).status, 200);
  const Json::Value ended = after.http().get(flow + "?wait_seconds=30").json;
  EXPECT_EQ(ended["status"], "succeeded");
  EXPECT_EQ(ended["counts"]["cancelled"], 1) << "alarm";
  EXPECT_EQ(PoolClient(moved.url(), "told").claim("w1").size(), 1U);
  const Reply more =
      after.http().post("/v1/flows", R"({"jobs":[{"name":"a","pool_id":"p","data":{}},
                               {"name":"b","pool_id":"p","data":{},"after":["a"]}]})");
  EXPECT_EQ(more.status, 201) << "its numbers follow those that were copied: " << more.body;
}

TEST_F(Copy, a_flow_with_files_goes_on_with_the_same_folder) {
  PoolClient before(source_.url(), "p");
  const Reply created = before.http().post("/v1/flows", R"({"jobs":[
      {"name":"draw","pool_id":"p","data":{}},
      {"name":"count","pool_id":"p","data":{},"after":["draw"],"inputs":[{"from":"draw"}]}]})");
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string flow = "/v1/flows/" + created.json["flow"]["flow_id"].asString();
  const Json::Value draw = before.claimOne("w1");
  const std::string id = draw["id"].asString(), lease = draw["lease_token"].asString();
  const std::string bytes = noise(100'000);
  const Reply put = before.http().put("/v1/jobs/" + id + "/artifacts/pages%2F1.png", bytes,
                                      {{"X-Lease-Token", lease}});
  ASSERT_EQ(put.status, 201) << put;
  ASSERT_EQ(before.report("complete", draw).status, 200);
  ResourceClient there(before.http());
  there.create(R"("resource_id":"half","type":"file","size_bytes":6)");
  ASSERT_EQ(there.patch("half", 0, "abc").status, 200);
  const std::string leased = there.createStored("leased", "kept by a lease")["uid"].asString();
  ASSERT_EQ(there.act("leased", "lease").status, 200);
  const Json::Value shown = there.get("jobs/" + id + "/pages/1.png").json;
  EXPECT_EQ(shown["ref_count"], 1) << "the job that waits keeps it";
  const std::string blobs = (source_.folder() / "blobs").string();
  EXPECT_EQ(source_.stop(), 0);

  PostgresDatabase database(true);
  const Run run = copy(database.url(), {});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(
      run.err.find("files of resources: 2 (97.7 KiB), which stay in their folder; set blob_dir of "
                   "the new service to it (its file `id` says " +
                   readFile(blobs + "/id")),
      std::string::npos)
      << run.err;

  Service moved({.store = database.url(), .settings = "blob_dir: " + blobs + "\n"});
  PoolClient after(moved.url(), "p");
  ResourceClient here(after.http());
  EXPECT_EQ(here.get("jobs/" + id + "/pages/1.png").json, shown);
  EXPECT_EQ(here.patch("half", 3, "def").json["state"], "active") << "the upload goes on";
  EXPECT_EQ(here.content("half").body, "abcdef");
  EXPECT_EQ(here.get(leased).json["in_use_count"], 1);
  const Json::Value count = after.claimOne("w1");
  ASSERT_EQ(count["inputs"].size(), 1U) << count;
  EXPECT_EQ(count["inputs"][0]["sha256"], sha256Hex(bytes));
  EXPECT_TRUE(after.http().get(count["inputs"][0]["content_path"].asString()).body == bytes);
  EXPECT_EQ(after.report("complete", count).status, 200);
  EXPECT_EQ(after.http().get(flow + "?wait_seconds=30").json["status"], "succeeded");
  EXPECT_EQ(here.createStored("fresh", "new")["state"], "active") << "numbers go on";
  const std::string metrics = after.http().get("/metrics").body;
  EXPECT_NE(metrics.find("\nmuster_blob_bytes 100024\n"), std::string::npos)
      << "what was there before counts too";
}

TEST_F(Copy, new_resources_and_keys_get_numbers_behind_those_that_were_copied) {
  PoolClient before(source_.url(), "p");
  for (const char* id : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    ResourceClient(before.http())
        .create(std::string(R"("type":"file","holder":"external","uri":"s3://x","resource_id":")") +
                id + '"');
  }
  ResourceClient(before.http()).createStored("stored", "bytes");
  before.push(R"("data":1,"affinity":"old")");
  EXPECT_EQ(source_.stop(), 0);
  SqliteConnection(source_.database(), SqliteAccess::kReadWrite)
      .script("UPDATE affinities SET affinity_seq = 500; UPDATE job_pins SET affinity_seq = 500");

  PostgresDatabase database(true);
  const Run run = copy(database.url());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string place = readFile(source_.folder() / "blobs/id");
  EXPECT_NE(run.out.find(R"("blobs":{"count":1,"bytes":5,"place_ids":[")" + place + R"("]})"),
            std::string::npos)
      << run.out;
  Service moved({.store = database.url()});
  PoolClient after(moved.url(), "p");
  EXPECT_EQ(after.tryPush(R"("data":2,"affinity":"new")").status, 201);
  ResourceClient(after.http()).create(R"("resource_id":"new","type":"file")");
  const auto number = [&](const std::string& sql) { return std::stoll(database.value(sql)); };
  EXPECT_GT(number("SELECT affinity_seq FROM affinities WHERE affinity_key = 'new'"), 500);
  EXPECT_GT(number("SELECT resource_seq FROM resources WHERE resource_id = 'new'"),
            number("SELECT max(resource_seq) FROM resources WHERE resource_id <> 'new'"));
}

TEST_F(Copy, a_database_that_is_not_empty_is_left_alone) {
  PoolClient(source_.url(), "p").push();
  EXPECT_EQ(source_.stop(), 0);
  const PostgresDatabase database;
  {
    Service other({.store = database.url()});
    PoolClient(other.url(), "q").push();
    EXPECT_EQ(other.stop(), 0);
  }
  const Run run = copy(database.url());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("the database is not empty"), std::string::npos) << run.err;
}

TEST_F(Copy, a_service_at_work_is_not_copied_from) {
  const PostgresDatabase database(true);
  const Run run = copy(database.url());
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("another Muster serves"), std::string::npos) << run.err;
}

TEST_F(Copy, what_is_no_such_store_is_named) {
  EXPECT_EQ(source_.stop(), 0);
  const Run run = copy("mysql://x");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("--to mysql://x: expected postgresql://"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace muster::test
