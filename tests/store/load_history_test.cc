#include "models/store/sql/load_history.h"

#include "models/operations/flows.h"
#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

class LoadHistoryTest : public StoreTest {
 protected:
  LoadHistoryTest() {
    rules.host = "here";
    rules.templates = {{"t", {"v1"}}};
    reopen();
    setPool(with<PoolSettings>([](auto& s) {
      s.template_name = "t";
      s.max_retries = 2;
      s.retry_base_ms = 1000;
    }));
    begin = clock.now();
  }

  // All that is on record, read in pieces of so many rows.
  std::vector<JobHistory> jobs(int rows = 1000, std::optional<Time> from = {},
                               std::optional<Time> to = {}) {
    std::vector<JobHistory> all;
    LoadHistory::JobPiece piece;
    do {
      piece = read([&](Store& s) {
        return LoadHistory(s.session, PoolId("p"), from.value_or(begin), to.value_or(never()))
            .jobs(piece.next, rows);
      });
      EXPECT_LE(piece.jobs.size(), static_cast<std::size_t>(rows));
      all.insert(all.end(), piece.jobs.begin(), piece.jobs.end());
    } while (!piece.is_last);
    return all;
  }
  std::vector<WorkerHistory> workers(int rows = 1000, std::optional<Time> from = {},
                                     std::optional<Time> to = {}) {
    std::vector<WorkerHistory> all;
    LoadHistory::WorkerPiece piece;
    do {
      piece = read([&](Store& s) {
        return LoadHistory(s.session, PoolId("p"), from.value_or(begin), to.value_or(never()))
            .workers(piece.next, rows);
      });
      all.insert(all.end(), piece.workers.begin(), piece.workers.end());
    } while (!piece.is_last);
    return all;
  }
  LaunchOrder launch() {
    return write(
        [](Store& s) { return s.launches().order(*s.pools().find(PoolId("p")), Seconds(30)); });
  }
  void admit(const LaunchOrder& order) {
    NewWorker worker = newWorker(order.worker.str(), "here");
    worker.mode = "once";
    write([&](Store& s) { return s.launches().admit(worker, order.token); }).value();
  }
  void end(const LaunchOrder& order) {
    write([&](Store& s) { return s.launches().exited(order.worker, {.exit_code = 0}); });
  }
  // first → second, in the pool.
  FlowId createFlow() {
    CreateFlow op;
    for (const char* name : {"first", "second"}) {
      NewFlowJob job;
      job.job.data = "1";
      job.name = name;
      job.pool = PoolId("p");
      if (!op.jobs.empty()) job.edges = {{"first", EdgeCondition::kAfter, 0}};
      op.jobs.push_back(job);
    }
    return write([&](Store& s) { return run(op, s).value().flow.id; });
  }
  Time never() { return clock.now() + std::chrono::days(1); }

  Time begin;
};
MUSTER_ON_EVERY_BACKEND(LoadHistoryTest);

TEST_P(LoadHistoryTest, anEmptyRecordIsEmpty) {
  EXPECT_TRUE(jobs().empty());
  EXPECT_TRUE(workers().empty());
}

TEST_P(LoadHistoryTest, tellsWhenAJobCameRanAndEnded) {
  NewJob urgent{.data = "1"};
  urgent.priority = 7;
  push(urgent);
  clock.advance(2s);
  const auto claimed = claim();
  clock.advance(3s);
  complete(claimed.at(0)).value();
  const auto all = jobs();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].status, JobStatus::kDone);
  EXPECT_EQ(all[0].priority, 7);
  EXPECT_EQ(all[0].created_at, begin);
  EXPECT_EQ(all[0].available_at, begin);
  EXPECT_EQ(all[0].claimed_at, begin + 2s);
  EXPECT_EQ(all[0].finished_at, begin + 5s);
  EXPECT_TRUE(all[0].tries.empty());
}

TEST_P(LoadHistoryTest, tellsOfEachTryThatDidNotEndWell) {
  push();
  push({.data = "1"}, "other");
  const Job first = claim().at(0), other = claim(1, "w", "other").at(0);
  clock.advance(1s);
  fail(first, failure("no")).value();
  fail(other, failure("no")).value();
  clock.advance(1s);
  const Job second = claim().at(0);
  clock.advance(2s);
  release(second).value();
  const Job third = claim().at(0);
  clock.advance(3s);
  fail(third, failure("no")).value();

  const auto all = jobs();
  ASSERT_EQ(all.size(), 1U) << "of this pool";
  EXPECT_EQ(all[0].status, JobStatus::kPoisoned);
  EXPECT_FALSE(all[0].claimed_at);
  ASSERT_EQ(all[0].tries.size(), 3U);
  EXPECT_EQ(all[0].tries[0].claimed_at, begin);
  EXPECT_EQ(all[0].tries[0].ended_at, begin + 1s);
  EXPECT_FALSE(all[0].tries[0].given_back);
  EXPECT_EQ(all[0].tries[1].claimed_at, begin + 2s);
  EXPECT_EQ(all[0].tries[1].ended_at, begin + 4s);
  EXPECT_TRUE(all[0].tries[1].given_back);
  EXPECT_EQ(all[0].tries[2].ended_at, begin + 7s);
  EXPECT_EQ(all[0].available_at, begin + 4s) << "for the last try";
}

TEST_P(LoadHistoryTest, aDelayIsInTheRecord) {
  NewJob later{.data = "1"};
  later.delay = 60s;
  push(later);
  EXPECT_EQ(jobs().at(0).available_at, begin + 60s);
  EXPECT_EQ(jobs().at(0).status, JobStatus::kPending);
}

