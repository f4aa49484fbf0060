#include "app/cli/explain_figures.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ExplainFigures, eachStandsWhereItBelongs) {
  EXPECT_EQ(readExplainFigures({"queue_depth=100", "max_workers=5", "preset=balanced",
                                "p95_latency_ms=0.5", "worker_mode=loop"})
                .value(),
            R"({"preset":"balanced","state":{"p95_latency_ms":0.5,"queue_depth":100},)"
            R"("config":{"max_workers":5,"worker_mode":"loop"}})");
  EXPECT_EQ(readExplainFigures({"runnable=many"}).value(), R"({"state":{"runnable":"many"}})")
      << "for the service to judge";
}

TEST(ExplainFigures, everyWordThatIsNoneIsNamed) {
  const auto made = readExplainFigures({"queue_dept=1", "busy", "idle=1", "idle=2"});
  ASSERT_FALSE(made);
  ASSERT_EQ(made.error().fields.size(), 3U);
  EXPECT_NE(made.error().fields[0].detail.find("queue_depth"), std::string::npos);
  EXPECT_EQ(made.error().fields[1].detail, "expected name=value");
  EXPECT_EQ(made.error().fields[2].detail, "is given twice");
}

}  // namespace
}  // namespace muster
