#pragma once

#include "bench/report.h"
#include "bench/workshop.h"

namespace muster::bench {

// Each measures what its name says and adds its lines to the report.
void measurePush(const Workshop& shop, Report& report);
void measureClaim(const Workshop& shop, Report& report);
void measureLatency(const Workshop& shop, Report& report);
void measureBatch(const Workshop& shop, Report& report);
void measureBulk(const Workshop& shop, Report& report);
void measureTenants(const Workshop& shop, Report& report);
void measureLaunching(const Workshop& shop, Report& report);
void measureBehind(const Workshop& shop, Report& report);
void measureMetrics(const Workshop& shop, Report& report);
void measurePostgres(const Workshop& shop, Report& report);
void measureFlows(const Workshop& shop, Report& report);
void measureResources(const Workshop& shop, Report& report);
void measureNodes(const Workshop& shop, Report& report);
void measureSimulation(const Workshop& shop, Report& report);
void measureDecisions(Report& report);

// Those about a pool of a million jobs share the time it takes to fill it.
struct LargePoolRows {
  bool depth = false;
  bool memory = false;
  bool start = false;
};
void measureLargePool(const Workshop& shop, Report& report, const LargePoolRows& rows);

}  // namespace muster::bench
