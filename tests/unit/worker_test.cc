#include "models/worker.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ExitReason, isAWordForEachWayToEnd) {
  const ProcessEnd ok{.exit_code = 0}, error{.exit_code = 3}, killed{.exit_signal = 9}, gone;
  struct Row {
    std::string_view status;
    const ProcessEnd& end;
    std::string_view reason;
  };
  for (const Row& row : {Row{"starting", ok, "not_registered"},
                         {"starting", killed, "not_registered"},
                         {"lost", killed, "lost"},
                         {"lost", gone, "lost"},
                         {"terminated", ok, "ok"},
                         {"active", ok, "ok"},
                         {"active", error, "error"},
                         {"active", killed, "signal"},
                         {"terminating", killed, "signal"},
                         {"active", gone, "unknown"}}) {
    EXPECT_EQ(exitReason(row.status, row.end), row.reason) << row.status << " " << row.end.text();
  }
}

}  // namespace
}  // namespace muster
