#include <gtest/gtest.h>

#include "app/upkeep/duties.h"
#include "tests/component/flow_fan.h"

namespace muster {
namespace {

using namespace std::chrono_literals;
using test::completeNext;
using test::createFan;
using test::flowJob;

// The duties of the leader that concern flows.
class FlowDutyTest : public testing::Test {
 protected:
  FlowDutyTest() {
    StorageOptions options;
    options.url = "memory:";
    storage = openStorage(options, clock).value();
  }
  ~FlowDutyTest() override { storage->stop(); }

  FlowId create(std::optional<Millis> deadline = {}) {
    CreateFlow op;
    op.jobs = {flowJob("a", "p"), flowJob("b", "p", {"a"})};
    op.deadline = deadline;
    FlowId id;
    write([&](Store& store) { id = run(op, store).value().flow.id; });
    return id;
  }
  DutyReport runTheDuties() {
    DutyReport report;
    write([&](Store& store) { report = runDuties(store, Retention{24h}); });
    return report;
  }
  void settle() {
    for (bool more = true; more;) {
      write([&](Store& store) { more = run(SettleFlows{}, store).value().more; });
    }
  }
  std::optional<Flow> find(const FlowId& id) {
    std::optional<Flow> flow;
    write([&](Store& store) {
      flow.reset();
      if (auto shown = run(FindFlow{id}, store)) flow = shown->flow;
    });
    return flow;
  }
  PoolStats stats(const std::string& pool) {
    PoolStats found;
    write([&](Store& store) { found = store.pools().stats(PoolId(pool)); });
    return found;
  }
  void write(const Storage::Unit& unit) { ASSERT_TRUE(storage->writeAndWait(unit)); }

  FakeClock clock;
  std::unique_ptr<Storage> storage;
};

TEST_F(FlowDutyTest, a_flow_ends_at_its_deadline) {
  const FlowId overdue = create(60s), later = create(61s), never = create();
  clock.advance(59999ms);
  runTheDuties();
  settle();
  EXPECT_EQ(find(overdue)->status, FlowStatus::kRunning);
  clock.advance(1ms);
  runTheDuties();
  settle();
  const auto ended = find(overdue);
  EXPECT_EQ(ended->status, FlowStatus::kFailed);
  EXPECT_EQ(ended->reason, "deadline");
  EXPECT_EQ(ended->counts.cancelled, 2);
  EXPECT_EQ(find(later)->status, FlowStatus::kRunning);
  EXPECT_EQ(find(never)->status, FlowStatus::kRunning);
}

TEST_F(FlowDutyTest, a_flow_and_its_jobs_are_kept_for_the_retention) {
  const FlowId ended = create();
  completeNext(*storage, "p");
  clock.advance(48h);
  completeNext(*storage, "p");
  settle();
  ASSERT_EQ(find(ended)->status, FlowStatus::kSucceeded);
  const FlowId running = create();
  clock.advance(24h);
  runTheDuties();
  settle();
  EXPECT_TRUE(find(ended)) << "its first job is older, but it is not";
  EXPECT_EQ(stats("p").done, 2);
  clock.advance(1ms);
  EXPECT_GT(runTheDuties().records_removed, 0);
  settle();
  EXPECT_FALSE(find(ended));
  EXPECT_EQ(stats("p").done, 0);
  EXPECT_TRUE(find(running)) << "however old";
  EXPECT_EQ(stats("p").blocked, 1);
}

TEST_F(FlowDutyTest, they_are_run_again_while_there_is_more) {
  for (int i = 0; i < 150; ++i) create(1s);
  clock.advance(1s);
  EXPECT_TRUE(runTheDuties().more) << "100 at once";
  EXPECT_FALSE(runTheDuties().more);
  settle();
  EXPECT_EQ(stats("p").cancelled, 300);
  clock.advance(24h + 1ms);
  EXPECT_TRUE(runTheDuties().more);
  while (runTheDuties().more) {
  }
  settle();
  EXPECT_EQ(stats("p").cancelled, 0);
}

}  // namespace
}  // namespace muster
