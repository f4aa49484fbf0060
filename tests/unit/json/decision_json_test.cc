#include "models/json/decision_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

std::string textOf(const Decision& decision) {
  JsonWriter out;
  writeDecision(out, decision);
  return out.take();
}

TEST(DecisionJson, jobsThatCannotBePlacedAreListedOnlyWhereThereAreAny) {
  Decision decision;
  decision.inputs = decision.limits = "{}";
  EXPECT_EQ(textOf(decision).find("unplaceable"), std::string::npos);
  decision.unplaceable = {{3, R"({"region":"eu"})", R"(no "eu")"}, {1, R"({"region":"us"})", "x"}};
  EXPECT_NE(textOf(decision).find(
                R"("unplaceable":[{"count":3,"placement":{"region":"eu"},"reason":"no \"eu\""},)"
                R"({"count":1,"placement":{"region":"us"},"reason":"x"}])"),
            std::string::npos)
      << textOf(decision);
}

TEST(DecisionJson, theInputsCountThem) {
  ScaleState state;
  state.unplaceable = 3;
  EXPECT_NE(writeScaleState(state).find(R"("unplaceable":3)"), std::string::npos);
}

}  // namespace
}  // namespace muster
