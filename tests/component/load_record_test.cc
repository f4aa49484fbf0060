#include "app/metrics/load_record.h"

#include <gtest/gtest.h>

#include "models/store/storage.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

// A record that hears of what is committed to a store.
class LoadRecordTest : public testing::Test {
 protected:
  LoadRecordTest() {
    StorageOptions options;
    options.url = "memory:";
    options.rules.pool_defaults.retry_jitter = 0.0;
    options.rules.pool_defaults.retry_base_ms = 5000;
    options.on_commit = [this](std::span<const Event> events) { record.hear(events); };
    storage = openStorage(options, clock).value();
  }
  ~LoadRecordTest() override { storage->stop(); }

  // When it returns, the record has heard of it.
  void write(const Storage::Unit& unit) {
    ASSERT_TRUE(storage->writeAndWait(unit));
    ASSERT_TRUE(storage->writeAndWait([](Store&) {}));
  }
  void push(const std::string& pool = "p") {
    write([&](Store& s) {
      s.jobs().push(*s.pools().findOrCreate(PoolId(pool)).value(), {.data = "1"});
    });
  }
  Job claim() {
    Job job;
    write([&](Store& s) { job = s.jobs().claim(*s.pools().find(PoolId("p")), "w", {}, 1).at(0); });
    return job;
  }
  void complete(const Job& job) {
    write([&](Store& s) { s.jobs().complete(job.id, {job.lease_token, ""}, {}, "").value(); });
  }
  void fail(const Job& job) {
    write([&](Store& s) { s.jobs().fail(job.id, {job.lease_token, ""}, {}).value(); });
  }
  void writeRecord() {
    write([this](Store& s) { record.writeTo(s); });
  }
  LoadCounts unwritten() {
    LoadCounts sum;
    for (const auto& [step, counts] : record.unwritten(PoolId("p"), Time())) sum.merge(counts);
    return sum;
  }
  LoadCounts stored() {
    LoadCounts sum;
    write([&](Store& s) {
      sum = {};
      for (const LoadStep& step : s.load().steps(PoolId("p"), Time(), s.now() + 1h)) {
        sum.merge(step.counts);
      }
    });
    return sum;
  }

  FakeClock clock;
  LoadRecord record;
  std::unique_ptr<Storage> storage;
};

TEST_F(LoadRecordTest, timesAreTakenFromWhenAJobWasDue) {
  push();
  clock.advance(10ms);
  const Job job = claim();
  clock.advance(20ms);
  fail(job);  // due again after five seconds
  clock.advance(6s);
  const Job again = claim();
  clock.advance(30ms);
  complete(again);
  const LoadCounts seen = unwritten();
  EXPECT_EQ(seen.added, 1);
  EXPECT_EQ(seen.claimed, 2);
  EXPECT_EQ(seen.failed, 1);
  EXPECT_EQ(seen.done, 1);
  Durations waits, runs, totals;
  waits.add(10ms), waits.add(1s);
  runs.add(20ms), runs.add(30ms);
  totals.add(30ms), totals.add(1030ms);
  EXPECT_EQ(seen.waits.encode(), waits.encode());
  EXPECT_EQ(seen.runs.encode(), runs.encode());
  EXPECT_EQ(seen.totals.encode(), totals.encode());
  EXPECT_EQ(seen.run_time, 50ms);
}

TEST_F(LoadRecordTest, a_blocked_job_is_added_when_it_is_unblocked) {
  Event event;
  event.pool = "p";
  event.job = "j";
  event.at = clock.now();
  event.type = event_type::kJobCreated;
  event.details = R"({"blocked":true})";
  record.hear(std::vector{event});
  EXPECT_TRUE(record.empty()) << "nobody could work on it yet";
  event.type = event_type::kJobUnblocked;
  event.details.clear();
  event.at += 60s;
  record.hear(std::vector{event});
  EXPECT_EQ(unwritten().added, 1);
  EXPECT_EQ(record.unwritten(PoolId("p"), loadStepOf(event.at)).size(), 1U) << "at that time";
}

TEST_F(LoadRecordTest, whatIsWrittenIsWrittenOnce) {
  push(), push();
  EXPECT_FALSE(record.empty());
  write([this](Store& s) {
    record.writeTo(s);
    record.writeTo(s);
  });
  EXPECT_TRUE(record.empty());
  EXPECT_EQ(unwritten(), LoadCounts());
  push();
  writeRecord();
  writeRecord();
  EXPECT_EQ(stored().added, 3);
}

TEST_F(LoadRecordTest, aUnitThatFailsGivesItBack) {
  push();
  EXPECT_FALSE(storage->writeAndWait([this](Store& s) {
    record.writeTo(s);
    EXPECT_EQ(unwritten().added, 1) << "others do not see it in the store yet";
    throw std::runtime_error("no");
  }));
  EXPECT_EQ(unwritten().added, 1);
  push();
  writeRecord();
  EXPECT_EQ(stored().added, 2);
}

TEST_F(LoadRecordTest, aPoolThatIsDeletedIsForgotten) {
  push("q");
  push();
  write([](Store& s) {
    s.jobs().purgeMany(PoolId("p"), {.statuses = {JobStatus::kPending}}, {}, 10, 10);
  });
  write([](Store& s) { ASSERT_TRUE(s.pools().remove(PoolId("p"))); });
  EXPECT_EQ(unwritten(), LoadCounts());
  EXPECT_EQ(record.unwritten(PoolId("q"), Time()).size(), 1U);
}

TEST_F(LoadRecordTest, stepsBeginAtWholeTensOfSeconds) {
  clock.advance(loadStepOf(clock.now()) + 10s - clock.now());
  push();
  clock.advance(9999ms);
  push();
  clock.advance(1ms);
  push();
  const auto steps = record.unwritten(PoolId("p"), Time());
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps.begin()->second.added, 2);
  EXPECT_EQ(record.unwritten(PoolId("p"), clock.now()).size(), 1U);
}

}  // namespace
}  // namespace muster
