#pragma once

#include "app/waits/wait_list.h"
#include "controllers/gateway.h"
#include "controllers/router.h"

namespace muster {

// The event log, as pages and as a stream of server-sent events.
class EventController {
 public:
  // `event_waits` is woken under "" after each commit with events.
  EventController(Gateway& gateway, Storage& storage, WaitList& event_waits)
      : gateway_(gateway), storage_(storage), waits_(event_waits) {}
  void addRoutes(Router& router);

 private:
  Result<Work> list(const Request& request);
  Result<Work> stream(const Request& request);

  struct Stream;
  void pump(const std::shared_ptr<Stream>& stream);
  void awaitClient(const std::shared_ptr<Stream>& stream);
  void send(const std::shared_ptr<Stream>& stream, const Result<EventPage>& page,
            std::uint64_t generation);

  Gateway& gateway_;
  Storage& storage_;
  WaitList& waits_;
};

}  // namespace muster
