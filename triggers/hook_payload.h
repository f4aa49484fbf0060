#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ids.h"
#include "models/job.h"
#include "models/result.h"
#include "models/trigger_spec.h"
#include "triggers/webhook_signature.h"

namespace muster {

// What a hook was sent.
struct HookMessage {
  HeaderLookup header;
  std::string_view body;
  PoolId pool;  // of the query, may be empty
  // The sender has signed the body and not the query: a pool that the body names counts first.
  bool is_signed = false;
};

// One thing that happened at the sender.
struct HookEvent {
  std::string delivery;  // the sender's id of it; empty: it gave none
  PoolId pool;           // empty: every pool with a template
  std::optional<NewJob> job;
};

struct HookReading {
  std::vector<HookEvent> events;  // those that count; empty: `ignored` says why
  std::string ignored;
  std::string confirm_url;  // set: a person has to open it before the sender sends more
};

// Understands what the senders in docs/triggers.md send, and takes anything else for a hint. A
// message that is not for us is ignored; kInvalidJson and kInvalid are for those from which the
// trigger's input cannot take the pool or the job.
Result<HookReading> readHook(const TriggerInput& input, const HookMessage& message);

}  // namespace muster
