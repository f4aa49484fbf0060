#include "models/operations/affinities.h"

#include <algorithm>

#include "models/store/sql/affinities.h"
#include "models/store/sql/holders.h"
#include "models/store/sql/pins.h"
#include "models/store/store.h"
#include "models/worker.h"

namespace muster {
namespace {

tl::unexpected<Error> noAffinity(const std::string& key) {
  return fail(ErrorCode::kNotFound, "nobody has the key '" + key + "'");
}

// A worker with its own token speaks for itself and its host.
Status checkSpeaksFor(Store& store, const ResourceCaller& by, const Holder& holder) {
  if (by.is_admin) return {};
  if (!by.worker.empty() && Holders(store.session).is(holder, by.worker)) return {};
  return fail(ErrorCode::kForbidden,
              "only the worker itself, or an admin, may do this for " + holder.text());
}

Result<AffinityRow> holdBound(Store& store, const std::string& tenant, const std::string& key,
                              const ResourceCaller& by) {
  auto row = Affinities(store.session).hold(tenant, key);
  if (!row || !row->isBound()) return noAffinity(key);
  if (auto ok = checkSpeaksFor(store, by, row->affinity.holder); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  return *std::move(row);
}

// What must be so of a worker that is given a key.
Status checkCanHold(const Worker& worker) {
  if (worker_status::isEnded(worker.status)) {
    return fail(ErrorCode::kGone, "worker '" + worker.id.str() + "' is " + worker.status);
  }
  if (worker.mode == "loop") return {};
  const std::string why = "worker '" + worker.id.str() + "' is no loop worker, so it ends too soon";
  return tl::unexpected(
      Error{ErrorCode::kInvalid, why, {{"/worker_id", "holder_too_short_lived", why}}});
}

}  // namespace

Result<ListAffinities::Reply> run(const ListAffinities& op, Store& store) {
  Affinities affinities(store.session);
  auto page = affinities.list({op.tenant, op.holder, op.state}, op.after, op.limit);
  ListAffinities::Reply reply;
  for (AffinityRow& row : page.rows) {
    affinities.countJobs(row);
    reply.affinities.push_back(std::move(row.affinity));
  }
  if (page.more) reply.next = page.rows.back().seq;
  return reply;
}

Result<Affinity> run(const FindAffinity& op, Store& store) {
  Affinities affinities(store.session);
  auto row = affinities.find(op.tenant, op.key);
  if (!row || !row->isBound()) return noAffinity(op.key);
  affinities.countJobs(*row);
  return std::move(row->affinity);
}

Result<PutAffinity::Reply> run(const PutAffinity& op, Store& store) {
  std::string worker, host;
  if (op.holder.kind == Holder::Kind::kWorker) {
    const auto known = store.workers().find(WorkerId(op.holder.name));
    if (!known) {
      return fail(ErrorCode::kNotFound, "there is no worker '" + op.holder.name + "'");
    }
    if (auto ok = checkCanHold(*known); !ok) return tl::unexpected(std::move(ok).error());
    worker = known->id.str();
    host = known->host;
  } else {
    host = op.holder.name;
  }
  if (auto ok = checkSpeaksFor(store, op.by, op.holder); !ok) {
    return tl::unexpected(std::move(ok).error());
  }
  Affinities affinities(store.session);
  AffinityRow row = affinities.holdOrMake(op.tenant, op.key);
  const bool is_same = row.isBound() && row.affinity.holder == op.holder;
  if (!is_same && row.affinity.state == AffinityState::kActive && !op.force) {
    return fail(ErrorCode::kAffinityConflict, "the key '" + op.key + "' is bound to " +
                                                  row.affinity.holder.text() +
                                                  "; ?force=true gives it to another");
  }
  PutAffinity::Reply reply;
  reply.is_new = !is_same;
  if (op.ttl) row.affinity.ttl = *op.ttl;
  if (op.metadata) row.affinity.metadata = *op.metadata;
  affinities.saveDetails(row);
  if (!is_same || row.affinity.state != AffinityState::kActive) {
    affinities.bind(row, op.holder, worker, host);
  }
  affinities.countJobs(row);
  reply.affinity = std::move(row.affinity);
  return reply;
}

Result<Affinity> run(const TouchAffinity& op, Store& store) {
  auto row = holdBound(store, op.tenant, op.key, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  Affinities affinities(store.session);
  if (op.ttl) {
    row->affinity.ttl = *op.ttl;
    affinities.saveDetails(*row);
  } else {
    affinities.touch(*row);
  }
  affinities.countJobs(*row);
  return std::move(row->affinity);
}

Status run(const DeleteAffinity& op, Store& store) {
  auto row = holdBound(store, op.tenant, op.key, op.by);
  if (!row) return tl::unexpected(std::move(row).error());
  Affinities(store.session).release(*row, "deleted");
  return {};
}

Result<std::int64_t> run(const TendPins& op, Store& store) {
  const int lost = Holders(store.session).endLost(op.limit);
  const int unpinned = Pins(store.session).unpinDue(op.limit);
  const int expired = Affinities(store.session).expire(op.limit);
  return std::max({lost, unpinned, expired});
}

}  // namespace muster
