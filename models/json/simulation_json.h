#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/json/json_doc.h"
#include "models/json/json_writer.h"
#include "models/policy/simulation.h"
#include "models/pool.h"
#include "models/result.h"

namespace muster {

// What a pool's record is to be replayed with.
struct SimulationRequest {
  PoolSettings changes;      // of scaling, worker_mode, slots and jobs_per_worker
  std::optional<Time> from;  // absent: the first job on record
  std::optional<Time> to;    // absent: now
};

// Notes every fault; what could be read is in the answer.
SimulationRequest readSimulation(JsonValue value, std::vector<FieldError>& faults);

struct SimulationReport {
  PoolId pool;
  Time from;
  Time to;
  std::int64_t jobs = 0;
  std::int64_t tries = 0;
  std::int64_t left_out = 0;
  PoolSettings policy;  // in force, as it was simulated
  LoadFigures simulated;
  LoadFigures recorded;
  std::string note;  // what the figures leave out or guess
};

void writeSimulation(JsonWriter& out, const SimulationReport& report);

}  // namespace muster
