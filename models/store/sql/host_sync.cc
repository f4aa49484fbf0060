#include "models/store/sql/host_sync.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "models/store/sql/flow_rows.h"

namespace muster {
namespace {

constexpr int kEvictAtOnce = 1000;

constexpr Sql kPutHost{
    "INSERT INTO hosts (host, holder, folder_id, data_dir, state, seen_at, synced_at, "
    "sync_began_at, disk_bytes_in_use, disk_bytes_free, disk_limit_bytes, lost_to, forgotten) "
    "VALUES ($1, $2, $3, $4, 'up', $5, $5, $6, $7, $8, $9, 0, 0) "
    "ON CONFLICT (host) DO UPDATE SET folder_id = excluded.folder_id, "
    "data_dir = excluded.data_dir, state = 'up', away_at = NULL, seen_at = excluded.seen_at, "
    "synced_at = excluded.synced_at, sync_began_at = excluded.sync_began_at, "
    "disk_bytes_in_use = excluded.disk_bytes_in_use, disk_bytes_free = excluded.disk_bytes_free, "
    "disk_limit_bytes = excluded.disk_limit_bytes, forgotten = 0"};
constexpr Sql kNamedResources{"SELECT " MUSTER_RESOURCE_COLUMNS
                              " FROM /*texts $1*/ d CROSS JOIN resources r WHERE r.uid = d.c0"};
constexpr Sql kNameResources{
    "UPDATE resources SET synced_at = $2 "
    "WHERE resource_seq IN (SELECT c0 FROM /*numbers $1*/ d)"};
constexpr Sql kUnnamed{
    "SELECT r.resource_seq, r.synced_at FROM resources r WHERE r.holder = $1 "
    "AND r.resource_seq > $2 AND " MUSTER_IS_HELD
    "AND (r.synced_at IS NULL OR r.synced_at < $3) ORDER BY r.resource_seq LIMIT $4"};

}  // namespace

Result<SyncHost::Reply> HostSync::take(const SyncHost& op) {
  Hosts hosts(s_);
  const auto known = hosts.row(op.host);
  const bool has_folder = known && !known->forgotten && !known->host.folder_id.empty();
  const bool is_other = has_folder && known->host.folder_id != op.folder_id;
  if (is_other && known->host.state == HostState::kUp) {
    return fail(ErrorCode::kHostConflict,
                "host '" + op.host + "' has the folder " + known->host.folder_id + " at " +
                    known->host.data_dir +
                    ": give one of them another host name, or delete the host if its folder is "
                    "gone");
  }
  const bool goes_on = has_folder && !is_other && known->sync_began_at;
  // Later than all that earlier syncs have named, also in the same millisecond.
  const Time earlier = known ? known->signs.synced_at.value_or(Time()) : Time();
  const Time began = goes_on ? *known->sync_began_at : std::max(s_.now, earlier + Millis(1));
  const Time named_at = std::max(s_.now, began);
  const std::string holder = Holder{Holder::Kind::kHost, op.host}.text();
  s_.db.post(kPutHost, op.host, holder, op.folder_id, op.data_dir, named_at,
             op.complete ? std::nullopt : std::optional(began), op.disk_bytes_in_use,
             op.disk_bytes_free, op.disk_limit_bytes);
  SyncHost::Reply reply;
  compare(op, known ? known->lost_to : 0, named_at, reply);
  if (!op.complete) return reply;
  endMissing(holder, began);
  const std::int64_t own = s_.rules.resources.max_disk_bytes;
  held_.relieveHost(holder, op.disk_bytes_in_use, std::min(own, op.disk_limit_bytes.value_or(own)));
  addEvicting(holder, reply);
  return reply;
}

void HostSync::compare(const SyncHost& op, std::int64_t lost_to, Time named_at,
                       SyncHost::Reply& reply) {
  std::vector<std::string> uids;
  uids.reserve(op.resources.size());
  for (const SyncHost::File& file : op.resources) uids.push_back(file.uid);
  std::unordered_map<std::string, ResourceRow> known;
  for (ResourceRow& row : ResourceRows::readAll(s_.db.query(kNamedResources, textList(uids)))) {
    known.emplace(row.resource.uid, std::move(row));
  }
  std::vector<std::int64_t> kept;
  for (const SyncHost::File& file : op.resources) {
    const auto found = known.find(file.uid);
    ResourceRow* row =
        found == known.end() || found->second.seq <= lost_to ? nullptr : &found->second;
    switch (judgeNamed(row == nullptr ? nullptr : &row->resource, op.host)) {
      case SyncVerdict::kUnknown:
        reply.unknown.push_back(file.uid);
        break;
      case SyncVerdict::kEvict:
        reply.evict.push_back(file.uid);
        if (isLiving(row->resource.state)) kept.push_back(row->seq);  // until it is deleted
        break;
      case SyncVerdict::kKeep:
        kept.push_back(row->seq);
        if (!row->resource.size_bytes) rows_.setSize(*row, file.size_bytes);
        if (row->resource.state == ResourceState::kStale) held_.recoverOne(*row);
    }
  }
  if (!kept.empty()) s_.db.post(kNameResources, numberList(kept), named_at);
}

void HostSync::endMissing(const std::string& holder, Time began) {
  std::int64_t after = 0;
  for (std::size_t read = HeldResources::kStep; read == HeldResources::kStep;) {
    std::vector<std::pair<std::int64_t, std::optional<Time>>> unnamed;
    {
      auto rows = s_.db.query(kUnnamed, holder, after, began, HeldResources::kStep);
      while (rows.next()) unnamed.emplace_back(rows->integer(0), rows->maybeTime(1));
    }
    read = unnamed.size();
    for (const auto& [seq, synced_at] : unnamed) {
      after = seq;
      auto row = rows_.at(seq);
      if (!isMissing(row->resource, synced_at, began, s_.now)) continue;
      held_.endOne(*row, judgeWithoutHolder(row->resource), resource_reason::kNotHeld);
      // The next sync finds the rest.
      if (held_.changed() >= HeldResources::kStep) return;
    }
  }
}

void HostSync::addEvicting(const std::string& holder, SyncHost::Reply& reply) {
  const std::unordered_set<std::string> named(reply.evict.begin(), reply.evict.end());
  for (Resource& resource : held_.evicting(holder, kEvictAtOnce)) {
    if (!named.contains(resource.uid)) reply.evict.push_back(std::move(resource.uid));
  }
}

}  // namespace muster
