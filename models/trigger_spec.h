#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/event.h"
#include "models/ids.h"
#include "models/time.h"

namespace muster {

enum class TriggerType { kCron, kWebhook, kSubprocess, kInLoop, kLambda };
std::string_view name(TriggerType type);
std::optional<TriggerType> parseTriggerType(std::string_view text);

// What a trigger sets in motion.
namespace machine {
constexpr std::string_view kChecker = "parallelization_checker";
constexpr std::string_view kReaper = "stale_worker_reaper";
}  // namespace machine

// How the sender of a webhook proves who it is.
struct TriggerAuth {
  enum class Type { kNone, kStandard, kHmacSha256, kToken };
  Type type = Type::kNone;
  // Any of them will do. "env:NAME" is the value of that variable, "base64:…" bytes that are no
  // text. Never shown.
  std::vector<std::string> secrets;
  std::string header;  // that carries the signature or the token
  std::string prefix;  // stands before it
  bool base64 = false;

  bool operator==(const TriggerAuth&) const = default;
};
std::string_view name(TriggerAuth::Type type);
// Whether such a proof covers what the body says.
inline bool signsBody(TriggerAuth::Type type) {
  return type == TriggerAuth::Type::kStandard || type == TriggerAuth::Type::kHmacSha256;
}
std::optional<TriggerAuth::Type> parseAuthType(std::string_view text);

// The fields of `input` that mean something to us.
struct TriggerInput {
  PoolId pool;  // empty: see pool_from, else every pool with a template
  std::optional<std::int64_t> max_workers;
  std::optional<Millis> stale_threshold;
  std::optional<std::string> pool_from;  // JSON pointers into what a hook was sent
  std::optional<std::string> job_from;
  std::vector<std::string> events;  // a hook takes only these types; empty: all
  std::string url;                  // of a lambda
  bool allow_private = false;       // the url may be private; only the configuration can say so

  bool operator==(const TriggerInput&) const = default;
};

struct TriggerSpec {
  std::string name;
  TriggerType type = TriggerType::kInLoop;
  std::string schedule;  // cron expression, empty: none
  std::string timezone;  // IANA name of the schedule's zone, empty: UTC
  std::string on;        // work_added, worker_exited or a type of event; empty: none
  std::string machine;
  std::string input_json = "{}";  // as it was given
  TriggerInput input;             // the same, read
  TriggerAuth auth;
  bool enabled = true;

  bool operator==(const TriggerSpec&) const = default;
};

struct Trigger {
  TriggerSpec spec;
  bool configured = false;  // of the configuration: not to be changed over HTTP
  std::int64_t version = 1;
  Time created_at;
  Time updated_at;
  Time due_from;  // its schedule is reckoned from here
  std::optional<Time> last_fired_at;
};

// An event type as triggers spell it, the dot as an underscore: job_poisoned is job.poisoned.
std::string eventTypeOf(std::string_view on);

// The two that stand for several types of events.
constexpr std::string_view kOnWorkAdded = "work_added";
constexpr std::string_view kOnWorkerExited = "worker_exited";

// True when such an event sets off a trigger `on`. `on` must be valid (isKnownOn).
bool setsOff(const Event& event, std::string_view on);
// work_added, worker_exited and every type of event but those of triggers, which would never end.
bool isKnownOn(std::string_view on);

// What checks by itself when nothing is configured: the checker whenever there is work or a
// worker has left.
std::vector<TriggerSpec> defaultTriggers();

// /v1/hooks/work_added, there unless another trigger has its name.
TriggerSpec workAddedHook();

}  // namespace muster
