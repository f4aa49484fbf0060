#pragma once

#include "app/cli/demo_stage.h"

namespace muster {

// The demo's steps, in their order. Each tells what it does, what was expected and what was seen,
// and returns early when the demo is over.
void showTenJobs(DemoStage& stage);
void showKilledWorker(DemoStage& stage);
void showSilentWorker(DemoStage& stage);
void showPoisonedJob(DemoStage& stage);
void showDecisions(DemoStage& stage);
void showDiamond(DemoStage& stage);

}  // namespace muster
