#include "triggers/subprocess_trigger.h"

namespace muster {

bool SubprocessTrigger::start(const TriggerSpec& spec, const Machines::Run& run) {
  const auto answer =
      errands_.post(run.trigger + "/" + run.pool.str(),
                    [this, run, machine = spec.machine](const std::stop_token& stop) {
                      if (const auto failure = process_.run(machine, run, stop))
                        failed_(run.trigger, *failure);
                    });
  if (answer == Errands::Answer::kFull) failed_(run.trigger, "too many processes wait");
  return answer == Errands::Answer::kAccepted;
}

}  // namespace muster
