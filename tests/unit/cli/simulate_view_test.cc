#include "app/cli/simulate_view.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kAnswer = R"({"pool_id":"p","from":"2026-01-01T00:00:00.000Z",
    "to":"2026-01-01T01:00:00.000Z","jobs":10,"tries":11,"left_out":0,
    "simulated":{"launches":3,"worker_seconds":75.5,"p50_wait_ms":20,"p95_wait_ms":1500,
      "max_wait_ms":61000,"peak_workers":3,"wasted_starts":1,"unfinished_jobs":0,
      "finished_at":"2026-01-01T00:59:00.000Z"},
    "recorded":{"launches":11,"worker_seconds":12,"p50_wait_ms":5,"p95_wait_ms":9,
      "max_wait_ms":12,"peak_workers":10,"wasted_starts":0,"unfinished_jobs":2},"note":"n"})";

TEST(SimulateView, oneColumnForTheRecordAndOneForEachPolicy) {
  const auto answer = JsonAnswer::parse(kAnswer);
  EXPECT_EQ(simulationText({{"max_workers=3", answer->root()}, {"B", answer->root()}}, 0, false),
            "10 jobs, 11 tries from 2026-01-01T00:00:00.000Z to 2026-01-01T01:00:00.000Z\n"
            "\n"
            "                 RECORDED             max_workers=3                         B\n"
            "launches               11                         3                         3\n"
            "worker time           12s                    1m 15s                    1m 15s\n"
            "wait p50              5ms                      20ms                      20ms\n"
            "wait p95              9ms                        1s                        1s\n"
            "wait max             12ms                     1m 1s                     1m 1s\n"
            "peak workers           10                         3                         3\n"
            "wasted starts           0                         1                         1\n"
            "unfinished jobs         2                         0                         0\n"
            "finished at             -  2026-01-01T00:59:00.000Z  2026-01-01T00:59:00.000Z\n"
            "\n"
            "n\n");
}

TEST(SimulateView, notesThatDifferNameTheirPolicy) {
  std::string other = kAnswer;
  other.replace(other.rfind("\"n\""), 3, "\"m\"");
  const auto a = JsonAnswer::parse(kAnswer), b = JsonAnswer::parse(other);
  const std::string text = simulationText({{"A", a->root()}, {"B", b->root()}}, 0, false);
  EXPECT_TRUE(text.ends_with("\n\nA: n\nB: m\n")) << text;
}

}  // namespace
}  // namespace muster
