#include "tests/store/store_fixture.h"

namespace muster::test {
namespace {

// What jobs did over time, as several nodes record it.
class LoadTest : public StoreTest {
 protected:
  LoadTest() {
    for (const char* pool : {"p", "q"}) setPool({}, pool);
  }
  void actAs(const std::string& node) {
    rules.node = node;
    reopen();
  }
  static LoadCounts waited(std::vector<int> waits) {
    LoadCounts counts;
    for (const int ms : waits) counts.waits.add(Millis(ms));
    counts.claimed = static_cast<std::int64_t>(waits.size());
    return counts;
  }
  void add(const LoadCounts& counts, const std::string& pool = "p") {
    share([&](Store& s) { s.load().add({{{pool, loadStepOf(s.now())}, counts}}); });
  }
  void sample() {
    write([](Store& s) { s.load().sample(); });
  }
  double p95(const std::string& signal = "wait", const std::string& pool = "p") {
    return read([&](Store& s) { return s.load().p95Ms(PoolId(pool), signal); });
  }
  std::vector<LoadStep> steps(const std::string& pool = "p") {
    return read(
        [&](Store& s) { return s.load().steps(PoolId(pool), s.now() - 1h, s.now() + 1ms); });
  }
  std::vector<LoadGauges> gauges(const std::string& pool = "p") {
    std::vector<LoadGauges> found;
    for (const LoadStep& step : steps(pool)) {
      if (step.gauges) found.push_back(*step.gauges);
    }
    return found;
  }
  std::vector<HourOfLoad> sameHours(int weeks) {
    return read([&](Store& s) { return s.load().sameHours(PoolId("p"), s.now(), weeks); });
  }
};
MUSTER_ON_EVERY_BACKEND(LoadTest);

TEST_P(LoadTest, whatIsAddedToAStepIsSummedUp) {
  LoadCounts counts = waited({10, 20});
  counts.added = 5, counts.done = 4, counts.failed = 3, counts.poisoned = 2, counts.cancelled = 1;
  counts.runs.add(7ms), counts.totals.add(9ms);
  add(counts);
  add(counts);
  const auto seen = steps();
  ASSERT_EQ(seen.size(), 1U);
  counts.merge(counts);
  EXPECT_EQ(seen[0].counts, counts);
  EXPECT_EQ(seen[0].at, loadStepOf(clock.now()));
  EXPECT_FALSE(seen[0].gauges);
  EXPECT_TRUE(steps("q").empty());
}

TEST_P(LoadTest, severalStepsAndPoolsAtOnce) {
  clock.advance(1h);
  const Time step = loadStepOf(clock.now());
  share([&](Store& s) {
    s.load().add({{{"p", step - 20s}, waited({1})},
                  {{"p", step}, waited({2, 3})},
                  {{"q", step}, waited({50})}});
  });
  const auto seen = steps();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].at, step - 20s);
  EXPECT_EQ(seen[1].counts, waited({2, 3}));
  EXPECT_EQ(p95("wait", "q"), 50);
}

TEST_P(LoadTest, thePercentileIsOfTheLastFiveMinutes) {
  EXPECT_EQ(p95(), 0) << "no sample";
  add(waited({60}));
  clock.advance(200s);
  add(waited({1, 2, 3}));
  EXPECT_EQ(p95(), 60);
  EXPECT_EQ(p95("wait", "q"), 0);
  clock.advance(120s);
  EXPECT_EQ(p95(), 3);
  clock.advance(300s);
  EXPECT_EQ(p95(), 0);
}

TEST_P(LoadTest, everySignalHasItsOwn) {
  LoadCounts counts = waited({1});
  counts.runs.add(20ms), counts.totals.add(21ms);
  add(counts);
  EXPECT_EQ(p95("wait"), 1);
  EXPECT_EQ(p95("run"), 20);
  EXPECT_EQ(p95("total"), 21);
}

