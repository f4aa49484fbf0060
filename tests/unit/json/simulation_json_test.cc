#include "models/json/simulation_json.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

struct Read {
  SimulationRequest request;
  std::set<std::string> faults;
};

Read readFrom(const std::string& text) {
  const auto doc = JsonDoc::parse(text).value();
  std::vector<FieldError> faults;
  Read read{readSimulation(doc.root(), faults), {}};
  for (const FieldError& fault : faults) read.faults.insert(fault.pointer);
  return read;
}

TEST(SimulationJson, allIsOptional) {
  const Read read = readFrom("{}");
  EXPECT_TRUE(read.faults.empty());
  EXPECT_EQ(read.request.changes, PoolSettings());
  EXPECT_FALSE(read.request.from || read.request.to);
}

TEST(SimulationJson, settingsAndTheTime) {
  const Read read = readFrom(
      R"({"scaling":{"mode":"adaptive","preset":"balanced"},"worker_mode":"loop","slots":2,
          "jobs_per_worker":null,"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"})");
  EXPECT_TRUE(read.faults.empty());
  EXPECT_EQ(read.request.changes.scaling_mode, "adaptive");
  EXPECT_EQ(read.request.changes.preset, "balanced");
  EXPECT_EQ(read.request.changes.worker_mode, "loop");
  EXPECT_EQ(read.request.changes.slots, 2);
  EXPECT_FALSE(read.request.changes.jobs_per_worker);
  EXPECT_EQ(formatTime(*read.request.from), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(formatTime(*read.request.to), "2026-01-02T00:00:00.000Z");
}

TEST(SimulationJson, everyFaultIsNoted) {
  EXPECT_EQ(
      readFrom(R"({"scaling":{"max_workers":"many"},"template":"t","retry":{},"to":5})").faults,
      (std::set<std::string>{"/scaling/max_workers", "/template", "/retry", "/to"}));
  EXPECT_EQ(readFrom(R"({"scaling":[],"from":"2026-01-02T00:00:00Z","to":"2026-01-02T00:00:00Z"})")
                .faults,
            (std::set<std::string>{"/scaling", "/from"}));
  EXPECT_EQ(readFrom("[]").faults, std::set<std::string>{""});
}

TEST(SimulationJson, theAnswer) {
  SimulationReport report;
  report.pool = PoolId("p");
  report.from = fromMillis(0);
  report.to = fromMillis(1000);
  report.jobs = 2;
  report.tries = 3;
  report.left_out = 1;
  report.policy = PoolSettings::builtIn();
  report.policy.template_name = "t";
  report.simulated = {4, Millis(1500), Millis(1), Millis(2), Millis(3), 5, 6, 7, fromMillis(900)};
  report.note = "n";
  JsonWriter out;
  writeSimulation(out, report);
  EXPECT_EQ(
      out.take(),
      R"({"pool_id":"p","from":"1970-01-01T00:00:00.000Z","to":"1970-01-01T00:00:01.000Z",)"
      R"("jobs":2,"tries":3,"left_out":1,"policy":{"worker_mode":"once","slots":1,)"
      R"("jobs_per_worker":1,"scaling":{"mode":"queue","min_workers":0,"max_workers":10,)"
      R"("warm_idle":0,"target_p95_latency_ms":2000,"target_queue_depth":50,"scale_up_step":2,)"
      R"("scale_down_step":1,"scale_decision_interval_ms":1500,"latency_signal":"wait",)"
      R"("predictive":false}},)"
      R"("simulated":{"launches":4,"worker_seconds":1.5,"p50_wait_ms":1,"p95_wait_ms":2,)"
      R"("max_wait_ms":3,"peak_workers":5,"wasted_starts":6,"unfinished_jobs":7,)"
      R"("finished_at":"1970-01-01T00:00:00.900Z"},)"
      R"("recorded":{"launches":0,"worker_seconds":0,"p50_wait_ms":0,"p95_wait_ms":0,)"
      R"("max_wait_ms":0,"peak_workers":0,"wasted_starts":0,"unfinished_jobs":0},"note":"n"})");
}

}  // namespace
}  // namespace muster
