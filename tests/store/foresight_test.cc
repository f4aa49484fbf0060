// Units of one batch on PostgreSQL that tell ahead what they will ask for: it is done for all of
// them in one step, and each gets what it would have got by itself.
#include <atomic>
#include <future>
#include <map>
#include <set>

#include "models/store/postgres/postgres_connection.h"
#include "tests/store/store_fixture.h"
#include "tests/support/postgres_server.h"

namespace muster::test {
namespace {

class ForesightTest : public testing::Test {
 protected:
  ForesightTest() {
    StorageOptions options;
    options.url = database_.url();
    options.own_clock = true;
    options.rules.pool_defaults.retry_base_ms = 0;
    storage_ = openStorage(options, clock_).value();
    write([](Store& s) { s.pools().findOrCreate(PoolId("p")).value(); });
  }

  void write(const Storage::Unit& unit) {
    const Status status = storage_->writeAndWait(unit, Isolation::kShared);
    ASSERT_TRUE(status) << status.error().detail;
  }
  JobId push(int priority = 0) {
    JobId id;
    write([&](Store& s) { id = pushIn(s, priority); });
    return id;
  }
  static JobId pushIn(Store& s, int priority = 0) {
    NewJob job{.data = "1"};
    job.priority = priority;
    return s.jobs().push(*s.pools().find(PoolId("p")), job).job.id;
  }
  void registerWorker(const std::string& id, const std::string& status) {
    write([&](Store& s) {
      NewWorker worker;
      worker.id = WorkerId(id);
      worker.pool = "p";
      s.workers().registerWorker(worker);
      if (status == worker_status::kActive) return;
      WorkerChange change;
      change.status = status;
      s.workers().change(WorkerId(id), change).value();
    });
  }

  // The units that are given in the meantime are one batch.
  void begin() {
    auto inside = std::make_shared<std::promise<void>>();
    storage_->write(
        [inside, go = go_.get_future().share()](Store&) {
          inside->set_value();
          go.wait();
        },
        [](const Status& status) { EXPECT_TRUE(status); }, nullptr, Isolation::kShared);
    inside->get_future().wait();
  }
  void give(Storage::Unit unit, Wish wish = {}) {
    ++given_;
    storage_->write(
        std::move(unit),
        [this](const Status& status) {
          EXPECT_TRUE(status) << status.error().detail;
          if (--given_ == 0) done_.set_value();
        },
        nullptr, Isolation::kShared, std::move(wish));
  }
  void finish() {
    go_.set_value();
    done_.get_future().wait();
  }

  static Wish claimBy(const std::string& worker) {
    return {.kind = Wish::Kind::kClaim, .pool = PoolId("p"), .worker = worker};
  }
  static Wish completionOf(const JobId& job, const std::string& token) {
    return {.kind = Wish::Kind::kComplete, .job = job, .lease_token = token};
  }
  // As a request to claim does it.
  void giveClaim(const std::string& worker) {
    auto* const claimed = &claimed_[worker];
    auto* const refused = &refused_;
    give(
        [claimed, refused, worker](Store& s) {
          claimed->clear();
          const auto claimer = s.workers().claimer(WorkerId(worker));
          if (!claimer) {
            refused->insert(worker);
          } else if (claimer->status != worker_status::kTerminating) {
            *claimed = s.jobs().claim(*s.pools().find(PoolId("p")), worker, claimer->traits, 1);
          }
        },
        claimBy(worker));
  }
  JobId claimedBy(const std::string& worker) {
    const auto& jobs = claimed_.at(worker);
    return jobs.empty() ? JobId() : jobs.at(0).id;
  }
  // The states of the jobs by the rows, and by the counters.
  std::map<std::string, std::int64_t> counts() {
    PoolStats stats;
    EXPECT_TRUE(storage_->readAndWait([&](Store& s) { stats = s.pools().stats(PoolId("p")); }));
    const auto rows = [this](const std::string& status) {
      return std::stoll(
          database_.value("SELECT count(*) FROM jobs WHERE status = '" + status + "'"));
    };
    EXPECT_EQ(stats.pending, rows("pending"));
    EXPECT_EQ(stats.claimed, rows("claimed"));
    EXPECT_EQ(stats.done, rows("done"));
    return {{"pending", stats.pending}, {"claimed", stats.claimed}, {"done", stats.done}};
  }
  using Counts = std::map<std::string, std::int64_t>;

