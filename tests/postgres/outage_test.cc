// PostgreSQL that is away, and how the service starts with it.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/service_fixture.h"

namespace muster::test {
namespace {

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome muster(const std::vector<std::string>& arguments) {
  const TempFolder folder;
  Command command{{musterBinary()}, folder.path(), {}, true};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  ChildProcess process(command);
  const int code = process.wait().value_or(-1);
  return {code, process.out(), process.err()};
}

TEST(Outage, is_answered_with_503_and_nothing_acknowledged_is_lost) {
  PostgresServer server;
  PostgresDatabase database(true, server);
  Service service({.store = database.url()});
  std::mutex mutex;
  std::set<std::string> acknowledged;
  std::atomic<int> refused = 0;
  std::atomic<bool> stop = false;
  std::vector<std::jthread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&] {
      PoolClient pool(service.url(), "p");
      while (!stop) {
        const Reply reply = pool.tryPush(R"("data":1)");
        if (reply.status == 201) {
          const std::lock_guard lock(mutex);
          acknowledged.insert(reply.json["id"].asString());
        } else {
          EXPECT_EQ(reply.status, 503) << reply;
          EXPECT_EQ(reply.code(), "store_unavailable") << reply;
          EXPECT_FALSE(reply.header("retry-after").empty());
          ++refused;
        }
      }
    });
  }
  const auto pushed = [&] {
    const std::lock_guard lock(mutex);
    return acknowledged.size();
  };
  EXPECT_TRUE(eventually(kPatience, [&] { return pushed() > 50; }));
  server.stop();
  EXPECT_TRUE(eventually(kPatience, [&] { return refused > 10; }));
  EXPECT_EQ(Http(service.url()).get("/readyz").status, 503);
  EXPECT_EQ(Http(service.url()).get("/healthz").status, 200);
  server.start();
  const std::size_t before = pushed();
  EXPECT_TRUE(eventually(kPatience, [&] { return pushed() > before + 50; })) << "it came back";
  stop = true;
  producers.clear();
  std::set<std::string> kept;
  for (const Json::Value& job : PoolClient(service.url(), "p").list()) {
    kept.insert(job["id"].asString());
  }
  for (const std::string& id : acknowledged) EXPECT_TRUE(kept.contains(id)) << id;
  EXPECT_EQ(service.stop(), 0) << service.log();
}

TEST(Outage, a_service_can_be_stopped_while_the_database_is_away) {
  PostgresServer server;
  PostgresDatabase database(true, server);
  Service service({.store = database.url()});
  PoolClient(service.url(), "p").push();
  server.stop();
  EXPECT_EQ(service.stop(), 0) << service.log();
  server.start();
}

TEST(PostgresStart, says_what_is_wrong) {
  const Outcome away = muster(
      {"serve", "--listen", "127.0.0.1:0", "--store", "postgresql://postgres@/d?host=/nowhere"});
  EXPECT_EQ(away.code, 2) << away.err;
  EXPECT_NE(away.err.find("cannot connect to PostgreSQL"), std::string::npos) << away.err;
  const Outcome nonsense =
      muster({"serve", "--listen", "127.0.0.1:0", "--store", "postgresql://h/d?nonsense=1"});
  EXPECT_EQ(nonsense.code, 2) << nonsense.err;
  EXPECT_NE(nonsense.err.find("nonsense"), std::string::npos) << nonsense.err;
}

TEST(PostgresStart, migrates_by_itself_what_is_empty_and_else_on_demand) {
  PostgresDatabase database(true);
  const Outcome planned = muster({"migrate", "--dry-run", "--store", database.url()});
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_NE(planned.out.find("0001_jobs_workers_events  would be applied"), std::string::npos);
  EXPECT_EQ(database.value("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), "0");
  EXPECT_EQ(Service({.store = database.url()}).stop(), 0);

  database.execute(
      "DROP TABLE triggers; DROP TABLE hook_deliveries; "
      "DELETE FROM schema_migrations WHERE name = '0003_triggers'");
  const Outcome refused = muster({"serve", "--listen", "127.0.0.1:0", "--store", database.url()});
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_NE(refused.err.find("muster migrate"), std::string::npos) << refused.err;
  const Outcome done = muster({"migrate", "--store", database.url()});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("0003_triggers  applied"), std::string::npos) << done.out;
  EXPECT_EQ(Service({.store = database.url()}).stop(), 0);
}

TEST(PostgresStart, the_password_is_not_logged) {
  PostgresDatabase database;
  std::string url = database.url();
  url.replace(url.find("postgres@"), 9, "postgres:verysecret@");
  Service service({.store = url});
  PoolClient(service.url(), "p").push();
  EXPECT_NE(service.log().find("postgres:***@"), std::string::npos) << service.log();
  EXPECT_EQ(service.log().find("verysecret"), std::string::npos) << service.log();
}

}  // namespace
}  // namespace muster::test
