#pragma once

#include "app/cli/service_call.h"
#include "app/cli/top_view.h"

namespace muster {

// Asks the service for what `muster top` shows, of one pool or (empty) of all. The error is what
// stood in the way, in words, with the exit code that goes with it.
struct TopTrouble {
  std::string text;
  int exit_code = kExitFailed;
};

tl::expected<TopSnapshot, TopTrouble> takeTopSnapshot(ApiClient& api, const std::string& pool);

}  // namespace muster
