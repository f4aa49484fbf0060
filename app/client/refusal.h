#pragma once

#include <optional>
#include <string>

#include "app/http/http_client.h"
#include "models/time.h"

namespace muster {

// Why a call did not get what it asked for.
struct Refusal {
  int status = 0;  // 0: no answer
  std::string code = {};
  std::string detail = {};
  std::optional<Seconds> retry_after = {};

  // The same call may get another answer later.
  bool mayPass() const { return status == 0 || status == 429 || status >= 500; }
  // The service does not know this worker any more.
  bool isGone() const { return status == 410; }
};

// Of an answer that is none of success.
Refusal refusalOf(const HttpAnswer& answer);

}  // namespace muster
