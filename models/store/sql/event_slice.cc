#include "models/store/sql/event_slice.h"

namespace muster {
namespace {

constexpr Sql kSlice{"SELECT " MUSTER_EVENT_COLUMNS
                     " FROM events "
                     "WHERE seq > $1 ORDER BY seq LIMIT $2"};

}  // namespace

EventSlice sliceAfter(Store& store, std::int64_t after, int limit) {
  EventSlice slice;
  slice.read_to = after;
  const std::int64_t first = store.events().first();
  if (after + 1 < first) {
    slice.expired = first - 1 - after;
    slice.read_to = first - 1;
  }
  auto rows = store.session.db.query(kSlice, slice.read_to, limit);
  while (rows.next()) slice.events.push_back(Events::readRow(*rows));
  slice.more = slice.events.size() == static_cast<std::size_t>(limit);
  if (!slice.events.empty()) slice.read_to = slice.events.back().seq;
  return slice;
}

}  // namespace muster
