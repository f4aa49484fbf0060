#pragma once

#include <trantor/net/TcpConnection.h>

namespace muster {

// Stands between a new connection and the framework, and hands on one request at a time. A request
// whose method the framework does not know is renamed (controllers/request_head.h), so that the
// gateway answers it. Once it is unclear where a request ends, everything is handed on unseen.
// Call on the connection's event loop, when it is established.
void readRequestsOneByOne(const trantor::TcpConnectionPtr& connection);

}  // namespace muster
