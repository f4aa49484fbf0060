#include "models/json/explain_json.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Answer {
  std::vector<std::string> faults;
  ExplainRequest request;
  std::string text;
};

Answer explain(const std::string& body) {
  PoolSettings defaults = PoolSettings::builtIn();
  defaults.adaptive_max_workers = 9;
  const auto doc = JsonDoc::parse(body);
  std::vector<FieldError> faults;
  Answer answer;
  answer.request = readExplain(doc->root(), defaults, faults);
  for (const FieldError& fault : faults) answer.faults.push_back(fault.pointer);
  JsonWriter out;
  writeExplanation(out, answer.request, fromMillis(0));
  answer.text = out.take();
  return answer;
}

const std::string kState =
    R"("state":{"current_workers":2,"queue_depth":100,"p95_latency_ms":10,"in_flight_jobs":1)";

TEST(ExplainJson, anAdaptiveDecisionWithAllItsReasons) {
  EXPECT_EQ(explain("{" + kState + R"(,"last_scale_age_ms":-20}})").text,
            R"x({"direction":"hold","current_workers":2,"desired_workers":2,"delta":0,)x"
            R"x("reason":"Cooldown active (0.0s < 1.5s)",)x"
            R"x("up_reasons":["queue depth 100 > 50 (2.0x)"],)x"
            R"x("down_blockers":["queue depth 100 > 15.0"],)x"
            R"x("cooldown":{"active":true,"remaining_ms":1500,"clock_skew_ms":20},)x"
            R"x("config":{"min_workers":1,"max_workers":9,"target_p95_latency_ms":2000,)x"
            R"x("target_queue_depth":50,"scale_up_step":2,"scale_down_step":1,)x"
            R"x("scale_decision_interval_ms":1500}})x");
}

TEST(ExplainJson, theConfigOverridesThePresetAndThatTheService) {
  const auto config = [](const std::string& rest) {
    return explain("{" + kState + "}," + rest + "}").request.adaptive_config;
  };
  EXPECT_EQ(config(R"("preset":"low-latency")").max_workers, 24);
  EXPECT_EQ(config(R"("preset":"low-latency","config":{"scale_up_step":7})").scale_up_step, 7);
  EXPECT_EQ(config(R"("preset":"low-latency","config":{"scale_up_step":7})").min_workers, 4);
  EXPECT_EQ(config(R"("preset":"low-latency","config":{"max_workers":2})").min_workers, 2)
      << "only the maximum was lowered";
}

TEST(ExplainJson, everyFaultIsNamed) {
  using Faults = std::vector<std::string>;
  EXPECT_EQ(explain("{}").faults, Faults{"/state"});
  EXPECT_EQ(explain(R"({"state":{}})").faults,
            (Faults{"/state/current_workers", "/state/queue_depth", "/state/p95_latency_ms",
                    "/state/in_flight_jobs"}));
  EXPECT_EQ(explain("{" + kState + R"(},"config":{"min_workers":5,"max_workers":4}})").faults,
            Faults{"/config/min_workers"});
  EXPECT_EQ(explain("{" + kState + R"(},"config":{"scale_up_step":-1}})").faults,
            Faults{"/config/scale_up_step"});
  EXPECT_EQ(explain("{" + kState + R"(},"config":{"scale_up_step":"2"}})").faults,
            Faults{"/config/scale_up_step"});
  EXPECT_EQ(explain("{" + kState + R"(},"preset":"fast"})").faults, Faults{"/preset"});
  EXPECT_EQ(explain("{" + kState + R"(,"busy":1}})").faults, Faults{"/state/busy"})
      << "a figure of the other mode";
}

TEST(ExplainJson, aDecisionOfQueueMode) {
  const auto answer =
      explain(R"({"mode":"queue","state":{"runnable":10,"idle":1},"config":{"slots":4,)"
              R"("jobs_per_worker":4}})");
  EXPECT_EQ(answer.faults, std::vector<std::string>{});
  EXPECT_EQ(answer.request.state.free_slots, 4) << "of the idle one";
  EXPECT_NE(answer.text.find(R"("to_launch":2,"launched":0)"), std::string::npos) << answer.text;
  EXPECT_NE(answer.text.find(R"("binding_limit":"demand")"), std::string::npos);
  EXPECT_EQ(answer.text.find("pool_id"), std::string::npos);
  EXPECT_NE(explain(R"({"mode":"queue","state":{"runnable":20,"host_slots_free":6},)"
                    R"("config":{"max_workers":50}})")
                .text.find(R"("binding_limit":"host_slots")"),
            std::string::npos);
  const std::string full =
      explain(R"({"mode":"queue","state":{"runnable":2,"resource_allowance":0}})").text;
  EXPECT_NE(full.find(R"("binding_limit":"resource_pressure")"), std::string::npos) << full;
  EXPECT_NE(full.find(R"("resource_pressure":0)"), std::string::npos) << full;
}

}  // namespace
}  // namespace muster