  FakeClock clock_;
  PostgresDatabase database_;
  std::unique_ptr<Storage> storage_;
  std::map<std::string, std::vector<Job>> claimed_;
  std::set<std::string> refused_;
  std::promise<void> go_, done_;
  std::atomic<int> given_ = 0;
};

TEST_F(ForesightTest, claimsGetTheBestJobsInTheirOrderEachWithATokenOfItsOwn) {
  const JobId low = push(0), high = push(9), middle = push(5);
  begin();
  for (const char* worker : {"a", "b", "c", "d"}) giveClaim(worker);
  finish();
  EXPECT_EQ(claimedBy("a"), high);
  EXPECT_EQ(claimedBy("b"), middle);
  EXPECT_EQ(claimedBy("c"), low);
  EXPECT_TRUE(claimed_["d"].empty());
  std::set<std::string> tokens;
  for (const char* worker : {"a", "b", "c"}) {
    const Job& job = claimed_[worker].at(0);
    EXPECT_EQ(job.claimed_by, worker);
    EXPECT_EQ(job.attempts, 1);
    EXPECT_EQ(job.data, "1");
    EXPECT_EQ(job.lease_expires_at, clock_.now() + Seconds(60));
    tokens.insert(job.lease_token);
  }
  EXPECT_EQ(tokens.size(), 3U);
  EXPECT_EQ(counts(), (Counts{{"pending", 0}, {"claimed", 3}, {"done", 0}}));
  EXPECT_EQ(database_.value("SELECT count(*) FROM events WHERE type = 'job.claimed'"), "3");
}

TEST_F(ForesightTest, aWorkerMayAskTwice) {
  push(), push();
  begin();
  giveClaim("a");
  std::vector<Job> more;
  give([&](Store& s) { more = s.jobs().claim(*s.pools().find(PoolId("p")), "a", {}, 1); },
       claimBy("a"));
  finish();
  ASSERT_EQ(more.size(), 1U);
  EXPECT_NE(claimedBy("a"), more[0].id);
  EXPECT_EQ(counts()["claimed"], 2);
}

TEST_F(ForesightTest, whoMayNotClaimLeavesTheJobsToTheOthers) {
  registerWorker("gone", std::string(worker_status::kTerminated));
  registerWorker("leaving", std::string(worker_status::kTerminating));
  registerWorker("here", std::string(worker_status::kActive));
  push(), push();
  begin();
  for (const char* worker : {"gone", "leaving", "here", "unknown"}) giveClaim(worker);
  finish();
  EXPECT_EQ(refused_, std::set<std::string>{"gone"});
  EXPECT_TRUE(claimed_["leaving"].empty());
  EXPECT_EQ(claimed_["here"].size(), 1U);
  EXPECT_EQ(claimed_["unknown"].size(), 1U);
}

TEST_F(ForesightTest, aJobThatIsPushedInBetweenIsClaimed) {
  begin();
  giveClaim("a");
  JobId pushed;
  give([&](Store& s) { pushed = pushIn(s); });
  giveClaim("b");
  finish();
  EXPECT_TRUE(claimed_["a"].empty());
  EXPECT_EQ(claimedBy("b"), pushed);
}

TEST_F(ForesightTest, whatAUnitDoesNotFetchAfterAllIsNotTakenFromThePool) {
  push(), push();
  begin();
  giveClaim("a");
  give([](Store&) {}, claimBy("b"));
  give([](Store&) {}, completionOf(JobId("none"), "none"));
  finish();
  EXPECT_EQ(claimed_["a"].size(), 1U);
  EXPECT_EQ(counts(), (Counts{{"pending", 1}, {"claimed", 1}, {"done", 0}}));
  EXPECT_EQ(database_.value("SELECT count(*) FROM events WHERE type = 'job.claimed'"), "1");
}

TEST_F(ForesightTest, completionsAreJudgedOneByOne) {
  push(), push(), push(), push();
  std::vector<Job> held;
  write([&](Store& s) { held = s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 4); });
  std::vector<Result<Job>> answers(5, fail(ErrorCode::kInternal, ""));
  const auto complete = [&](std::size_t place, const JobId& job, const std::string& token,
                            const std::string& result) {
    give(
        [&answers, place, job, token, result](Store& s) {
          answers[place] = s.jobs().complete(job, {token, ""}, result, "");
        },
        completionOf(job, token));
  };
  begin();
  complete(0, held[3].id, held[3].lease_token, "3");
  complete(1, held[1].id, "another", "1");
  complete(2, held[0].id, held[0].lease_token, "0");
  complete(3, held[0].id, held[0].lease_token, "0");
  complete(4, held[2].id, held[2].lease_token, "2");
  finish();
  for (const std::size_t place : {0U, 2U, 3U, 4U}) {
    ASSERT_TRUE(answers[place]) << place << answers[place].error().detail;
    EXPECT_EQ(answers[place]->status, JobStatus::kDone);
    EXPECT_EQ(answers[place]->data, "1");
  }
  EXPECT_EQ(answers[0]->result, "3");
  EXPECT_EQ(answers[3]->version, answers[2]->version) << "the same report again";
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().code, ErrorCode::kLeaseLost);
  EXPECT_EQ(counts(), (Counts{{"pending", 0}, {"claimed", 1}, {"done", 3}}));
  EXPECT_EQ(database_.value("SELECT count(*) FROM events WHERE type = 'job.completed'"), "3");
  EXPECT_EQ(database_.value("SELECT count(*) FROM job_results"), "3");
}