TEST_P(LoadTest, ofAPoolThatIsGoneNothingIsKept) {
  add(waited({5}));
  ASSERT_TRUE(write([](Store& s) { return s.pools().remove(PoolId("p")); }));
  EXPECT_EQ(p95(), 0);
  add(waited({5}));
  setPool({});
  EXPECT_EQ(p95(), 0);
  EXPECT_TRUE(steps().empty());
  clock.advance(24h * 7);
  EXPECT_TRUE(sameHours(5).empty());
}

TEST_P(LoadTest, jobsAndWorkersAreCountedWhereThereAreAny) {
  push(), push();
  registerWorker(newWorker("a")), registerWorker(newWorker("b"));
  claim(1, "a");
  sample();
  EXPECT_EQ(gauges(), (std::vector<LoadGauges>{{1, 1, 2, 1}}));
  EXPECT_TRUE(gauges("q").empty());
  sample();
  EXPECT_EQ(gauges().size(), 1U) << "once in each step";
}

TEST_P(LoadTest, whenTheLastIsGoneItIsSaidOnce) {
  const Job job = push();
  sample();
  clock.advance(10s);
  write([&](Store& s) { return s.jobs().cancel(job.id, ""); }).value();
  sample();
  EXPECT_EQ(gauges(), (std::vector<LoadGauges>{{1, 0, 0, 0}, {}}));
  clock.advance(10s);
  sample();
  EXPECT_EQ(gauges().size(), 2U);
}

TEST_P(LoadTest, lookingAndAddingMeetInOneRow) {
  add(waited({5}));
  push();
  sample();
  add(waited({6}));
  const auto seen = steps();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].counts, waited({5, 6}));
  EXPECT_EQ(seen[0].gauges, (LoadGauges{1, 0, 0, 0}));
}

TEST_P(LoadTest, theLastLookBeforeATime) {
  const auto before = [this](Time time) {
    return read([&](Store& s) { return s.load().gaugesBefore(PoolId("p"), time); });
  };
  push();
  sample();
  const Time first = loadStepOf(clock.now());
  clock.advance(1h);
  push();
  sample();
  EXPECT_EQ(before(first), LoadGauges());
  EXPECT_EQ(before(first + 1ms), (LoadGauges{1, 0, 0, 0}));
  EXPECT_EQ(before(first + 2h), (LoadGauges{2, 0, 0, 0}));
}

TEST_P(LoadTest, theSameHourOfEarlierWeeks) {
  const Time hour = std::chrono::floor<std::chrono::hours>(clock.now());
  const auto addAt = [&](Time at, std::int64_t added) {
    LoadCounts counts;
    counts.added = added, counts.done = 2, counts.poisoned = 1, counts.failed = 9;
    counts.run_time = 1500ms;
    share([&](Store& s) { s.load().add({{{"p", at}, counts}}); });
  };
  addAt(hour, 10);
  addAt(hour + 59min + 50s, 1);
  addAt(hour + 1h, 100);
  addAt(hour + 24h, 100);
  clock.advance(24h * 7);
  addAt(hour + 24h * 7, 20);
  clock.advance(24h * 14);
  EXPECT_EQ(sameHours(4), (std::vector<HourOfLoad>{{2, 20, 3, 1500ms}, {3, 11, 6, 3000ms}}));
  EXPECT_EQ(sameHours(2).size(), 1U);
  EXPECT_TRUE(sameHours(1).empty());
}

TEST_P(LoadTest, whatIsTooOldGoesInPieces) {
  clock.advance(1h);
  const auto remove = [this](Time before, int limit) {
    return write([&](Store& s) { return s.load().removeOld(before, limit); });
  };
  for (int i = 0; i < 3; ++i) {
    add(with<LoadCounts>([](auto& counts) { counts.added = 1; }));
    clock.advance(10s);
  }
  const Time last = loadStepOf(clock.now()) - 10s;
  EXPECT_EQ(remove(last, 1), 1);
  EXPECT_EQ(remove(last, 100), 1) << "strictly older";
  EXPECT_EQ(steps().size(), 1U);
  clock.advance(24h * 34);
  EXPECT_EQ(remove(last, 100), 0) << "hours are kept longer";
  clock.advance(24h * 2);
  EXPECT_EQ(remove(last, 100), 1);
}

