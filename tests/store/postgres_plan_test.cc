// The statements of the hot path walk indexes also in a database that has no statistics yet.
#include <gtest/gtest.h>

#include "models/clock.h"
#include "models/store/storage.h"
#include "tests/store/backend.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

// The plans of the statements with this text, as the server wrote them while it ran them.
std::vector<std::string> plansOf(const std::string& log, const std::string& statement) {
  std::vector<std::string> plans;
  constexpr std::string_view kBegin = "Query Text: ";
  for (auto at = log.find(kBegin); at != std::string::npos; at = log.find(kBegin, at + 1)) {
    const std::string plan = log.substr(at, log.find("LOG: ", at) - at);
    if (plan.find(statement) != std::string::npos) plans.push_back(plan);
  }
  return plans;
}

TEST(PostgresPlan, theWayOfAJobIsWalkedByIndexes) {
  PostgresServer server;
  PostgresDatabase database(true, server);
  for (const char* setting :
       {"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"}) {
    database.execute("ALTER DATABASE " + database.name() + " SET " + setting);
  }
  FakeClock clock;
  StorageOptions options;
  options.url = database.url();
  const auto storage = openStorage(options, clock).value();
  const auto write = [&](const Storage::Unit& unit) {
    const Status status = storage->writeAndWait(unit, Isolation::kShared);
    ASSERT_TRUE(status) << status.error().detail;
  };
  write([](Store& s) {
    const auto pool = s.pools().findOrCreate(PoolId("p")).value();
    for (int i = 0; i < 3000; ++i) s.jobs().push(*pool, {.data = "1"});
  });
  write([](Store& s) {
    std::vector<Wish> wishes;
    for (const char* worker : {"a", "b"}) {
      wishes.push_back({.kind = Wish::Kind::kClaim, .pool = PoolId("p"), .worker = worker});
    }
    s.session.ahead = Foresight(wishes);
    const auto pool = s.pools().find(PoolId("p"));
    for (const char* worker : {"a", "b"}) {
      const auto claimer = s.workers().claimer(WorkerId(worker)).value();
      const Job job = s.jobs().claim(*pool, worker, claimer.traits, 1).at(0);
      s.jobs().complete(job.id, {job.lease_token, ""}, "1", "").value();
    }
    for (const Job& job : s.jobs().claim(*pool, "c", {}, 5)) {
      s.jobs().fail(job.id, {job.lease_token, ""}, {}).value();
    }
  });
  write([](Store& s) {
    const auto pool = s.pools().findOrCreate(PoolId("q")).value();
    for (int i = 0; i < 1000; ++i) {
      NewJob job{.data = "1", .tenant = "t" + std::to_string(i % 50)};
      if (i % 10 == 0) job.delay = Seconds(60);
      s.jobs().push(*pool, job);
    }
  });
  write([](Store& s) {
    const auto pool = s.pools().find(PoolId("q"));
    EXPECT_EQ(s.jobs().claim(*pool, "d", {}, 1).size(), 1U);
    EXPECT_EQ(s.jobs().claim(*pool, "d", {}, 30).size(), 30U);
    EXPECT_EQ(s.pools().stats(PoolId("q")).delayed, 100);
  });
  storage->stop();

  const std::string log = server.log();
  for (const char* statement :
       {"placed AS (SELECT", "SET status = 'done'", "min(available_at)", "worker_id = ANY",
        "UPDATE workers w SET jobs_done", "ORDER BY priority DESC, seq LIMIT", "UPDATE jobs SET",
        "SELECT first.lane_id", "AS wanted(lane)", "j.created_at FROM jobs", "GROUP BY 1"}) {
    const auto plans = plansOf(log, statement);
    EXPECT_FALSE(plans.empty()) << statement;
    for (const std::string& plan : plans) {
      for (const char* table : {"jobs", "job_payloads", "job_results", "workers"}) {
        EXPECT_EQ(plan.find("Seq Scan on " + std::string(table)), std::string::npos) << plan;
      }
      EXPECT_EQ(plan.find("Bitmap"), std::string::npos) << plan;
      EXPECT_EQ(plan.find("Hash Join"), std::string::npos) << plan;
    }
  }
  for (const std::string& plan : plansOf(log, "placed AS (SELECT")) {
    EXPECT_NE(plan.find("Index Scan using jobs_ready"), std::string::npos) << plan;
  }
}

}  // namespace
}  // namespace muster::test