class ForesightOfCircuitTest : public ForesightTest {
 protected:
  ForesightOfCircuitTest() {
    write([](Store& s) {
      PoolSettings settings;
      settings.circuit_failures = 2;
      settings.circuit_probe_seconds = 10;
      s.pools().put(PoolId("p"), settings).value();
    });
  }
  Job held(const std::string& worker) {
    push();
    Job job;
    write(
        [&](Store& s) { job = s.jobs().claim(*s.pools().find(PoolId("p")), worker, {}, 1).at(0); });
    return job;
  }
  static void failIn(Store& s, const Job& job) {
    s.jobs().fail(job.id, {job.lease_token, ""}, {}).value();
  }
  CircuitRecord circuit() {
    CircuitRecord record;
    EXPECT_TRUE(storage_->readAndWait(
        [&](Store& s) { record = s.circuits().find(*s.pools().find(PoolId("p"))); }));
    return record;
  }
};

TEST_F(ForesightOfCircuitTest, oneOfTheClaimsOfABatchGetsTheProbe) {
  const Job one = held("x"), two = held("x");
  write([&](Store& s) { failIn(s, one), failIn(s, two); });
  push(), push(), push();
  clock_.advance(Seconds(10));
  begin();
  for (const char* worker : {"a", "b", "c"}) giveClaim(worker);
  finish();
  std::size_t claimed = 0;
  for (const auto& [worker, jobs] : claimed_) claimed += jobs.size();
  EXPECT_EQ(claimed, 1U);
  EXPECT_EQ(circuit().state(), CircuitState::kProbing);
}

TEST_F(ForesightOfCircuitTest, aClaimBehindTheFailureThatOpensItGetsNothing) {
  const Job one = held("x"), two = held("x");
  write([&](Store& s) { failIn(s, one); });
  push(), push(), push();
  begin();
  giveClaim("a");
  give([two](Store& s) { failIn(s, two); });
  giveClaim("b");
  finish();
  EXPECT_EQ(claimed_["a"].size(), 1U);
  EXPECT_TRUE(claimed_["b"].empty());
  EXPECT_EQ(circuit().state(), CircuitState::kOpen);
  EXPECT_EQ(counts()["claimed"], 1);
}

TEST_F(ForesightOfCircuitTest, completionsOfABatchEndTheFailuresInARow) {
  const Job bad = held("x"), one = held("x"), two = held("x");
  write([&](Store& s) { failIn(s, bad); });
  EXPECT_EQ(circuit().failures, 1);
  begin();
  for (const Job& job : {one, two}) {
    give(
        [job](Store& s) {
          s.jobs().complete(job.id, {job.lease_token, ""}, std::nullopt, "").value();
        },
        completionOf(job.id, job.lease_token));
  }
  finish();
  EXPECT_TRUE(circuit().isClean());
  EXPECT_EQ(counts()["done"], 2);
}

}  // namespace
}  // namespace muster::test
