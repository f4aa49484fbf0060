#pragma once

#include <string>

#include "models/trigger_spec.h"
#include "triggers/errands.h"
#include "triggers/lambda_trigger.h"
#include "triggers/ports.h"

namespace muster {

// Runs machines in processes of their own, one at a time. Thread-safe.
class SubprocessTrigger {
 public:
  SubprocessTrigger(MachineProcess& process, ErrandFailed failed)
      : process_(process), failed_(std::move(failed)) {}

  // Starts the trigger's machine soon. False when a process for the same pool waits already, or too
  // many do.
  bool start(const TriggerSpec& spec, const Machines::Run& run);
  void stop() { errands_.stop(); }

 private:
  MachineProcess& process_;
  const ErrandFailed failed_;
  Errands errands_;
};

}  // namespace muster
