#pragma once

#include <functional>
#include <string>

#include "models/ids.h"
#include "models/time.h"
#include "models/trigger_spec.h"
#include "triggers/errands.h"
#include "triggers/ports.h"

namespace muster {

// Tells of an errand that came to nothing: which trigger, and why.
using ErrandFailed = std::function<void(const std::string& trigger, const std::string& what)>;

// Calls functions over HTTP on a thread of its own; three tries each. Thread-safe.
class LambdaTrigger {
 public:
  // `first_pause` stands before the second try, four times as much before the third.
  LambdaTrigger(FunctionCall& function, ErrandFailed failed, Millis first_pause = Millis(500))
      : function_(function), failed_(std::move(failed)), first_pause_(first_pause) {}

  // Posts {trigger, pool_id, run_id} to the trigger's url, soon. False when a call for the same
  // pool waits already, or too many do.
  bool start(const TriggerSpec& spec, const PoolId& pool, const std::string& run_id);
  void stop() { errands_.stop(); }

 private:
  void call(const std::string& trigger, const FunctionCall::Target& target, const std::string& json,
            const std::stop_token& stop);

  FunctionCall& function_;
  const ErrandFailed failed_;
  const Millis first_pause_;
  Errands errands_;
};

}  // namespace muster
