#include "models/store/sql/hosts.h"

#include <algorithm>

#include "models/json/json_writer.h"
#include "models/store/sql/holders.h"

namespace muster {
namespace {

#define MUSTER_LIVE_WORKER "w.ended_at IS NULL AND w.status <> 'starting'"
#define MUSTER_HOST_COLUMNS                                                                  \
  "h.host, h.holder, h.folder_id, h.data_dir, h.state, h.seen_at, h.away_at, h.synced_at, "  \
  "h.sync_began_at, h.disk_bytes_in_use, h.disk_bytes_free, h.disk_limit_bytes, h.lost_to, " \
  "h.forgotten, (SELECT max(w.last_heartbeat) FROM workers w WHERE w.host = h.host "         \
  "AND " MUSTER_LIVE_WORKER                                                                  \
  "), (SELECT max(n.heartbeat_at) FROM distributed_nodes n "                                 \
  "WHERE n.host = h.host AND n.status = 'healthy') "
constexpr Sql kHostByName{"SELECT " MUSTER_HOST_COLUMNS "FROM hosts h WHERE h.host = $1"};
constexpr Sql kHostsByName{"SELECT " MUSTER_HOST_COLUMNS
                           "FROM hosts h WHERE h.host > $1 AND h.forgotten = 0 "
                           "ORDER BY h.host LIMIT $2"};
constexpr Sql kSignsOfHost{
    "SELECT (SELECT max(w.last_heartbeat) FROM workers w WHERE w.host = $1 "
    "AND " MUSTER_LIVE_WORKER
    "), (SELECT max(n.heartbeat_at) FROM distributed_nodes n "
    "WHERE n.host = $1 AND n.status = 'healthy')"};
#define MUSTER_HOLDS_IN_STATE(state)                                                            \
  "CASE WHEN EXISTS (SELECT 1 FROM resources r WHERE r.holder = h.holder AND r.state = '" state \
  "' AND " MUSTER_IS_HELD ") THEN 1 ELSE 0 END"
constexpr Sql kHoldingHosts{
    "SELECT " MUSTER_HOST_COLUMNS ", " MUSTER_HOLDS_IN_STATE("active") ", "
    MUSTER_HOLDS_IN_STATE("stale") " FROM hosts h WHERE h.forgotten = 1 OR h.state = 'away' "
    "OR EXISTS (SELECT 1 FROM resources r WHERE r.holder = h.holder AND " MUSTER_IS_HELD
    ") OR EXISTS (SELECT 1 FROM affinities a WHERE a.holder = h.holder AND a.holder <> '')"};
constexpr Sql kCountHeld{
    "SELECT count(*) FROM resources r WHERE r.holder = $1 "
    "AND " MUSTER_IS_HELD};
constexpr Sql kLastHeld{
    "SELECT r.resource_seq FROM resources r WHERE r.holder = $1 "
    "AND " MUSTER_IS_HELD "ORDER BY r.resource_seq DESC LIMIT 1"};
constexpr Sql kDataDirOfHost{"SELECT data_dir FROM hosts WHERE host = $1 AND forgotten = 0"};
constexpr Sql kNoteHostUp{
    "UPDATE hosts SET state = 'up', away_at = NULL, seen_at = $2 WHERE host = $1"};
constexpr Sql kNoteHostAway{
    "UPDATE hosts SET state = 'away', away_at = $2, seen_at = $3 WHERE host = $1"};
constexpr Sql kNoteHostLost{"UPDATE hosts SET state = 'lost', lost_to = $2 WHERE host = $1"};
constexpr Sql kForgetHost{
    "UPDATE hosts SET state = 'lost', lost_to = $2, forgotten = 1, folder_id = '', data_dir = '', "
    "synced_at = NULL, sync_began_at = NULL WHERE host = $1"};
constexpr Sql kHostLostAll{"UPDATE hosts SET lost_to = 0 WHERE host = $1"};
constexpr Sql kDeleteHost{"DELETE FROM hosts WHERE host = $1"};
constexpr Sql kRemoveOldHosts{
    "DELETE FROM hosts WHERE host IN (SELECT h.host FROM hosts h WHERE h.seen_at < $1 "
    "AND h.forgotten = 0 AND NOT EXISTS (SELECT 1 FROM resources r WHERE r.holder = h.holder "
    "AND " MUSTER_IS_HELD
    ") AND NOT EXISTS (SELECT 1 FROM affinities a WHERE a.holder = h.holder AND a.holder <> '') "
    "AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.host = h.host "
    "AND " MUSTER_LIVE_WORKER ") LIMIT $2)"};

HostState parseHostState(std::string_view text) {
  for (const HostState state : {HostState::kAway, HostState::kLost}) {
    if (text == name(state)) return state;
  }
  return HostState::kUp;
}

}  // namespace

Hosts::Row Hosts::read(const SqlRows& row) const {
  Row out;
  Host& host = out.host;
  host.name = row.string(0);
  out.holder = row.string(1);
  host.folder_id = row.string(2);
  host.data_dir = row.string(3);
  out.noted = parseHostState(row.text(4));
  host.last_seen = row.time(5);
  out.signs.away_since = row.maybeTime(6);
  out.signs.synced_at = row.maybeTime(7);
  out.sync_began_at = row.maybeTime(8);
  host.disk_bytes_in_use = row.maybeInteger(9);
  host.disk_bytes_free = row.maybeInteger(10);
  host.disk_limit_bytes = row.maybeInteger(11);
  out.lost_to = row.integer(12);
  out.forgotten = row.integer(13) != 0;
  out.signs.has_worker = !row.isNull(14);
  // This node is there, also while it is in no list: as the only one, or at its start.
  const bool is_ours = host.name == s_.rules.host;
  out.signs.has_node = is_ours || !row.isNull(15);
  for (const auto& seen : {row.maybeTime(14), row.maybeTime(15), out.signs.synced_at}) {
    if (seen) host.last_seen = std::max(host.last_seen, *seen);
  }
  if (is_ours) host.last_seen = s_.now;
  host.state = judgeHost(out.signs, s_.rules.resources.hosts, s_.now);
  return out;
}

std::optional<Hosts::Row> Hosts::row(std::string_view name) {
  auto rows = s_.db.query(kHostByName, name);
  return rows.next() ? std::optional(read(*rows)) : std::nullopt;
}

std::optional<Host> Hosts::find(std::string_view name) {
  auto found = row(name);
  if (!found || found->forgotten) return std::nullopt;
  auto rows = s_.db.query(kCountHeld, found->holder);
  rows.next();
  found->host.resources = rows->integer(0);
  return std::move(found->host);
}

std::vector<Host> Hosts::list(std::string_view cursor, int limit) {
  std::vector<Row> found;
  {
    auto rows = s_.db.query(kHostsByName, cursor, limit);
    while (rows.next()) found.push_back(read(*rows));
  }
  std::vector<Host> hosts;
  for (Row& each : found) {
    auto rows = s_.db.query(kCountHeld, each.holder);
    rows.next();
    each.host.resources = rows->integer(0);
    hosts.push_back(std::move(each.host));
  }
  return hosts;
}

HostState Hosts::stateOf(std::string_view name) {
  if (const auto known = row(name); known && !known->forgotten) return known->host.state;
  if (name == s_.rules.host) return HostState::kUp;
  auto rows = s_.db.query(kSignsOfHost, name);
  const bool is_there = rows.next() && (!rows->isNull(0) || !rows->isNull(1));
  return is_there ? HostState::kUp : HostState::kLost;
}

bool Hosts::isOverDiskLimit(std::string_view name) {
  const auto known = row(name);
  if (!known || known->forgotten) return false;
  const std::int64_t own = s_.rules.resources.max_disk_bytes;
  const ResourceLimits limits{std::min(own, known->host.disk_limit_bytes.value_or(own))};
  return isOverLimit({known->host.disk_bytes_in_use, {}}, limits);
}

std::string Hosts::dataDir(std::string_view name) {
  auto rows = s_.db.query(kDataDirOfHost, name);
  return rows.next() ? rows->string(0) : "";
}

std::int64_t Hosts::lastHeldBy(const std::string& holder) {
  auto rows = s_.db.query(kLastHeld, holder);
  return rows.next() ? rows->integer(0) : 0;
}

void Hosts::emit(std::string_view type, const Row& row) {
  Event event;
  event.type = type;
  event.details = JsonWriter()
                      .beginObject()
                      .field("host", row.host.name)
                      .field("holder", row.holder)
                      .endObject()
                      .take();
  s_.emit(std::move(event));
}

bool Hosts::forget(std::string_view name) {
  auto known = row(name);
  if (!known || known->forgotten) return false;
  known->lost_to = lastHeldBy(known->holder);
  known->forgotten = true;
  s_.db.post(kForgetHost, name, known->lost_to);
  emit(event_type::kHostLost, *known);
  Holders(s_).lost({Holder::Kind::kHost, known->host.name}, s_.now);
  HeldResources held(s_);
  tendOne(*known, false, false, held);
  return true;
}

bool Hosts::tend(HeldResources& held) {
  struct Holding {
    Row row;
    bool has_active, has_stale;
  };
  std::vector<Holding> holding;
  {
    auto rows = s_.db.query(kHoldingHosts);
    while (rows.next()) {
      holding.push_back({read(*rows), rows->integer(16) != 0, rows->integer(17) != 0});
    }
  }
  for (const auto& [row, has_active, has_stale] : holding) {
    if (held.changed() >= HeldResources::kStep) return false;
    tendOne(row, has_active, has_stale, held);
  }
  return held.changed() < HeldResources::kStep;
}

void Hosts::tendOne(const Row& row, bool has_active, bool has_stale, HeldResources& held) {
  const std::string& name = row.host.name;
  if (row.lost_to > 0 || row.forgotten) {
    if (!held.lose(row.holder, resource_reason::kHostLost, row.lost_to)) return;
    s_.db.post(row.forgotten ? kDeleteHost : kHostLostAll, name);
    return;
  }
  switch (row.host.state) {
    case HostState::kUp:
      if (row.noted != HostState::kUp) {
        s_.db.post(kNoteHostUp, name, s_.now);
        Holders(s_).back({Holder::Kind::kHost, name});
      }
      if (has_stale) held.recover(row.holder);
      return;
    case HostState::kAway:
      if (row.noted == HostState::kUp) {
        s_.db.post(kNoteHostAway, name, s_.now, row.host.last_seen);
        emit(event_type::kHostAway, row);
        Holders(s_).lost({Holder::Kind::kHost, name}, s_.now + s_.rules.resources.hosts.grace);
      }
      if (has_active) held.makeStale(row.holder);
      return;
    case HostState::kLost:
      const std::int64_t to = lastHeldBy(row.holder);
      s_.db.post(kNoteHostLost, name, to);
      if (row.noted != HostState::kLost) emit(event_type::kHostLost, row);
      if (held.lose(row.holder, resource_reason::kHostLost, to)) s_.db.post(kHostLostAll, name);
  }
}

std::int64_t Hosts::removeOld(Time before, int limit) {
  return s_.db.execute(kRemoveOldHosts, before, limit);
}

}  // namespace muster
