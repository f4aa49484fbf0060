#include "app/cli/top_view.h"

#include <gtest/gtest.h>

#include "app/cli/table.h"

namespace muster {
namespace {

constexpr Time kNow = Time(Seconds(1'800'000'000));

TopSnapshot snapshotOf(std::size_t pools, std::size_t workers) {
  TopSnapshot snapshot;
  snapshot.url = "http://h:1";
  snapshot.now = kNow;
  for (std::size_t i = 0; i < pools; ++i) {
    PoolGlance pool;
    pool.pool = "pool" + std::to_string(i);
    pool.queue = 7;
    pool.runnable = 5;
    pool.claimed = 2;
    pool.busy = 2;
    pool.max_workers = "3";
    pool.oldest_pending_seconds = 1.5;
    pool.launches = "ok";
    snapshot.pools.push_back(pool);
  }
  for (std::size_t i = 0; i < workers; ++i) {
    snapshot.workers.push_back({"w" + std::to_string(i), "pool0", "busy", "job" + std::to_string(i),
                                kNow - Seconds(65), kNow - Seconds(2)});
  }
  return snapshot;
}

std::string withoutColors(const std::string& line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = line.find('m', i);
    } else {
      out += line[i];
    }
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(TopView, showsPoolsAndThenTheirWorkers) {
  const std::string titles =
      "POOL   QUEUE  RUNNABLE  CLAIMED  DONE  POISONED  START  BUSY  IDLE  END  MAX  OLDEST  "
      "LAUNCHES";
  const std::string numbers =
      "pool0      7         5        2     0         -      -     2     -    -    3      1s  ok";
  EXPECT_EQ(renderTop(snapshotOf(1, 1), 0, 0, false),
            (Lines{"muster top  http://h:1  2027-01-15T08:00:00.000Z  pools 1, workers 1", "",
                   titles, numbers, "", "WORKER  POOL   STATUS    AGE  HEARTBEAT  JOB",
                   "w0      pool0  busy    1m 5s         2s  job0"}));
}

TEST(TopView, jobsThatCannotBePlacedHaveAColumnWhileThereAreAny) {
  auto snapshot = snapshotOf(2, 0);
  snapshot.pools[1].unplaceable = 3;
  const auto lines = renderTop(snapshot, 0, 0, false);
  EXPECT_EQ(lines.at(2).substr(0, 41), "POOL   QUEUE  RUNNABLE  UNPLACEABLE  CLAI");
  EXPECT_EQ(lines.at(3).substr(0, 35), "pool0      7         5            -");
  EXPECT_EQ(lines.at(4).substr(0, 35), "pool1      7         5            3");
}

TEST(TopView, blocked_jobs_have_a_column_while_there_are_any) {
  auto snapshot = snapshotOf(2, 0);
  snapshot.pools[1].blocked = 12;
  const auto lines = renderTop(snapshot, 0, 0, false);
  EXPECT_EQ(lines.at(2).substr(0, 37), "POOL   QUEUE  RUNNABLE  BLOCKED  CLAI");
  EXPECT_EQ(lines.at(3).substr(0, 31), "pool0      7         5        -");
  EXPECT_EQ(lines.at(4).substr(0, 31), "pool1      7         5       12");
}

TEST(TopView, saysWhenThereIsNothing) {
  const auto lines = renderTop(snapshotOf(0, 0), 80, 24, false);
  EXPECT_EQ(lines.at(2), "no pools");
  EXPECT_EQ(lines.at(4), "no workers");
}

TEST(TopView, saysWhyItIsOld) {
  auto snapshot = snapshotOf(1, 0);
  snapshot.trouble = "cannot reach the service\x1b[2J\n";
  EXPECT_EQ(renderTop(snapshot, 0, 0, false).at(1), "cannot reach the service?[2J ");
}

TEST(TopView, neverLeavesTheScreen) {
  for (std::size_t height = 1; height < 40; ++height) {
    for (const std::size_t width : {1U, 20U, 60U, 120U}) {
      const auto lines = renderTop(snapshotOf(12, 12), width, height, true);
      EXPECT_LE(lines.size(), height);
      for (const auto& line : lines) EXPECT_LE(displayWidth(withoutColors(line)), width) << line;
    }
  }
}

TEST(TopView, countsWhatDoesNotFit) {
  const auto lines = renderTop(snapshotOf(2, 20), 200, 15, false);
  ASSERT_EQ(lines.size(), 15U);
  EXPECT_EQ(lines.at(3).substr(0, 5), "pool0");
  EXPECT_EQ(lines.at(7).substr(0, 2), "w0");
  EXPECT_EQ(lines.back(), "… 13 more workers");
  const auto pools = renderTop(snapshotOf(20, 1), 200, 12, false);
  EXPECT_EQ(pools.at(8), "… 15 more pools");
  EXPECT_EQ(pools.back().substr(0, 2), "w0");
}

}  // namespace
}  // namespace muster
