#pragma once

#include <trantor/net/TcpConnection.h>

#include <chrono>
#include <memory>

#include "app/server/connections.h"
#include "controllers/buffer_budget.h"
#include "controllers/head_check.h"
#include "models/clock.h"

namespace muster {

// What holds for the requests of every connection.
struct IncomingRules {
  const HeadCheck& head_check;
  std::shared_ptr<BufferBudget> buffers;
  const Clock& clock;
  std::chrono::nanoseconds head_timeout;  // from the first byte of a head to its end
  std::chrono::nanoseconds body_timeout;  // for a body, and a second more for each 64 KiB
};

// Stands between a new connection and the framework, and hands on one request at a time, of which
// it has read and checked the head (controllers/request_head.h). The framework sees well-formed
// requests only, with a method that it knows and without chunks. If the head decides that a request
// is refused, the framework gets the request without its body; it is answered in its turn, and the
// connection ends with it: what still comes is read and dropped for a while, so that the client
// sees the answer and not a reset.
//
// A client that does not take its answers is not asked for more: its next requests wait, up to a
// mebibyte; beyond that the connection closes.
//
// `place` is the connection's among all; one that is refused a place is answered and closed.
// Call on the connection's event loop, when it is established.
void readRequestsOneByOne(const trantor::TcpConnectionPtr& connection,
                          const std::shared_ptr<const IncomingRules>& rules, ConnectionPlace place);

}  // namespace muster