TEST_P(LoadHistoryTest, piecesOfAnySizeMakeTheSameWhole) {
  std::vector<Job> failing;
  for (int i = 0; i < 23; ++i) {
    push({.data = "1"}, i % 3 == 0 ? "other" : "p");
    clock.advance(1s);
  }
  for (const Job& job : claim(5)) fail(job, failure("no")).value();
  const auto whole = jobs();
  EXPECT_EQ(whole.size(), 15U);
  for (const int rows : {1, 2, 7, 23}) {
    const auto pieces = jobs(rows);
    ASSERT_EQ(pieces.size(), whole.size()) << rows;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(pieces[i].seq, whole[i].seq);
      EXPECT_EQ(pieces[i].tries.size(), whole[i].tries.size()) << rows << ", " << i;
    }
  }
}

TEST_P(LoadHistoryTest, aWindowHasTheJobsPushedInIt) {
  for (int i = 0; i < 100; ++i) {
    push();
    clock.advance(1s);
  }
  const auto some = jobs(1000, begin + 40s, begin + 60s);
  ASSERT_EQ(some.size(), 20U);
  EXPECT_EQ(some.front().created_at, begin + 40s);
  EXPECT_EQ(some.back().created_at, begin + 59s);
  EXPECT_EQ(jobs(7, begin + 40s, begin + 60s).size(), 20U);
  EXPECT_EQ(jobs(7, begin - 1h, begin).size(), 0U);
  EXPECT_EQ(jobs(7, begin + 200s, begin + 300s).size(), 0U);
}

TEST_P(LoadHistoryTest, a_blocked_job_is_none_yet) {
  const FlowId flow = createFlow();
  ASSERT_EQ(jobs().size(), 1U);
  write([&](Store& s) { return run(CancelFlow{flow}, s); }).value();
  EXPECT_EQ(jobs().size(), 1U) << "and will never be one";
  EXPECT_EQ(jobs(1).size(), 1U);
}

TEST_P(LoadHistoryTest, a_job_counts_from_when_it_was_unblocked) {
  createFlow();
  clock.advance(60s);
  complete(claim().at(0)).value();
  clock.advance(3s);
  const Job second = claim().at(0);
  fail(second, failure("no")).value();
  clock.advance(2s);
  claim();
  const auto all = jobs();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].unblocked_at);
  EXPECT_EQ(all[0].workSince(), begin);
  EXPECT_EQ(all[1].created_at, begin);
  EXPECT_EQ(all[1].workSince(), begin + 60s) << "though it was tried again since";
}

TEST_P(LoadHistoryTest, a_window_has_the_jobs_unblocked_in_it) {
  createFlow();
  clock.advance(1h);
  push();
  complete(claim().at(0)).value();  // the first job of the flow
  clock.advance(1h);
  push();
  const auto in = [this](Millis from, Millis to, int rows = 1000) {
    std::vector<Time> since;
    for (const auto& job : jobs(rows, begin + from, begin + to)) since.push_back(job.workSince());
    return since;
  };
  const Time unblocked = begin + 1h;
  EXPECT_EQ(in(0s, 1h), std::vector{begin});
  EXPECT_EQ(in(1h, 2h), (std::vector{unblocked, unblocked})) << "one was pushed then";
  EXPECT_EQ(in(1h, 2h, 1).size(), 2U);
  EXPECT_EQ(in(2h, 3h).size(), 1U);
  EXPECT_EQ(in(0s, 3h).size(), 4U);
}

TEST_P(LoadHistoryTest, without_its_event_a_job_counts_from_its_last_try_on) {
  createFlow();
  clock.advance(60s);
  complete(claim().at(0)).value();
  clock.advance(5s);
  complete(claim().at(0)).value();
  push({.data = "1"}, "other");  // the newest event is always kept
  write([&](Store& s) { s.events().removeOld(clock.now() + 1s, 1000); });
  const auto all = jobs();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].workSince(), begin + 60s);
}

TEST_P(LoadHistoryTest, tellsOfLaunchedWorkers) {
  push();
  const LaunchOrder works = launch();
  clock.advance(1s);
  admit(works);
  complete(claim(1, works.worker.str()).at(0)).value();
  clock.advance(1s);
  end(works);
  const LaunchOrder idles = launch();
  clock.advance(1s);
  admit(idles);
  end(idles);
  const LaunchOrder starts = launch();
  registerWorker(newWorker("by-hand"));

  const auto all = workers();
  ASSERT_EQ(all.size(), 3U) << "those that were launched";
  EXPECT_EQ(all[0].launched_at, begin);
  EXPECT_EQ(all[0].registered_at, begin + 1s);
  EXPECT_EQ(all[0].ended_at, begin + 2s);
  EXPECT_TRUE(all[0].worked);
  EXPECT_EQ(all[0].host, "here");
  EXPECT_EQ(all[1].ended_at, begin + 3s);
  EXPECT_FALSE(all[1].worked);
  EXPECT_FALSE(all[2].registered_at);
  EXPECT_FALSE(all[2].ended_at);
  EXPECT_EQ(workers(1).size(), 3U);
  EXPECT_EQ(workers(2).size(), 3U);
  EXPECT_EQ(workers(1000, begin + 1s, begin + 3s).size(), 1U) << "by their launch";
}

}  // namespace
}  // namespace muster::test
