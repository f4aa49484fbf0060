#include "models/store/sql/cluster.h"

#include "models/json/json_writer.h"

namespace muster {
namespace {

#define MUSTER_SELECT_NODE                                                            \
  "SELECT node_id, role, url, version, host, heartbeat_at, registered_at, instance, " \
  "status FROM distributed_nodes "

constexpr Sql kNode{MUSTER_SELECT_NODE "WHERE node_id = $1"};
constexpr Sql kNodes{MUSTER_SELECT_NODE "ORDER BY node_id LIMIT $1"};
constexpr Sql kOtherHosts{
    "SELECT DISTINCT host FROM distributed_nodes "
    "WHERE status = 'healthy' AND role <> 'observer' AND node_id <> $1 ORDER BY host LIMIT 100"};
constexpr Sql kJoin{
    "INSERT INTO distributed_nodes (node_id, instance, role, url, version, host, status, "
    "heartbeat_at, registered_at) VALUES ($1, $2, $3, $4, $5, $6, 'healthy', $7, $7) "
    "ON CONFLICT (node_id) DO UPDATE SET instance = excluded.instance, role = excluded.role, "
    "url = excluded.url, version = excluded.version, host = excluded.host, "
    "status = excluded.status, heartbeat_at = excluded.heartbeat_at, "
    "registered_at = excluded.registered_at"};
constexpr Sql kNodeHeartbeat{
    "UPDATE distributed_nodes SET heartbeat_at = $3, status = 'healthy' "
    "WHERE node_id = $1 AND instance = $2 AND status <> 'dead'"};
constexpr Sql kLeave{"DELETE FROM distributed_nodes WHERE node_id = $1 AND instance = $2"};
constexpr Sql kSilent{
    "SELECT node_id, heartbeat_at, status FROM distributed_nodes "
    "WHERE status <> 'dead' AND heartbeat_at < $1 ORDER BY node_id"};
constexpr Sql kNote{
    "UPDATE distributed_nodes SET status = $3 "
    "WHERE node_id = $1 AND heartbeat_at = $2 AND status <> $3"};
constexpr Sql kRemoveDead{
    "DELETE FROM distributed_nodes WHERE node_id IN (SELECT node_id FROM distributed_nodes "
    "WHERE status = 'dead' AND heartbeat_at < $1 ORDER BY node_id LIMIT $2)"};

// PostgreSQL only. Its own limit on idle transactions does not count between the statements of a
// pipeline.
constexpr Sql kEndStandstills{
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
    "WHERE datname = current_database() AND usename = current_user "
    "AND application_name = current_setting('application_name') AND xact_start IS NOT NULL "
    "AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - "
    "CAST($1 AS DOUBLE PRECISION) * INTERVAL '1 millisecond'"};

constexpr Sql kLeader{
    "SELECT l.node_id, n.url, l.epoch, l.acquired_at, l.expires_at, l.token FROM leader l "
    "LEFT JOIN distributed_nodes n ON n.node_id = l.node_id WHERE l.only_row = 1"};
constexpr Sql kAcquire{
    "INSERT INTO leader (only_row, node_id, token, epoch, acquired_at, expires_at) "
    "VALUES (1, $1, $2, 1, $3, $4) ON CONFLICT (only_row) DO UPDATE SET "
    "node_id = excluded.node_id, token = excluded.token, epoch = leader.epoch + 1, "
    "acquired_at = excluded.acquired_at, expires_at = excluded.expires_at "
    "WHERE leader.expires_at <= $3 AND leader.epoch = $5 RETURNING epoch"};
constexpr Sql kRenewLead{
    "UPDATE leader SET expires_at = $4 "
    "WHERE only_row = 1 AND epoch = $1 AND token = $2 AND expires_at > $3"};
constexpr Sql kResign{
    "UPDATE leader SET expires_at = $3, token = '' "
    "WHERE only_row = 1 AND epoch = $1 AND token = $2 RETURNING node_id"};
constexpr Sql kHolds{
    "SELECT 1 FROM leader WHERE only_row = 1 AND epoch = $1 AND token = $2 AND expires_at > $3 "
    "/*for_update leader*/"};

Node readNode(const SqlRows& row) {
  Node node;
  node.id = row.string(0);
  node.role = parseNodeRole(row.text(1));
  node.url = row.string(2);
  node.version = row.string(3);
  node.host = row.string(4);
  node.heartbeat_at = row.time(5);
  node.registered_at = row.time(6);
  return node;
}

std::string epochDetails(std::int64_t epoch, std::string_view reason = {}) {
  JsonWriter out;
  out.beginObject().field("epoch", epoch);
  if (!reason.empty()) out.field("reason", reason);
  out.endObject();
  return out.take();
}

std::string reasonDetails(std::string_view reason) {
  JsonWriter out;
  out.beginObject().field("reason", reason).endObject();
  return out.take();
}

}  // namespace

void Cluster::emit(std::string_view type, const std::string& node, std::string details) {
  Event event;
  event.type = type;
  event.node = node;
  event.details = std::move(details);
  s_.emit(std::move(event));
}

void Cluster::join(const Node& node, const std::string& instance) {
  s_.db.execute(kJoin, node.id, instance, name(node.role), node.url, node.version, node.host,
                s_.now);
  JsonWriter details;
  details.beginObject().field("role", name(node.role)).field("url", node.url).endObject();
  emit(event_type::kNodeJoined, node.id, details.take());
}

bool Cluster::beat(const std::string& id, const std::string& instance) {
  return s_.db.execute(kNodeHeartbeat, id, instance, s_.now) > 0;
}

void Cluster::leave(const std::string& id, const std::string& instance) {
  if (s_.db.execute(kLeave, id, instance) == 0) return;
  emit(event_type::kNodeLost, id, reasonDetails("left"));
}

std::vector<std::string> Cluster::noteSilent(const NodeSilence& silence) {
  struct Silent {
    std::string id;
    Time heartbeat_at;
    std::string noted;
  };
  std::vector<Silent> silent;
  {
    auto rows = s_.db.query(kSilent, s_.now - silence.stale);
    while (rows.next()) silent.push_back({rows->string(0), rows->time(1), rows->string(2)});
  }
  std::vector<std::string> dead;
  for (const auto& [id, heartbeat_at, noted] : silent) {
    const auto status = statusOf(heartbeat_at, silence, s_.now);
    if (status == noted || s_.db.execute(kNote, id, heartbeat_at, status) == 0) continue;
    if (status != node_status::kDead) continue;
    emit(event_type::kNodeLost, id, reasonDetails(node_status::kDead));
    dead.push_back(id);
  }
  return dead;
}

std::int64_t Cluster::removeDead(Time before, int limit) {
  return s_.db.execute(kRemoveDead, before, limit);
}

std::int64_t Cluster::endStandstills(Millis silence) {
  if (!s_.db.hasPeers()) return 0;
  auto rows = s_.db.query(kEndStandstills, static_cast<double>(silence.count()));
  return rows.next() ? rows->integer(0) : 0;
}

std::vector<Node> Cluster::list(const NodeSilence& silence, int limit) {
  std::vector<Node> nodes;
  auto rows = s_.db.query(kNodes, limit);
  while (rows.next()) {
    nodes.push_back(readNode(*rows));
    nodes.back().status = statusOf(nodes.back().heartbeat_at, silence, s_.now);
  }
  return nodes;
}

std::optional<Cluster::Occupant> Cluster::occupant(const std::string& id,
                                                   const NodeSilence& silence) {
  auto rows = s_.db.query(kNode, id);
  if (!rows.next()) return std::nullopt;
  Occupant found{readNode(*rows), rows->string(7)};
  found.node.status = statusOf(found.node.heartbeat_at, silence, s_.now);
  return found;
}

std::vector<std::string> Cluster::otherHosts() {
  std::vector<std::string> hosts;
  if (s_.rules.node.empty()) return hosts;
  auto rows = s_.db.query(kOtherHosts, s_.rules.node);
  while (rows.next()) hosts.push_back(rows->string(0));
  return hosts;
}

std::optional<LeaderLease> Cluster::acquire(const std::string& id, Millis lease) {
  struct Before {
    std::string node;
    std::int64_t epoch = 0;
    bool ran_out = false;
  } before;
  {
    auto rows = s_.db.query(kLeader);
    if (rows.next()) {
      if (rows->time(4) > s_.now) return std::nullopt;  // held: nothing is written
      before = {rows->string(0), rows->integer(2), !rows->text(5).empty()};
    }
  }
  LeaderLease won{0, s_.random.token()};
  {
    auto rows = s_.db.query(kAcquire, id, won.token, s_.now, s_.now + lease, before.epoch);
    if (!rows.next()) return std::nullopt;  // another was faster
    won.epoch = rows->integer(0);
  }
  if (before.ran_out) {
    emit(event_type::kLeaderLost, before.node, epochDetails(before.epoch, "expired"));
  }
  emit(event_type::kLeaderElected, id, epochDetails(won.epoch));
  return won;
}

bool Cluster::renew(const LeaderLease& held, Millis lease) {
  return s_.db.execute(kRenewLead, held.epoch, held.token, s_.now, s_.now + lease) > 0;
}

bool Cluster::resign(const LeaderLease& held) {
  std::string node;
  {
    auto rows = s_.db.query(kResign, held.epoch, held.token, s_.now);
    if (!rows.next()) return false;
    node = rows->string(0);
  }
  emit(event_type::kLeaderLost, node, epochDetails(held.epoch, "resigned"));
  return true;
}

bool Cluster::holds(const LeaderLease& held) {
  if (held.epoch == 0) return true;
  auto rows = s_.db.query(kHolds, held.epoch, held.token, s_.now);
  return rows.next();
}

std::optional<Leader> Cluster::leader() {
  auto rows = s_.db.query(kLeader);
  if (!rows.next() || rows->time(4) <= s_.now) return std::nullopt;
  return Leader{rows->string(0), rows->isNull(1) ? "" : rows->string(1), rows->integer(2),
                rows->time(3), rows->time(4)};
}

}  // namespace muster
