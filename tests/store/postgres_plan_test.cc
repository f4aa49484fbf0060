// The statements of the hot path walk indexes, also where the database has no statistics yet or
// those of another time.
#include <gtest/gtest.h>

#include <sstream>

#include "models/clock.h"
#include "models/store/storage.h"
#include "tests/store/backend.h"
#include "tests/store/flow_uses.h"
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

// Scans from one end of an index to the other, of tables that may be large. One that ends with the
// first it finds is none, nor is one of an index that holds only what is left to do.
std::vector<std::string> fullWalks(const std::string& plan) {
  std::vector<std::string> walks;
  std::istringstream lines(plan);
  std::string before, line;
  bool is_walk = false;
  while (std::getline(lines, line)) {
    if (is_walk && line.find("Index Cond") == std::string::npos) walks.push_back(before);
    is_walk =
        line.find("Index") != std::string::npos && line.find("Scan using") != std::string::npos &&
        before.find("Limit") == std::string::npos &&
        line.find("using flow_jobs_todo") == std::string::npos &&
        (line.find(" on job") != std::string::npos || line.find(" on flow_") != std::string::npos ||
         line.find(" on workers") != std::string::npos);
    before = line;
  }
  return walks;
}

// What the planner knows of the tables when the service begins.
enum class Statistics { kNone, kOfEmptyTables };

class PostgresPlan : public testing::TestWithParam<Statistics> {
 protected:
  void write(const Storage::Unit& unit) {
    const Status status = storage_->writeAndWait(unit, Isolation::kShared);
    ASSERT_TRUE(status) << status.error().detail;
  }
  // Pushes so many jobs, a multiple of ten, and works on some.
  void passJobs(int count);

  PostgresServer server_;
  PostgresDatabase database_{true, server_};
  FakeClock clock_;
  std::unique_ptr<Storage> storage_;
  int delayed_ = 0;  // of the jobs pushed so far
};
INSTANTIATE_TEST_SUITE_P(All, PostgresPlan,
                         testing::Values(Statistics::kNone, Statistics::kOfEmptyTables));

void PostgresPlan::passJobs(int count) {
  write([count](Store& s) {
    const auto pool = s.pools().findOrCreate(PoolId("p")).value();
    for (int i = 0; i < count; ++i) s.jobs().push(*pool, {.data = "1"});
    for (int i = 0; i < count; ++i) {
      NewWorker worker;
      worker.id = WorkerId(std::to_string(i));
      s.workers().registerWorker(worker);
    }
    s.jobs().claim(*pool, "busy", {}, count / 3);
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
  write([count](Store& s) {
    const auto pool = s.pools().findOrCreate(PoolId("q")).value();
    for (int i = 0; i < count; ++i) {
      NewJob job{.data = "1", .tenant = "t" + std::to_string(i % 50)};
      if (i % 10 == 0) job.delay = Seconds(60);
      s.jobs().push(*pool, job);
    }
  });
  useFlows(*storage_, std::min(count, 400));
  delayed_ += count / 10;
  write([this](Store& s) {
    const auto pool = s.pools().find(PoolId("q"));
    EXPECT_EQ(s.jobs().claim(*pool, "d", {}, 1).size(), 1U);
    EXPECT_EQ(s.jobs().claim(*pool, "d", {}, 30).size(), 30U);
    EXPECT_EQ(s.pools().stats(PoolId("q")).delayed, delayed_);
    EXPECT_EQ(s.jobs().promoteDue(1), 0);
  });
}

TEST_P(PostgresPlan, theWayOfAJobIsWalkedByIndexesHoweverFewThereWere) {
  for (const char* setting :
       {"session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"}) {
    database_.execute("ALTER DATABASE " + database_.name() + " SET " + setting);
  }
  StorageOptions options;
  options.url = database_.url();
  storage_ = openStorage(options, clock_).value();
  if (GetParam() == Statistics::kOfEmptyTables) database_.execute("VACUUM ANALYZE");
  passJobs(40);
  passJobs(3000);
  clock_.advance(Seconds(10));
  const std::size_t before = server_.log().size();
  passJobs(40);
  storage_->stop();

  const std::string log = server_.log().substr(before);
  for (const char* statement :
       {"placed AS (SELECT", "SET status = 'done'", "ORDER BY available_at LIMIT 1)",
        "worker_id = ANY", "UPDATE workers w SET jobs_done", "ORDER BY priority DESC, seq LIMIT",
        "UPDATE jobs SET", "SET delayed = 0", "SELECT first.lane_id", "AS wanted(lane, turn)",
        "WHERE j.lane_id = l.lane_id AND j.status", "GROUP BY 1", "UPDATE flow_jobs SET",
        "UPDATE flows SET", "FROM flow_edges", "SET status = 'cancelled'", "FROM flow_jobs"}) {
    const auto plans = plansOf(log, statement);
    EXPECT_FALSE(plans.empty()) << statement;
    for (const std::string& plan : plans) {
      for (const char* table : {"jobs", "job_payloads", "job_results", "workers", "flow_jobs",
                                "flow_edges", "flow_callbacks"}) {
        EXPECT_EQ(plan.find("Seq Scan on " + std::string(table)), std::string::npos) << plan;
      }
      EXPECT_EQ(plan.find("Bitmap"), std::string::npos) << plan;
      EXPECT_EQ(plan.find("Hash Join"), std::string::npos) << plan;
      EXPECT_EQ(fullWalks(plan), std::vector<std::string>()) << plan;
    }
  }
  for (const std::string& plan : plansOf(log, "placed AS (SELECT")) {
    EXPECT_NE(plan.find("Index Scan using jobs_ready"), std::string::npos) << plan;
  }
}

}  // namespace
}  // namespace muster::test
