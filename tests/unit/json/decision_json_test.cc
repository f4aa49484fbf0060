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
  const Decision decision = describeDecision(state, {}, {}, {});
  EXPECT_NE(decision.inputs.find(R"("unplaceable":3)"), std::string::npos);
}

TEST(DecisionJson, theAgeOfTheLastActionIsTheInputOfACooldown) {
  ScaleState state;
  ScaleConfig config;
  config.adaptive = AdaptiveConfig{};
  state.last_scale_age = Millis(1499);
  ScaleDecision hold, up;
  up.direction = "up";
  const auto has_age = [&](const ScaleDecision& scale) {
    return describeDecision(state, {}, config, scale).inputs.find("last_scale_age_ms") !=
           std::string::npos;
  };
  EXPECT_TRUE(has_age(hold));
  state.last_scale_age = Millis(1500);
  EXPECT_FALSE(has_age(hold)) << "or every look would be a new decision";
  EXPECT_TRUE(has_age(up));
}

}  // namespace
}  // namespace muster
