#include "app/cli/decision_view.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string textForDecision(const std::string& json) {
  const auto answer = JsonAnswer::parse(json);
  return decisionText(answer->root(), 0, false);
}

TEST(DecisionView, theSentenceComesFirstAndTheLimitThatBoundIsMarked) {
  EXPECT_EQ(
      textForDecision(R"({"reason":"2 runnable jobs: max_workers allows 0","inputs":{"runnable":2,
      "busy":3,"idle":0},"limits":{"min_workers":0,"max_workers":3},
      "binding_limit":"max_workers"})"),
      "2 runnable jobs: max_workers allows 0\n"
      "\n"
      "INPUT     NOW  LIMIT        VALUE\n"
      "runnable    2  min_workers      0\n"
      "busy        3  max_workers      3  ← binds\n"
      "idle        0\n");
}

TEST(DecisionView, aRateIsFoundAmongTheLimitsByItsTokens) {
  EXPECT_NE(textForDecision(R"({"reason":"r","inputs":{},"limits":{"launch_tokens":0},
      "binding_limit":"launch_rate"})")
                .find("launch_tokens      0  ← binds"),
            std::string::npos);
}

TEST(DecisionView, whatIsNoNumberHasALineOfItsOwn) {
  for (const std::string limit : {"paused", "no_template", "unknown_state"}) {
    const std::string text = textForDecision(R"({"reason":"r","inputs":{"runnable":1},"limits":{
        "max_workers":3},"binding_limit":")" +
                                             limit + R"("})");
    const auto line = text.find(limit);
    ASSERT_NE(line, std::string::npos) << text;
    EXPECT_NE(text.find("← binds", line), std::string::npos) << text;
  }
}

TEST(DecisionView, withoutALimitNothingIsMarked) {
  for (const std::string limit : {"demand", "no_demand"}) {
    const std::string text = textForDecision(
        R"({"reason":"r","inputs":{},"limits":{"max_workers":3},"binding_limit":")" + limit +
        R"("})");
    EXPECT_EQ(text.find("binds"), std::string::npos) << text;
    EXPECT_EQ(text.find("demand"), std::string::npos) << text;
  }
}

TEST(DecisionView, jobsThatCannotBePlacedHaveALineForEachPlacement) {
  const std::string text = textForDecision(R"({"reason":"r","inputs":{"unplaceable":4},"limits":{},
      "binding_limit":"no_demand","unplaceable":[
      {"count":3,"placement":{"requires_capabilities":["gpu"]},"reason":"no worker has a \u001bGPU"},
      {"count":1,"placement":{"region":"eu"},"reason":"nobody is there"}]})");
  EXPECT_EQ(text.substr(text.find("\n\n", text.find("INPUT"))),
            "\n\n"
            "UNPLACEABLE  BECAUSE               PLACEMENT\n"
            "          3  no worker has a ?GPU  {\"requires_capabilities\":[\"gpu\"]}\n"
            "          1  nobody is there       {\"region\":\"eu\"}\n")
      << text;
}

TEST(DecisionView, decisionsHaveALineEach) {
  const auto answer = JsonAnswer::parse(R"({"items":[{"at":"2026-01-01T00:00:00.000Z",
      "trigger":"work_added","direction":"up","launched":2,"binding_limit":"demand",
      "reason":"2 runnable jobs: launching 2"}]})");
  EXPECT_EQ(decisionTable(itemsOf(answer->root(), "items")).render(0, false),
            "AT                        TRIGGER     DIRECTION  LAUNCHED  LIMIT   REASON\n"
            "2026-01-01T00:00:00.000Z  work_added  up                2  demand  2 runnable jobs: "
            "launching 2\n");
}

}  // namespace
}  // namespace muster
