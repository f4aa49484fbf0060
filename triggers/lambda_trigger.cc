#include "triggers/lambda_trigger.h"

#include "models/json/json_writer.h"

namespace muster {
namespace {

constexpr int kTries = 3;

// False when it was cut short.
bool pause(Millis duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

bool LambdaTrigger::start(const TriggerSpec& spec, const PoolId& pool, const std::string& run_id) {
  JsonWriter out;
  out.beginObject().field("trigger", spec.name);
  if (!pool.empty()) out.field("pool_id", pool);
  out.field("run_id", run_id).endObject();
  const auto answer =
      errands_.post(spec.name + "/" + pool.str(),
                    [this, name = spec.name, json = out.take(),
                     target = FunctionCall::Target{spec.input.url, spec.input.allow_private}](
                        const std::stop_token& stop) { call(name, target, json, stop); });
  if (answer == Errands::Answer::kFull) failed_(spec.name, "too many calls wait");
  return answer == Errands::Answer::kAccepted;
}

void LambdaTrigger::call(const std::string& trigger, const FunctionCall::Target& target,
                         const std::string& json, const std::stop_token& stop) {
  Millis wait = first_pause_;
  for (int attempt = 1;; ++attempt) {
    const auto failure = function_.post(target, json, stop);
    if (!failure) return;
    if (!failure->retryable || attempt == kTries || !pause(wait, stop)) {
      failed_(trigger, failure->what);
      return;
    }
    wait *= 4;
  }
}

}  // namespace muster
