#pragma once

#include <string>
#include <vector>

#include "models/event.h"
#include "models/result.h"
#include "models/store/sql/session.h"

// What Events::readRow() reads, in its order.
#define MUSTER_EVENT_COLUMNS \
  "seq, at, type, pool_id, job_id, worker_id, attempt, details, node_id, caller"

namespace muster {

struct EventFilter {
  std::vector<std::string> types;  // empty: all
  std::string pool;
  std::string job;
  std::string worker;

  bool matches(const Event& event) const;
};

struct EventPage {
  std::vector<Event> events;
  std::int64_t read_to = 0;  // nothing up to here is left to look at
  bool more = false;         // the log goes on behind read_to
};

// The log of all state changes, in the order they were committed.
class Events {
 public:
  explicit Events(Session& session) : s_(session) {}

  // Those after `after` that match, oldest first. Looks at a bounded number, so a page may be
  // empty and still say there is more. kEventsExpired when some after `after` are gone already.
  Result<EventPage> list(std::int64_t after, const EventFilter& filter, int limit);

  // The newest that match, oldest first. Looks at a bounded number of the newest.
  std::vector<Event> latest(const EventFilter& filter, int limit);

  // From seq, at, type, pool_id, job_id, worker_id, attempt, details.
  static Event readRow(const SqlRows& row);

  std::int64_t first();  // 0: there are none
  std::int64_t last();
  // Older than `before`, but never the newest: numbers are not given twice.
  std::int64_t removeOld(Time before, int limit);

 private:
  std::int64_t seqOfJob(const std::string& id);  // 0: there is none
  // Gives what `fetch(count)` finds to `take(event)` until that has enough (false), nothing is
  // left, or enough were looked at. Whether there may be more. A page has `limit`.
  template <class Fetch, class Take>
  bool look(int limit, Fetch fetch, Take take);

  Session& s_;
};

}  // namespace muster
