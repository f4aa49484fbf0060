// What pins and keys cost those that have none.
#include "models/operations/affinities.h"
#include "tests/store/sqlite_statement_log.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class PinStatementsTest : public testing::Test {
 protected:
  PinStatementsTest() {
    options_.url = "sqlite:" + folder_.file("muster.db");
    storage_ = openStorage(options_, clock_).value();
    write([](Store& s) { s.pools().findOrCreate(PoolId("p")).value(); });
  }
  void write(const Storage::Unit& unit) {
    const Status status = storage_->writeAndWait(unit);
    ASSERT_TRUE(status) << status.error().detail;
  }
  static Job push(Store& s, const NewJob& job) {
    return s.jobs().push(*s.pools().find(PoolId("p")), job).job;
  }
  // A job is pushed, claimed and done, each in a unit of its own.
  std::vector<std::string> wayOfAJob() {
    log_.clear();
    write([](Store& s) { push(s, {.data = "1"}); });
    Job claimed;
    write([&](Store& s) {
      const auto jobs = s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 1);
      ASSERT_EQ(jobs.size(), 1U);
      claimed = jobs[0];
    });
    write([&](Store& s) {
      s.jobs().complete(claimed.id, {claimed.lease_token, ""}, std::nullopt, "").value();
    });
    return log_.all();
  }
  // So many workers with a key each, and a job of it that waits for the worker.
  void pinToOthers(int first, int count) {
    write([&](Store& s) {
      for (int i = first; i < first + count; ++i) {
        NewWorker worker = newWorker("other" + std::to_string(i), "host" + std::to_string(i));
        worker.mode = "loop";
        s.workers().registerWorker(worker);
        const PutAffinity op{.key = worker.id.str(),
                             .holder = {Holder::Kind::kWorker, worker.id.str()},
                             .by = {.is_admin = true}};
        run(op, s).value();
        NewJob job{.data = "1", .affinity = op.key};
        job.affinity_mode = PinMode::kRequired;
        push(s, job);
      }
    });
  }

  StatementLog log_;
  const Folder folder_;
  FakeClock clock_;
  StorageOptions options_;
  std::unique_ptr<Storage> storage_;
};

TEST_F(PinStatementsTest, the_way_of_a_job_is_the_same_whatever_is_pinned_to_others) {
  wayOfAJob();
  const auto plain = wayOfAJob();
  for (const std::string& sql : plain) {
    EXPECT_EQ(sql.find("job_pins"), std::string::npos) << sql;
    EXPECT_EQ(sql.find("affinities"), std::string::npos) << sql;
  }
  pinToOthers(0, 2);
  wayOfAJob();  // what the worker has is looked up once
  EXPECT_EQ(wayOfAJob(), plain);
  pinToOthers(2, 500);
  wayOfAJob();
  EXPECT_EQ(wayOfAJob(), plain);
}

TEST_F(PinStatementsTest, a_claim_of_a_bound_key_asks_for_it_once_and_touches_it_once) {
  pinToOthers(0, 1);
  log_.clear();
  write([](Store& s) {
    const WorkerTraits traits = s.workers().claimer(WorkerId("other0"))->traits;
    EXPECT_EQ(s.jobs().claim(*s.pools().find(PoolId("p")), "other0", traits, 1).size(), 1U);
  });
  EXPECT_EQ(log_.count("FROM job_pins p JOIN affinities"), 1);
  EXPECT_EQ(log_.count("UPDATE affinities"), 1);
  EXPECT_EQ(log_.count("UPDATE jobs SET lane_id"), 0);
}

}  // namespace
}  // namespace muster::test
