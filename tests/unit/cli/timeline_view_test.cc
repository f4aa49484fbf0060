#include "app/cli/timeline_view.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string textForTimeline(const std::string& items) {
  const auto answer = JsonAnswer::parse("{\"items\":[" + items + "]}");
  return timelineTable(answer->root()).render(0, false);
}

TEST(TimelineView, aLineForEachPieceWithABarForTheQueue) {
  EXPECT_EQ(textForTimeline(R"(
      {"at":"2026-01-15T09:28:00.000Z","peak_queue_depth":0,"workers":0,"busy_workers":0,"added":0,
       "done":0,"failed":0,"poisoned":0,"wait_p50_ms":0,"wait_p95_ms":0,"run_p95_ms":0},
      {"at":"2026-01-15T09:29:00.000Z","peak_queue_depth":100,"workers":4,"busy_workers":3,
       "added":120,"done":20,"failed":1,"poisoned":1,"wait_p50_ms":14,"wait_p95_ms":1304.5,
       "run_p95_ms":824},
      {"at":"2026-01-15T09:30:00.000Z","peak_queue_depth":1,"workers":4,"busy_workers":1,"added":0,
       "done":99,"failed":0,"poisoned":0,"wait_p50_ms":0.5,"wait_p95_ms":0,"run_p95_ms":65000})"),
            "FROM (UTC)           QUEUE                WORKERS  BUSY  ADDED  DONE  FAILED  "
            "WAIT P50  WAIT P95  RUN P95\n"
            "2026-01-15 09:28:00      -                      -     -      -     -       -  "
            "       -         -        -\n"
            "2026-01-15 09:29:00    100  ████████████        4     3    120    20       2  "
            "    14ms      1.3s    824ms\n"
            "2026-01-15 09:30:00      1  ▏                   4     1      -    99       -  "
            "     1ms         -    1m 5s\n");
}

}  // namespace
}  // namespace muster
