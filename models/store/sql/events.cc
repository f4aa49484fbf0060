#include "models/store/sql/events.h"

#include <algorithm>
#include <limits>

namespace muster {
namespace {

#define MUSTER_SELECT_EVENT "SELECT " MUSTER_EVENT_COLUMNS " FROM events "

constexpr Sql kAfter{MUSTER_SELECT_EVENT "WHERE seq > $1 ORDER BY seq LIMIT $2"};
constexpr Sql kOfJob{MUSTER_SELECT_EVENT "WHERE job_seq = $3 AND seq > $1 ORDER BY seq LIMIT $2"};
constexpr Sql kEventsBefore{MUSTER_SELECT_EVENT "WHERE seq < $1 ORDER BY seq DESC LIMIT $2"};
constexpr Sql kOfJobBefore{MUSTER_SELECT_EVENT
                           "WHERE job_seq = $3 AND seq < $1 ORDER BY seq DESC LIMIT $2"};
constexpr Sql kSeqOfJob{"SELECT seq FROM jobs WHERE id = $1"};
constexpr Sql kFirst{"SELECT min(seq) FROM events"};
constexpr Sql kLast{"SELECT max(seq) FROM events"};
constexpr Sql kRemoveOldEvents{
    "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq < "
    "(SELECT max(seq) FROM events) ORDER BY seq LIMIT $2) AND at < $1"};

constexpr int kLookAtMost = 20'000;
constexpr std::size_t kMostDetails = 1U << 20;  // bytes, of a page

}  // namespace

Event Events::readRow(const SqlRows& row) {
  Event event;
  event.seq = row.integer(0);
  event.at = row.time(1);
  event.type = row.string(2);
  event.pool = row.string(3);
  event.job = row.string(4);
  event.worker = row.string(5);
  if (!row.isNull(6)) event.attempt = static_cast<int>(row.integer(6));
  event.details = row.string(7);
  event.node = row.string(8);
  event.caller = row.string(9);
  return event;
}

bool EventFilter::matches(const Event& event) const {
  return (types.empty() || std::find(types.begin(), types.end(), event.type) != types.end()) &&
         (pool.empty() || pool == event.pool) && (job.empty() || job == event.job) &&
         (worker.empty() || worker == event.worker);
}

std::int64_t Events::seqOfJob(const std::string& id) {
  auto rows = s_.db.query(kSeqOfJob, id);
  return rows.next() ? rows->integer(0) : 0;
}

template <class Fetch, class Take>
bool Events::look(int limit, Fetch fetch, Take take) {
  int left = kLookAtMost;
  // A database elsewhere sends all it is asked for, so it is asked for little first.
  for (int count = s_.db.hasPeers() ? limit + 1 : left; left > 0;
       count = std::min(count * 4, left)) {
    int found = 0;
    auto rows = fetch(count);
    for (; rows.next(); ++found) {
      if (!take(readRow(*rows))) return true;
    }
    if (found < count) return false;
    left -= found;
  }
  return true;
}

Result<EventPage> Events::list(std::int64_t after, const EventFilter& filter, int limit) {
  s_.flushEvents();
  if (after > 0) {
    auto first = s_.db.query(kFirst);
    if (first.next() && !first->isNull(0) && after + 1 < first->integer(0)) {
      return fail(ErrorCode::kEventsExpired, "the oldest event kept is " +
                                                 std::to_string(first->integer(0)) +
                                                 "; begin there or leave out the position");
    }
  }
  EventPage page;
  page.read_to = after;
  std::size_t bytes = 0;
  // The events of a job that was removed are found by looking at all.
  const std::int64_t job = filter.job.empty() ? 0 : seqOfJob(filter.job);
  const auto fetch = [&](int count) {
    return job == 0 ? s_.db.query(kAfter, page.read_to, count)
                    : s_.db.query(kOfJob, page.read_to, count, job);
  };
  page.more = look(limit, fetch, [&](Event event) {
    const std::int64_t seq = event.seq;
    if (filter.matches(event)) {
      if (page.events.size() == static_cast<std::size_t>(limit) || bytes > kMostDetails)
        return false;
      bytes += event.details.size();
      page.events.push_back(std::move(event));
    }
    page.read_to = seq;
    return true;
  });
  return page;
}

std::vector<Event> Events::latest(const EventFilter& filter, int limit) {
  s_.flushEvents();
  std::vector<Event> events;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  const std::int64_t job = filter.job.empty() ? 0 : seqOfJob(filter.job);
  const auto fetch = [&](int count) {
    return job == 0 ? s_.db.query(kEventsBefore, before, count)
                    : s_.db.query(kOfJobBefore, before, count, job);
  };
  look(limit, fetch, [&](Event event) {
    before = event.seq;
    if (filter.matches(event)) events.push_back(std::move(event));
    return events.size() < static_cast<std::size_t>(limit);
  });
  std::reverse(events.begin(), events.end());
  return events;
}

std::int64_t Events::first() {
  s_.flushEvents();
  auto rows = s_.db.query(kFirst);
  return rows.next() ? rows->integer(0) : 0;
}

std::int64_t Events::last() {
  s_.flushEvents();
  auto rows = s_.db.query(kLast);
  return rows.next() ? rows->integer(0) : 0;
}

std::int64_t Events::removeOld(Time before, int limit) {
  s_.flushEvents();
  return s_.db.execute(kRemoveOldEvents, before, limit);
}

}  // namespace muster