class LoadOfNodesTest : public LoadTest {};
MUSTER_ON_BACKENDS(LoadOfNodesTest, backendsThat(&Backend::keeps_data));

TEST_P(LoadOfNodesTest, eachNodeHasItsShareAndAllAreSeen) {
  for (const char* node : {"a", "b", "a"}) {
    actAs(node);
    LoadCounts counts = waited({node[0] == 'a' ? 10 : 40});
    counts.added = 1;
    add(counts);
  }
  const auto seen = steps();
  ASSERT_EQ(seen.size(), 2U) << "a row for each node";
  EXPECT_EQ(seen[0].counts.waits, waited({10, 10}).waits);
  EXPECT_EQ(seen[1].counts.waits, waited({40}).waits);
  EXPECT_EQ(p95(), 40);
  clock.advance(24h * 7);
  const auto hours = sameHours(1);
  ASSERT_EQ(hours.size(), 1U);
  EXPECT_EQ(hours[0].added, 3);
}

TEST_P(LoadOfNodesTest, aNewLeaderKnowsWhatTheLastOneSaw) {
  actAs("a");
  const Job job = push();
  sample();
  clock.advance(10s);
  write([&](Store& s) { return s.jobs().cancel(job.id, ""); }).value();
  actAs("b");
  sample();
  EXPECT_EQ(gauges(), (std::vector<LoadGauges>{{1, 0, 0, 0}, {}}));
}

// The same of many pools as of one.
class OverviewTest : public StoreTest {};
MUSTER_ON_EVERY_BACKEND(OverviewTest);

TEST_P(OverviewTest, tellsOfEveryPoolWhatItsStatsTell) {
  registerWorker(newWorker("a")), registerWorker(newWorker("b", "", {}, "q"));
  registerWorker(newWorker("gone"));
  write([](Store& s) {
    return s.workers().change(WorkerId("gone"),
                              with<WorkerChange>([](auto& c) { c.status = "terminating"; }));
  }).value();
  setPool({}, "empty");
  push({.data = "1", .tenant = "t"});
  clock.advance(5s);
  complete(pushAndClaim({.data = "1"}, "b")).value();
  fail(pushAndClaim({.data = "1", .max_retries = 0}, "b")).value();
  claim(1, "a");
  for (const char* pool : {"p", "q"}) {
    NewJob nowhere{.data = "1"};
    nowhere.placement.capabilities = {"gpu"};
    push(nowhere, pool);
    nowhere.delay = 60s;
    push(nowhere, pool);
  }
  clock.advance(5s);
  const auto all = read([](Store& s) { return s.pools().overview(); });
  ASSERT_EQ(all.size(), 3U);
  for (const auto& [pool, counted] : all) {
    const PoolStats one = stats(pool->id.str());
    const auto numbers = [](const PoolStats& s) {
      return std::vector<double>{static_cast<double>(s.pending),
                                 static_cast<double>(s.claimed),
                                 static_cast<double>(s.done),
                                 static_cast<double>(s.poisoned),
                                 static_cast<double>(s.cancelled),
                                 static_cast<double>(s.unplaceable),
                                 static_cast<double>(s.starting_workers),
                                 static_cast<double>(s.active_workers),
                                 static_cast<double>(s.busy_workers),
                                 static_cast<double>(s.idle_workers),
                                 static_cast<double>(s.lost_workers),
                                 static_cast<double>(s.terminating_workers),
                                 s.oldest_pending_seconds};
    };
    EXPECT_EQ(numbers(counted), numbers(one)) << pool->id.str();
  }
  EXPECT_EQ(all[1].stats.unplaceable, 1);
  EXPECT_EQ(all[1].stats.busy_workers, 1);
}

}  // namespace
}  // namespace muster::test
