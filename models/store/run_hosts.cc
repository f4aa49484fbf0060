#include "models/operations/hosts.h"

#include "models/store/sql/host_sync.h"
#include "models/store/store.h"

namespace muster {
namespace {

constexpr Sql kSumWorkerResources{
    "SELECT coalesce(w.pool_id, ''), CAST(sum(coalesce(w.disk_bytes_in_use, 0)) AS BIGINT), "
    "CAST(sum(coalesce(w.mem_bytes_in_use, 0)) AS BIGINT) FROM workers w "
    "WHERE w.ended_at IS NULL AND (w.disk_bytes_in_use IS NOT NULL "
    "OR w.mem_bytes_in_use IS NOT NULL) GROUP BY coalesce(w.pool_id, '')"};

tl::unexpected<Error> noHost(const std::string& name) {
  return fail(ErrorCode::kNotFound, "there is no host '" + name + "'");
}

}  // namespace

Result<ListHosts::Reply> run(const ListHosts& op, Store& store) {
  ListHosts::Reply reply;
  reply.hosts = Hosts(store.session).list(op.cursor, op.limit + 1);
  if (reply.hosts.size() > static_cast<std::size_t>(op.limit)) {
    reply.hosts.pop_back();
    reply.next_cursor = reply.hosts.back().name;
  }
  return reply;
}

Result<Host> run(const FindHost& op, Store& store) {
  auto host = Hosts(store.session).find(op.host);
  if (!host) return noHost(op.host);
  return *std::move(host);
}

Status run(const ForgetHost& op, Store& store) {
  if (!Hosts(store.session).forget(op.host)) return noHost(op.host);
  return {};
}

Result<SyncHost::Reply> run(const SyncHost& op, Store& store) {
  if (!op.by.worker.empty()) {
    const auto worker = store.workers().find(WorkerId(op.by.worker));
    if (!worker || worker->host != op.host) {
      return fail(ErrorCode::kForbidden,
                  "worker '" + op.by.worker + "' may tell of its own host only");
    }
  }
  return HostSync(store.session).take(op);
}

Result<TendHolders::Reply> run(const TendHolders&, Store& store) {
  HeldResources held(store.session);
  const bool done = held.tendWorkers() && Hosts(store.session).tend(held);
  return TendHolders::Reply{held.changed(), !done};
}

Result<std::int64_t> run(const RemoveOldHosts& op, Store& store) {
  return Hosts(store.session).removeOld(op.before, op.limit);
}

Result<std::vector<SumWorkerResources::Sum>> run(const SumWorkerResources&, Store& store) {
  std::vector<SumWorkerResources::Sum> sums;
  auto rows = store.session.db.query(kSumWorkerResources);
  while (rows.next()) sums.push_back({rows->string(0), rows->integer(1), rows->integer(2)});
  return sums;
}

}  // namespace muster
