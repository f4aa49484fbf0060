#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/worker/command_output.h"

namespace muster {

// Why the work on a job must end before it is done.
enum class StopReason {
  kNone,
  kCancelled,  // somebody cancelled the job
  kShutdown,   // this worker was told to end, and the time to finish is over
  kLeaseLost,  // the job is not ours any more
  kGone,       // the service has written this worker off
};

// How the work on a job ended.
struct JobEnd {
  enum class Kind {
    kExited,      // by itself, with exit code `code`
    kSignalled,   // by signal `code`
    kNotStarted,  // the program could not be run: `code` is the errno
    kNotReady,    // something it needs could not be had: `errors` says what; it was not run
    kMissing,     // the same, and it will not be had later either
    kNotTaken     // it did well, but what it left cannot be handed over: `fault` says why
  };
  Kind kind = Kind::kExited;
  int code = 0;
  StopReason stopped = StopReason::kNone;  // set: we ended it
  CommandOutput output;
  CommandOutput errors;
  std::optional<std::int64_t> max_rss_bytes = {};
  std::string fault = {};
  bool result_is_artifact = false;  // the output became one
};

}  // namespace muster
