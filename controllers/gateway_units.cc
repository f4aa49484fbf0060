// The gateway's units of work: guarded, on behalf of the caller, kept under a key, audited.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controllers/gateway.h"
#include "controllers/kept_answer.h"
#include "models/audit.h"
#include "models/operations/audit.h"
#include "models/operations/flows.h"
#include "models/store/random.h"

namespace muster {
namespace {

constexpr std::size_t kMaxKeyPath = 500;

// What repeats nothing keeps no answer, and what is open to everybody must not fill the disk.
Result<RequestKey> keyOf(const Request& request) {
  RequestKey key;
  if (!request.route->scope || request.method() == "GET") return key;
  const std::string* sent = request.headerIfSent("idempotency-key");
  if (sent == nullptr) return key;
  key.key = *sent;
  if (key.key.empty() || key.key.size() > 255 || !isVisible(key.key)) {
    return tl::unexpected(Error{ErrorCode::kInvalidHeader,
                                "Idempotency-Key must be 1 to 255 visible ASCII characters",
                                {{"Idempotency-Key", "format", "is not valid"}}});
  }
  key.principal = request.principal.name;
  key.method = request.method();
  key.path = std::string(request.path) + "?" + request.raw->query();
  if (key.path.size() > kMaxKeyPath) key.path = sha256Hex(key.path);  // it is part of an index
  key.body_hash = sha256Hex(request.body());
  return key;
}

// A worker's token is for one registration. Where a job is reported on its lease proves that.
bool checksRegistration(const Request& request) {
  return request.principal.registration && (request.route->pool_rule == PoolRule::kWorker ||
                                            request.route->handler.checks_registration);
}

// Whether the token is for some pools, and those of the job, worker or flow must be looked up.
bool looksUpPool(const Request& request) {
  const Route& route = *request.route;
  const bool known_by_id = route.pool_rule == PoolRule::kJob ||
                           route.pool_rule == PoolRule::kWorker ||
                           route.pool_rule == PoolRule::kFlow;
  return known_by_id && route.scope && request.principal.worker.empty() &&
         !request.principal.mayEverywhere(*route.scope);
}

// A flow that is not there gets the same answer as one that the token may not touch.
Status checkPoolsOfFlow(const Request& request, Store& store) {
  const std::string& id = request.path_values.front().second;
  const auto pools = poolsOfFlow(FlowId(id), store);
  const bool may = pools && std::all_of(pools->begin(), pools->end(), [&](const auto& pool) {
                     return request.principal.mayIn(*request.route->scope, pool);
                   });
  if (may) return {};
  return fail(ErrorCode::kNotFound,
              fmt::format("there is no flow '{}' in the pools of this token", id));
}

// Kept with the change itself, so that there is none without the other; of a change in several
// steps with the first.
void recordIfAudited(const Request& request, const Outcome& outcome, Store& store) {
  if (!outcome || request.is_in_audit || !isAudited(request)) return;
  run(RecordChange{{.by = parseCaller(request.caller),
                    .method = std::string(request.method()),
                    .path = std::string(request.path),
                    .status = outcome->status,
                    .request_id = request.id}},
      store);
}

// While it lives, what is done in the store is done on behalf of the caller.
class OnBehalf {
 public:
  OnBehalf(Session& session, const std::string& caller) : session_(session) {
    session_.caller = caller;
  }
  ~OnBehalf() { session_.caller.clear(); }
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;

 private:
  Session& session_;
};

}  // namespace

bool isAudited(const Request& request) {
  const Route& route = *request.route;
  return route.scope && *route.scope != Scope::kRead && !route.handler.routine &&
         !request.caller.empty() && request.method() != "GET";
}

// What belongs to the request is looked at in its unit of work, before anything else is.
Work Gateway::guarded(const RequestPtr& request, Work work) {
  if (checksRegistration(*request)) {
    return [request, work = std::move(work)](Store& store) -> Outcome {
      const Principal& who = request->principal;
      auto ok = store.workers().checkRegistration(WorkerId(who.worker), *who.registration);
      return ok ? work(store) : Outcome(tl::unexpected(std::move(ok).error()));
    };
  }
  if (!looksUpPool(*request)) return work;
  if (request->route->pool_rule == PoolRule::kFlow) {
    return [request, work = std::move(work)](Store& store) -> Outcome {
      auto ok = checkPoolsOfFlow(*request, store);
      return ok ? work(store) : Outcome(tl::unexpected(std::move(ok).error()));
    };
  }
  return [request, work = std::move(work)](Store& store) -> Outcome {
    const std::string& id = request->path_values.front().second;
    const bool is_job = request->route->pool_rule == PoolRule::kJob;
    const auto pool =
        is_job ? store.jobs().poolOf(JobId(id)) : store.workers().poolOf(WorkerId(id));
    if (!pool || request->principal.mayIn(*request->route->scope, *pool)) return work(store);
    return fail(ErrorCode::kNotFound, fmt::format("there is no {} '{}' in the pools of this token",
                                                  is_job ? "job" : "worker", id));
  };
}

void Gateway::write(const RequestPtr& request, Work unguarded, Respond respond, Isolation isolation,
                    Wish wish) {
  auto key = keyOf(*request);
  if (!key) {
    respond(tl::unexpected(std::move(key).error()));
    return;
  }
  // It may have been done before, or must not be done.
  if (!key->key.empty() || looksUpPool(*request)) wish = {};
  Work work = guarded(request, std::move(unguarded));
  auto outcome = std::make_shared<Outcome>();
  parts_.storage.write(
      [request, outcome, work = std::move(work), key = *std::move(key)](Store& store) {
        const OnBehalf caller(store.session, request->caller);
        if (key.key.empty()) {
          *outcome = work(store);
          recordIfAudited(*request, *outcome, store);
          return;
        }
        auto before = store.idempotency().find(key);
        if (!before) {
          *outcome = tl::unexpected(std::move(before).error());
        } else if (*before) {
          *outcome = replayedAnswer(store, **before);
        } else {
          *outcome = work(store);
          recordIfAudited(*request, *outcome, store);
          if (*outcome && (*outcome)->final) {
            store.idempotency().remember(key, keptAnswer(**outcome));
          }
        }
      },
      [request, outcome, respond = std::move(respond)](const Status& status) {
        request->is_in_audit = status.has_value();
        respond(status ? std::move(*outcome) : Outcome(tl::unexpected(status.error())));
      },
      &currentLoop(), isolation, std::move(wish));
}

void Gateway::read(const RequestPtr& request, Work unguarded, Respond respond) {
  Work work = guarded(request, std::move(unguarded));
  auto outcome = std::make_shared<Outcome>();
  parts_.storage.read(
      [request, outcome, work = std::move(work)](Store& store) { *outcome = work(store); },
      [outcome, respond = std::move(respond)](const Status& status) {
        respond(status ? std::move(*outcome) : Outcome(tl::unexpected(status.error())));
      },
      &currentLoop());
}

}  // namespace muster
